import { createReceiver } from "hookline";
import { nodeReceiver } from "hookline/node";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { CONNECTIONS, type EngineName } from "../../support/queues/connect.ts";

// A receiver in front of a queue. Prints `ready <port>`.
const [engine = "", url = "", secret = ""] = process.argv.slice(2);
const { inbox } = await CONNECTIONS[engine as EngineName].openFront(url);
const receiver = createReceiver({ secret, inbox, storeTimeoutMs: 3_000, log: false });
const server = createServer(nodeReceiver(receiver, { path: "/hooks" })).listen(0, "127.0.0.1", () => {
  console.log(`ready ${(server.address() as AddressInfo).port}`);
});
process.on("uncaughtException", (error) => process.stderr.write(`${error.stack}\n`));
