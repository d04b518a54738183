// A user's program: runs as ESM and as CommonJS, and is compiled by every TypeScript that users have.
import { deepStrictEqual, strictEqual } from "node:assert";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { tmpdir } from "node:os";
import { join } from "node:path";
import * as adapter from "hookline/adapter";
import { createReceiver, type EventOf, type Inbox, isHooklineError, memoryInbox, type Receiver } from "hookline";
import { createClient, NotFound } from "hookline/client";
import { bullmqInbox, bullmqProcessor } from "hookline/bullmq";
import { expressReceiver } from "hookline/express";
import { koaReceiver } from "hookline/koa";
import { natsConsumer, natsInbox } from "hookline/nats";
import { nodeReceiver } from "hookline/node";
import { pgBossHandler, pgBossInbox } from "hookline/pg-boss";
import { complete, postgresInbox } from "hookline/postgres";
import { sign, verify } from "hookline/signature";
import { sqliteInbox } from "hookline/sqlite";

const secret = "test-signing-secret";
const at = new Date(1_700_000_000_000);
const body =
  '{"subscription":1001,"resource":"/contacts","accountId":2002,"payloads":[{"id":"c-1","changeType":"updated"}]}';
const signed = {
  "x-aurinko-request-timestamp": "1700000000",
  "x-aurinko-signature": "b6ab27c8bf67b1bb49a07e53153a4a0837b5ceb1cb5d1061e43bafb754750872",
};

async function main(): Promise<void> {
  verifiesAlone();
  standsBehindQueues();
  await callsTheService();
  await saysWhatToInstall();
  const folder = mkdtempSync(join(tmpdir(), "hookline-"));
  let handled = 0;
  for (const inbox of [memoryInbox(), sqliteInbox(join(folder, "inbox.db"))]) handled += await handles(inbox);
  rmSync(folder, { recursive: true });
  process.stdout.write(`${process.version} handled ${handled}\n`);
}

/** Their packages are the user's. */
function standsBehindQueues(): void {
  const fronts = [
    bullmqInbox({ addBulk: async () => [] }),
    pgBossInbox({ insert: async () => null }, { queue: "deliveries", group: "account" }),
    natsInbox({ publish: async () => ({}) }, { subject: "deliveries" }),
  ];
  for (const front of fronts) strictEqual(front.storage, "network");
  const receiver = createReceiver({ secret, inbox: memoryInbox() });
  for (const consumer of [bullmqProcessor(receiver), pgBossHandler(receiver), natsConsumer(receiver)])
    strictEqual(typeof consumer, "function");
}

/** On a fetch of its own. */
async function callsTheService(): Promise<void> {
  const answers = [Response.json({ id: "m-1", subject: "Engine notes" }), Response.json({}, { status: 404 })];
  const client = createClient({ token: "t", fetch: async () => answers.shift() ?? Response.error() });
  strictEqual((await client.messages.get("m-1")).subject, "Engine notes");
  const error: unknown = await client.messages.get("m-2").catch((thrown: unknown) => thrown);
  strictEqual(error instanceof NotFound && isHooklineError(error, "service-not-found"), true);
}

async function handles(inbox: Inbox): Promise<number> {
  const seen: EventOf<"contact.updated">[] = [];
  const receiver = createReceiver({ secret, inbox, maxAgeSeconds: 50 * 365 * 86_400 });
  receiver.on("contact.updated", (event) => seen.push(event));
  for (const mount of [expressReceiver(receiver), koaReceiver(receiver)]) strictEqual(typeof mount, "function");
  strictEqual(typeof adapter, "object");

  await receiver.start();
  const answer = await deliver(receiver);
  await receiver.idle();
  await receiver.close();

  deepStrictEqual(answer, { status: 200, text: "" });
  deepStrictEqual(
    seen.map(({ type, accountId, id }) => ({ type, accountId, id })),
    [{ type: "contact.updated", accountId: 2002, id: "c-1" }],
  );
  return seen.length;
}

function verifiesAlone(): void {
  strictEqual(verify({ headers: signed, body }, { secret, now: at }).sentAt?.getTime(), at.getTime());
  const made = Object.entries(sign(body, { secret, at })).map(([name, value]) => [name.toLowerCase(), value]);
  deepStrictEqual(Object.fromEntries(made), signed);
}

/** An inbox in PostgreSQL without the package that it needs, which is not installed here. */
async function saysWhatToInstall(): Promise<void> {
  strictEqual(typeof complete, "function");
  const receiver = createReceiver({ secret, inbox: postgresInbox("postgres://localhost/app"), log: false });
  const why: unknown = await receiver.start().catch((error: unknown) => error);
  await receiver.close();
  if (!isHooklineError(why, "peer-missing")) throw new Error(`Got ${String(why)}, expected peer-missing.`);
}

async function deliver(receiver: Receiver): Promise<{ status: number; text: string }> {
  const server = createServer(nodeReceiver(receiver)).listen(0);
  await once(server, "listening");
  const response = await fetch(`http://127.0.0.1:${portOf(server)}/`, { method: "POST", headers: signed, body });
  const answer = { status: response.status, text: await response.text() };
  server.close();
  server.closeAllConnections();
  return answer;
}

function portOf(server: Server): number {
  const address = server.address();
  if (address === null || typeof address === "string") throw new Error(`Got ${address}, expected a port.`);
  return address.port;
}

main().catch((error: unknown) => {
  process.stderr.write(`${error instanceof Error ? error.stack : String(error)}\n`);
  process.exitCode = 1;
});
