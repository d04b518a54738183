import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { openSync, writeSync } from "node:fs";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CONNECTIONS, type EngineName } from "../../support/queues/connect.ts";

// A worker behind a queue. Its handler writes what it got into a journal. Prints `ready <port>`: there an invocation of AWS Lambda comes in.
const [engine = "", url = "", secret = "", file = "", journal = ""] = process.argv.slice(2);
const fd = openSync(journal, "a");
const receiver = createReceiver({ secret, inbox: sqliteInbox(file), log: false, concurrency: 100 });
receiver.on("email", ({ id, attributes }) => void writeSync(fd, `${id} ${attributes?.threadId}\n`), {
  merge: false,
});
await receiver.start();
const { invoke } = await CONNECTIONS[engine as EngineName].consume(url, receiver);
const server = createServer((request, response) => {
  void (async () => {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const answer = await invoke?.(JSON.parse(Buffer.concat(chunks).toString()));
    response.end(JSON.stringify(answer ?? {}));
  })().catch(() => response.destroy());
}).listen(0, "127.0.0.1", () => {
  console.log(`ready ${(server.address() as AddressInfo).port}`);
});
process.on("uncaughtException", (error) => process.stderr.write(`${error.stack}\n`));
