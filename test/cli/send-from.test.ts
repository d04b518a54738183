import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { createReceiver, type AnyEvent } from "hookline";
import { nodeReceiver } from "hookline/node";
import { sqliteInbox } from "hookline/sqlite";
import { deliver, sample } from "hookline/testing";
import { expect, onTestFinished, test } from "vitest";
import { fastTmpdir } from "../support/fast-tmpdir.ts";
import { serve } from "../support/http.ts";
import { runCli } from "./in-process.ts";

const secret = "the local secret";
const env = { SIGNING_SECRET: secret };

function newFolder(): string {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-from-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}

/** A receiver with a file, and the events that it has handled. */
async function startReceiver(cwd: string, name: string) {
  const receiver = createReceiver({
    secret: name === "first.db" ? "the service's secret" : secret,
    inbox: sqliteInbox(join(cwd, name)),
    log: false,
  });
  const events: AnyEvent[] = [];
  receiver.on(["*", "unknown"], (event) => void events.push(event));
  await receiver.start();
  onTestFinished(async () => void (await receiver.close()));
  return { receiver, events, ...(await serve(nodeReceiver(receiver))) };
}

const ROUNDS = 1_000;

test(`${ROUNDS} exported events are sent anew: each is answered 200, and they are equal`, async () => {
  const cwd = newFolder();
  const first = await startReceiver(cwd, "first.db");
  const events = Array.from({ length: ROUNDS - 2 }, (_, index) => sample("email.created", { id: `m-${index}` }));
  await Promise.all(events.map((event) => deliver(first.receiver, event, { secret: "the service's secret" })));
  // One delivery of two events is two lines of the export.
  await deliver(first.receiver, [sample("email.created", { id: "é" }), sample("email.deleted", { id: "b" })], {
    secret: "the service's secret",
  });
  await first.receiver.idle();
  expect(first.events).toHaveLength(ROUNDS);
  const exported = runCli(["inbox", "export", "--inbox", join(cwd, "first.db"), "--show-content"], {});
  expect(await exported.ended).toBe(0);
  writeFileSync(join(cwd, "jobs.jsonl"), exported.out());

  const second = await startReceiver(cwd, "second.db");
  const send = runCli(["send", "--from", "jobs.jsonl", "--to", second.url], { env, cwd });
  expect(await send.ended).toBe(0);
  expect(send.out()).toMatch(new RegExp(`^200 +${ROUNDS - 1} {2}acknowledged$`, "m"));
  expect(send.out()).toContain("skipped: 0 lines without a body, 0 deliveries without --only\n");
  await second.receiver.idle();
  const sorted = (all: readonly AnyEvent[]) => all.map((event) => JSON.stringify(event)).toSorted();
  expect(sorted(second.events)).toEqual(sorted(first.events));
});

test("--only takes deliveries that have such an event; lines without a body are skipped and counted; the rate holds", async () => {
  const cwd = newFolder();
  const { receiver, events, url } = await startReceiver(cwd, "second.db");
  const body = (event: AnyEvent): string =>
    Buffer.from(JSON.stringify({ subscription: 1, accountId: 2, resource: "/contacts", payloads: [event] })).toString(
      "base64",
    );
  const lines = [
    { method: "POST", bodyBase64: body(sample("contact.created", { id: "c-1" })) },
    { method: "POST", bodyBase64: body(sample("contact.deleted", { id: "c-2" })) },
    { id: "7", delivery: { id: "1", bytes: 10 } },
    null,
  ];
  writeFileSync(join(cwd, "captured.jsonl"), lines.map((line) => `${JSON.stringify(line)}\n\n`).join(""));
  const args = ["send", "--from", "captured.jsonl", "--to", url, "--only", "contact.deleted", "--per-second", "50"];
  const send = runCli(args, { env, cwd });
  expect(await send.ended).toBe(0);
  expect(send.out()).toContain("skipped: 2 lines without a body, 1 deliveries without --only\n");
  await receiver.idle();
  expect(events).toMatchObject([{ type: "contact.deleted", id: "c-2", subscription: 1 }]);
});

test("it ends with 1 where one is not answered 200", async () => {
  const cwd = newFolder();
  const { url } = await serve((_, res) => res.writeHead(503).end());
  writeFileSync(join(cwd, "one.jsonl"), `{"bodyBase64":"e30="}\n`);
  const send = runCli(["send", "--from", "one.jsonl", "--to", url], { env, cwd });
  expect(await send.ended).toBe(1);
  expect(send.out()).toMatch(/^503 +1 {2}not acknowledged/m);
});

test.each([
  [["email.created", "--from", "x"], "Got email.created and --from, expected one of"],
  [[], "NAME is missing, expected one of email.created"],
  [["--from", "missing.jsonl"], "missing.jsonl cannot be read: ENOENT"],
  [["--from", "text.jsonl"], "text.jsonl cannot be read: line 2 is no JSON."],
])("%j ends with 2 and what is expected", async (args, message) => {
  const cwd = newFolder();
  writeFileSync(join(cwd, "text.jsonl"), "{}\nnot JSON\n");
  const cli = runCli(["send", ...args, "--to", "http://127.0.0.1:1/"], { env, cwd });
  expect(await cli.ended).toBe(2);
  expect(cli.err()).toContain(message);
});
