import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { workersReceiver } from "hookline/workers";
import { expect, onTestFinished, test } from "vitest";
import { deferred } from "../support/event-loop.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { signedHeaders } from "../support/sign.ts";
import { deciding, DELIVERY, receiving, reply, SECRET } from "./harness.ts";

// Its answers on the real runtime are held against the table in test/mounts.

function requestOf(url = "https://hooks.example/webhooks"): Request {
  return new Request(url, { method: "POST", headers: signedHeaders(DELIVERY, { secret: SECRET }), body: DELIVERY });
}

/** A Worker's context that remembers what it is to wait for. */
function contextOf() {
  const waited: Promise<unknown>[] = [];
  return { waited, waitUntil: (work: Promise<unknown>) => void waited.push(work) };
}

test("a Worker's request is answered, and its URL may be one of several", async () => {
  const { receiver, stored } = receiving();
  const handle = workersReceiver(receiver, {
    path: "/webhooks",
    source: ({ url }) => new URL(url).host,
  });
  expect((await handle(requestOf(), {}, contextOf())).status).toBe(200);
  expect((await handle(requestOf("https://hooks.example/other"), {}, contextOf())).status).toBe(404);
  expect(stored).toMatchObject([{ source: "hooks.example" }]);
});

test("a Worker goes on until it is answered, also where the client does not wait for that", async () => {
  const decided = deferred();
  const receiver = deciding(() => decided.promise.then(() => reply(200)));
  const ctx = contextOf();
  const answered = workersReceiver(receiver)(requestOf(), {}, ctx);
  expect(ctx.waited).toHaveLength(1);
  decided.resolve();
  expect(await ctx.waited[0]).toBe(await answered);
});

test("a Worker has its secrets in its bindings, and handles after the answer as long as it may", async () => {
  const receiver: Receiver = createReceiver({
    secret: ({ platform }) => (platform as { env: { SIGNING_SECRET: string } }).env.SIGNING_SECRET,
    inbox: memoryInbox(),
    log: logRecorder().logger,
  });
  const handled: string[] = [];
  receiver.on("email.created", ({ id }) => void handled.push(id));
  onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
  const ctx = contextOf();
  const handle = workersReceiver(receiver as Receiver<"network">);
  expect((await handle(requestOf(), { SIGNING_SECRET: SECRET }, ctx)).status).toBe(200);
  await Promise.all(ctx.waited);
  expect(handled).toEqual(["m-1"]);
});

test("a body that was read before is 500, and the log says what to change", async () => {
  const { receiver, log } = receiving();
  const request = requestOf();
  await request.text();
  const handle = workersReceiver(receiver, { answer: "after-handlers", timeoutMs: 1_000 });
  expect((await handle(request, {}, contextOf())).status).toBe(500);
  expect(log.of("body-consumed")).toMatchObject([{ facts: { fix: expect.stringContaining("workersReceiver") } }]);
});
