import { readFileSync } from "node:fs";
import { request, type IncomingMessage, type ServerResponse } from "node:http";
import { createServer, type Server } from "node:https";
import type { AddressInfo } from "node:net";
import { join } from "node:path";

// A tunnel for tests: HTTPS on 127.0.0.1 to the port of its argument. A request of /-/move gives it another URL, /-/crash ends it.
const [port] = process.argv.slice(2);
const [key, cert] = ["key.pem", "cert.pem"].map((name) => readFileSync(join(import.meta.dirname, name)));
let current: Server | undefined;

function open(): void {
  const before = current;
  const server = createServer({ key, cert }, (req, res) => {
    if (req.url === "/-/crash") process.exit(3);
    if (req.url !== "/-/move") return forward(req, res);
    open();
    res.end();
  });
  current = server;
  server.listen(0, "127.0.0.1", () => {
    console.log(`INF Visit it at: https://127.0.0.1:${(server.address() as AddressInfo).port}`);
    before?.close();
  });
}

function forward(req: IncomingMessage, res: ServerResponse): void {
  const { method, url, headers } = req;
  const onward = request({ host: "127.0.0.1", port, method, path: url, headers }, (answer) => {
    res.writeHead(answer.statusCode ?? 502, answer.headers);
    answer.pipe(res);
  });
  onward.on("error", () => res.writeHead(502).end());
  req.pipe(onward);
}

console.log("INF Terms: https://example.com/website-terms/ and https://127.0.0.1:1 (which leads nowhere)");
open();
// A killed test leaves none behind.
setTimeout(() => process.exit(), 120_000).unref();
process.stdout.on("error", () => process.exit());
setInterval(() => process.stdout.write("\n"), 500);
