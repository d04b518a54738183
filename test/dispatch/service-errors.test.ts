import { isHooklineError } from "hookline";
import { createClient, ServiceError } from "hookline/client";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { startService, type Answer } from "../client/support.ts";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { bodyOf, change, makeDelivery } from "../support/make-delivery.ts";
import { failingHandler, heldHandler, recordingHandler, rig } from "../support/rig.ts";

/** The error of a call that the service answers so. */
async function errorOf(answer: Answer): Promise<ServiceError> {
  const { url } = await startService(() => answer);
  const client = createClient({ baseUrl: url, token: "t", retry: false });
  const error: unknown = await client.messages.get("m-1").catch((thrown: unknown) => thrown);
  if (!(error instanceof ServiceError)) throw error;
  return error;
}

/** When a handler is called again, in milliseconds after the event, and what became of its job, whose handler always throws this. */
async function runsWith(error: unknown) {
  const { receiver, send, pass, inbox, clock } = rig({ attempts: 2 });
  const began = clock.now();
  const calls: number[] = [];
  receiver.on("email", () => {
    calls.push(clock.now() - began);
    throw error;
  });
  await receiver.start();
  await send();
  await pass(100_000);
  const { retried, failed } = receiver.stats();
  return { calls, dead: inbox.stats().dead, retried, failed };
}

describe("a handler that throws an error of the client", () => {
  test.each([
    [408, "service-not-ready", 5_000],
    [429, "service-rate-limited", 30_000],
  ])("%d waits without counting: as long as the service asks, or %s ms by itself", async (status, code, ownMs) => {
    const silent = await errorOf({ status });
    expect(silent.code).toBe(code);
    expect((await runsWith(silent)).calls.slice(0, 3)).toEqual([0, ownMs, 2 * ownMs]);

    const asked = await runsWith(await errorOf({ status, headers: { "Retry-After": "40" } }));
    expect(asked).toEqual({ calls: [0, 40_000, 80_000], dead: 0, retried: 3, failed: 0 });
  });

  test.each([
    [400, "service-bad-request"],
    [403, "service-forbidden"],
  ])("%d is given up at once", async (status, code) => {
    const error = await errorOf({ status });
    expect(error.code).toBe(code);
    expect(await runsWith(error)).toMatchObject({ calls: [0], dead: 1 });
  });

  test.each<[string, Answer, string]>([
    ["401", { status: 401 }, "service-unauthorized"],
    ["404", { status: 404 }, "service-not-found"],
    ["410", { status: 410 }, "service-token-expired"],
    ["412", { status: 412 }, "service-precondition-failed"],
    ["500", { status: 500 }, "service-error"],
    ["503 with a Retry-After", { status: 503, headers: { "Retry-After": "40" } }, "service-error"],
    ["a cut connection", "cut", "service-unreachable"],
    ["no JSON", { text: "<html>" }, "service-answer-invalid"],
  ])("%s is retried as any failure", async (_name, answer, code) => {
    const error = await errorOf(answer);
    expect(error.code).toBe(code);
    const { calls, ...rest } = await runsWith(error);
    expect(calls).toHaveLength(2);
    expect(calls[1]).toBeLessThan(2_000);
    expect(rest).toEqual({ dead: 1, retried: 1, failed: 2 });
  });

  test("is known by its code, also from another copy of the package", async () => {
    const foreign = Object.assign(new Error("429"), { name: "RateLimited", code: "service-rate-limited" });
    expect(isHooklineError(foreign, "service-rate-limited")).toBe(true);
    expect((await runsWith(foreign)).calls.slice(0, 2)).toEqual([0, 30_000]);
  });

  test.each([-1, Number.NaN, "40", null])("a retryAfterMs of %o is none", async (retryAfterMs) => {
    const odd = Object.assign(new Error("429"), { name: "RateLimited", code: "service-rate-limited", retryAfterMs });
    expect((await runsWith(odd)).calls.slice(0, 2)).toEqual([0, 30_000]);
  });

  test("counts as settled while the receiver closes", async () => {
    const { receiver, send, pass, inbox } = rig();
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    await pass();
    const closed = receiver.close({ drainMs: 0 });
    last().fail(await errorOf({ status: 400 }));
    await closed;
    expect(inbox.stats().dead).toBe(1);
  });

  test("of 400 counts as done where no inbox stores", async () => {
    const { receiver } = rig();
    const { seen, handler } = failingHandler(await errorOf({ status: 400 }));
    receiver.on("email", handler);
    await receiver.handle(toStored("d-1", makeDelivery(bodyOf({ payloads: [change("a")] }))));
    expect(seen).toEqual(["a"]);
  });
});

describe("a 401 is a problem of the account", () => {
  const CODE = "account-unauthorized";

  test("until one of its handlers succeeds", async () => {
    const error = await errorOf({ status: 401 });
    const { receiver, send, pass } = rig();
    let refuses = true;
    const { handler } = recordingHandler(() => {
      if (refuses) throw error;
    });
    receiver.on("email", handler);
    await receiver.start();
    await send();
    expect(await problemsOf(receiver, CODE)).toEqual([
      toReported(CODE, "Account 2002, last at 2026-05-06T07:08:09.000Z."),
    ]);
    refuses = false;
    await send(bodyOf({ accountId: 3003, payloads: [change("other")] }));
    expect(await codesOf(receiver)).toContain(CODE);
    await pass(2_000);
    expect(await codesOf(receiver)).not.toContain(CODE);
  });

  test("also where no inbox stores", async () => {
    const error = await errorOf({ status: 401 });
    const { receiver } = rig();
    receiver.on("email", failingHandler(error).handler);
    await expect(receiver.handle(toStored("d-1", makeDelivery(bodyOf())))).rejects.toThrow("1 of the delivery's");
    expect(await codesOf(receiver)).toContain(CODE);
  });

  test("is not one of any other failure, nor of a 403", async () => {
    const { receiver, send } = rig();
    receiver.on("email", failingHandler(await errorOf({ status: 403 })).handler);
    await receiver.start();
    await send();
    expect(await codesOf(receiver)).not.toContain(CODE);
  });

  test("names ten accounts, and counts the others", async () => {
    const { receiver, send } = rig({ attempts: 1 });
    receiver.on("email", failingHandler(await errorOf({ status: 401 })).handler);
    await receiver.start();
    for (let accountId = 1; accountId <= 12; accountId += 1)
      await send(bodyOf({ accountId, payloads: [change(`m-${accountId}`)] }));
    const problems = await problemsOf(receiver, CODE);
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)?.message).toContain("So it is with 2 more.");
  });
});
