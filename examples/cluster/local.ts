// The cluster without Docker, on the server of DATABASE_URL: see README.md beside this file.
import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { createServer, request, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as wait } from "node:timers/promises";
import { signedDelivery } from "hookline/testing";

const ACCOUNTS = 8;
const MESSAGES = Number(process.env["MESSAGES"] ?? 100);
const DEADLINE_MS = 60_000;
const secret = "from the application's dashboard";

interface Handled {
  readonly account: number;
  readonly message: string;
}

const children = new Set<ChildProcess>();
process.on("exit", () => children.forEach((child) => child.kill("SIGKILL")));
for (const signal of ["SIGINT", "SIGTERM"] as const) process.once(signal, () => process.exit(130));

const handled = new Map<number, number[]>();
let runs = 0;

const ports = await Promise.all([startReceiver(), startReceiver()]);
const [first] = await Promise.all([startWorker(), startWorker()]);
const proxy = await startProxy(ports);
const url = `http://127.0.0.1:${(proxy.address() as AddressInfo).port}/webhooks`;
console.log(`Two receivers and two workers: processes ${[...children].map(({ pid }) => pid).join(", ")}.`);
console.log(`A proxy on ${url} passes requests to the receivers in turn.`);

console.log(`Sending ${ACCOUNTS * MESSAGES} deliveries of ${ACCOUNTS} accounts, each account's one after the other.`);
const sending = Promise.all(Array.from({ length: ACCOUNTS }, (_, index) => sendAll(index + 1)));
await until(() => runs >= Math.min(100, (ACCOUNTS * MESSAGES) / 4));
first.kill("SIGKILL");
console.log(`kill -9 of worker ${first.pid}, after ${runs} calls of the handler.`);
const answered = (await sending).reduce((sum, count) => sum + count, 0);
await until(() => distinct() === answered);

const inOrder = [...handled.values()].every((numbers) =>
  numbers.every((number, at) => follows(numbers[at - 1], number)),
);
console.log(`answered 200    ${answered}`);
console.log(`handled         ${distinct()}`);
console.log(`handled again   ${runs - distinct()} that the killed worker had begun`);
console.log(`lanes in order  ${inOrder ? "all" : "NOT ALL"}`);
const good = inOrder && distinct() === answered && answered === ACCOUNTS * MESSAGES;
console.log(good ? "Nothing was lost." : "Not as expected.");

proxy.close();
proxy.closeAllConnections();
children.forEach((child) => child.kill("SIGTERM"));
await Promise.race([Promise.all([...children].map((child) => once(child, "exit"))), wait(5_000)]);
process.exit(good ? 0 : 1);

function start(file: string): ChildProcess {
  const env = { ...process.env, SIGNING_SECRET: secret, PORT: "0" };
  // The receiver's log would hide the story; its errors are shown.
  const child = fork(new URL(file, import.meta.url), { env, stdio: ["ignore", "ignore", "inherit", "ipc"] });
  children.add(child);
  child.once("exit", () => children.delete(child));
  return child;
}

async function startReceiver(): Promise<number> {
  const [{ port }] = (await firstMessage(start("receiver.ts"))) as [{ readonly port: number }];
  return port;
}

async function startWorker(): Promise<ChildProcess> {
  const child = start("worker.ts");
  await firstMessage(child);
  child.on("message", (message) => {
    const { account, message: id } = message as Handled;
    const numbers = handled.get(account) ?? [];
    handled.set(account, numbers);
    numbers.push(Number(id.slice("m-".length)));
    runs += 1;
  });
  return child;
}

async function firstMessage(child: ChildProcess): Promise<unknown[]> {
  const ended = once(child, "exit").then(() => {
    throw new Error("A process of the cluster ended before it was ready.");
  });
  // Its exit at the end is expected.
  ended.catch(() => {});
  return Promise.race([once(child, "message"), ended]);
}

/** Round robin, without the health checks of a real one. */
async function startProxy(targets: readonly number[]): Promise<Server> {
  let turn = 0;
  const server = createServer((incoming, outgoing) => {
    const port = targets[turn++ % targets.length];
    const { method, url: path, headers } = incoming;
    const passed = request({ host: "127.0.0.1", port, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    passed.on("error", () => (outgoing.headersSent ? outgoing.destroy() : outgoing.writeHead(502).end()));
    incoming.pipe(passed);
  });
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return server;
}

/** The next is sent when the one before was answered: this is the order that the inbox keeps. */
async function sendAll(accountId: number): Promise<number> {
  let answers = 0;
  for (let number = 0; number < MESSAGES; number += 1) {
    const payloads = [{ id: `m-${number}`, changeType: "created" }];
    const wire = { subscription: 4_000 + accountId, accountId, resource: "/email/messages", payloads };
    const { status } = await fetch(signedDelivery({ wire }, { secret, url }).toRequest());
    if (status === 200) answers += 1;
  }
  return answers;
}

function distinct(): number {
  return [...handled.values()].reduce((sum, numbers) => sum + new Set(numbers).size, 0);
}

/** A killed worker's call is repeated; nothing is left out. */
function follows(before: number | undefined, number: number): boolean {
  return before === undefined ? number === 0 : number === before || number === before + 1;
}

async function until(reached: () => boolean): Promise<void> {
  const startedAt = performance.now();
  while (!reached()) {
    if (performance.now() - startedAt > DEADLINE_MS)
      throw new Error(`${distinct()} were handled in ${DEADLINE_MS / 1_000} s.`);
    await wait(20);
  }
}
