import { connect, type Socket } from "node:net";
import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { toQuantile } from "../figures.ts";
import { signedRequest, toWire } from "../requests.ts";
import type { OpenLoad } from "./open-load.ts";

/** Connections at the start. */
const CONNECTIONS = 64;
/** A slow answer makes the client open another connection, up to so many: Node lets 511 wait, and TCP retries more only after seconds. */
const MOST_CONNECTIONS = 500;
/** For answers after the last request. */
const PATIENCE_MS = 10_000;
/** At the same rate; it is not measured. */
const WARM_UP_SECONDS = 0.5;
/** A timer may be late by as much: below it the client polls. */
const TIMER_MS = 2;

const [port = 0, perSecond = 0, seconds = 0] = process.argv.slice(2).map(Number);
const warmUp = Math.round(perSecond * WARM_UP_SECONDS);
const count = Math.round(perSecond * seconds);

const atMs = Date.now();
const wires = Array.from({ length: warmUp + count }, (_, record) => toWire(signedRequest("service", record, { atMs })));

const free: Connection[] = [];
const waits: number[] = [];
let [connections, unsent, inFlight] = [0, 0, 0];

/** A connection with at most one request at a time. */
interface Connection {
  readonly socket: Socket;
  /** Undefined if it is not measured. */
  dueAt: number | undefined;
  answer: string;
}

await Promise.all(
  Array.from({ length: CONNECTIONS }, async () => {
    const connection = open();
    await new Promise((resolve) => connection.socket.once("connect", resolve));
    free.push(connection);
  }),
);

const startedAt = performance.now();
for (const [index, wire] of wires.entries()) {
  const isMeasured = index >= warmUp;
  const dueAt = startedAt + (index * 1_000) / perSecond;
  await until(dueAt);
  // The longest idle one first: a server closes connections that are idle for seconds.
  const connection = free.shift() ?? (connections < MOST_CONNECTIONS ? open() : undefined);
  if (connection === undefined) {
    unsent += isMeasured ? 1 : 0;
    continue;
  }
  inFlight += 1;
  connection.dueAt = isMeasured ? dueAt : undefined;
  connection.socket.write(wire);
}
const endedAt = performance.now();
while (inFlight > 0 && performance.now() - endedAt < PATIENCE_MS) await sleep(1);
if (inFlight > 0) fail(`${inFlight} requests have no answer after ${PATIENCE_MS} ms.`);

const [p50Ms, p99Ms, maxMs] = [0.5, 0.99, 1].map((share) => toQuantile(waits, share)) as [number, number, number];
const result: OpenLoad = { perSecond, offered: count, unsent, p50Ms, p99Ms, maxMs };
if (process.send === undefined) console.log(result);
else process.send(result, () => process.exit());
if (process.send === undefined) process.exit();

async function until(dueAt: number): Promise<void> {
  for (;;) {
    const early = dueAt - performance.now();
    if (early <= 0) return;
    if (early > TIMER_MS) await sleep(early - TIMER_MS);
    else await turn();
  }
}

function open(): Connection {
  connections += 1;
  const socket = connect({ port, host: "127.0.0.1", noDelay: true });
  const connection: Connection = { socket, dueAt: undefined, answer: "" };
  socket.setEncoding("latin1").on("data", (text) => received(connection, String(text)));
  socket.on("error", () => {}).on("close", () => closed(connection));
  return connection;
}

function closed(connection: Connection): void {
  const index = free.indexOf(connection);
  if (index === -1) fail("The server closed a connection without an answer.");
  free.splice(index, 1);
  connections -= 1;
}

/** Answers have no body. */
function received(connection: Connection, text: string): void {
  connection.answer += text;
  if (!connection.answer.endsWith("\r\n\r\n")) return;
  if (!connection.answer.startsWith("HTTP/1.1 200 ")) fail(`Expected 200, got: ${connection.answer}`);
  connection.answer = "";
  if (connection.dueAt !== undefined) waits.push(performance.now() - connection.dueAt);
  inFlight -= 1;
  free.push(connection);
}

function fail(why: string): never {
  console.error(why);
  process.exit(1);
}
