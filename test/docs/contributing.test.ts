import { once } from "node:events";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { buffer } from "node:stream/consumers";
import { pathToFileURL } from "node:url";
import { afterAll, describe, expect, test } from "vitest";
import { startNode } from "../cli/child.ts";
import { checkHttpAdapter } from "../suites/http/check-http-adapter.ts";
import type { HttpSubject, ServedApp } from "../suites/http/http-subject.ts";
import { root } from "./pages.ts";

type MyReceiver = (
  receiver: Parameters<HttpSubject["serve"]>[0]["receiver"],
  options: object,
) => (request: Request) => Promise<Response>;

const chapter = readFileSync(join(root, "CONTRIBUTING.md"), "utf8");
/** Inside the repository, or `hookline` could not be found by its name. */
const folder = mkdtempSync(join(root, "test/.readme-contributing-"));
const code = /^```ts file=my-receiver.ts\n(.*?)^```$/ms.exec(chapter)?.[1] ?? "";
const file = join(folder, "my-receiver.ts");
writeFileSync(file, code);
afterAll(() => rmSync(folder, { recursive: true, force: true }));

test("the mount of CONTRIBUTING is 30 lines and a few, and no code is there that is not run", () => {
  expect([...chapter.matchAll(/^```\w/gm)]).toHaveLength(1);
  const lines = code.split("\n").filter((line) => line.trim() !== "" && !line.startsWith("import "));
  expect(lines.length).toBeLessThanOrEqual(32);
});

describe("the mount of CONTRIBUTING passes the suite:", async () => {
  const { myReceiver } = (await import(pathToFileURL(file).href)) as { myReceiver: MyReceiver };
  const subject: HttpSubject = {
    serve: (app) => listen(myReceiver(app.receiver, app.options)),
    lacks: { streams: "this server hands the body over whole" },
  };
  for (const { name, run } of checkHttpAdapter(subject)) test(name, run);
});

test("the code of CONTRIBUTING type-checks", { timeout: 120_000 }, async () => {
  const config = {
    extends: "../../tsconfig.json",
    compilerOptions: { rootDir: "../.." },
    include: [],
    files: ["my-receiver.ts"],
  };
  writeFileSync(join(folder, "tsconfig.json"), JSON.stringify(config));
  const compiler = startNode(["node_modules/typescript/bin/tsc", "-p", folder]);
  expect(await compiler.ended, compiler.out() + compiler.err()).toBe(0);
});

/** A small server that speaks `Request` and `Response`, as platforms do. */
async function listen(handle: (request: Request) => Promise<Response>): Promise<ServedApp> {
  const server = createServer((req, res) => void serve(req, res));
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = () => {
    server.close();
    server.closeAllConnections();
  };
  return { url: `http://127.0.0.1:${port}/`, close };

  async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
    try {
      const body = await buffer(req);
      const headers = new Headers();
      for (let at = 0; at < req.rawHeaders.length; at += 2)
        headers.append(req.rawHeaders[at] ?? "", req.rawHeaders[at + 1] ?? "");
      const init = { method: req.method ?? "", headers, ...(body.length > 0 ? { body: new Uint8Array(body) } : {}) };
      const response = await handle(new Request(`http://localhost${req.url}`, init));
      res.writeHead(response.status, Object.fromEntries(response.headers)).end(await response.text());
    } catch {
      res.destroy();
    }
  }
}
