// An app that is nothing but a mount, in a process of its own: tells its URL, and closes the receiver when it is asked to.
import { nodeReceiver } from "hookline/node";
import { once } from "node:events";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import type { ProbedApp } from "./http/http-subject.ts";
import { createProbedReceiver } from "./http/probed-receiver.ts";

const app = JSON.parse(process.env["PROBED_APP"] ?? "") as Omit<ProbedApp, "receiver">;
const receiver = createProbedReceiver(app);
const server = createServer(nodeReceiver(receiver, app.options)).listen(0, "127.0.0.1");
await once(server, "listening");
console.log(`http://127.0.0.1:${(server.address() as AddressInfo).port}/`);
process.once("SIGUSR2", () => void receiver.close().then(() => console.log("closed")));
