import type { Context, EventOf } from "hookline";
import { fakeContext, sample } from "hookline/testing";
import { expect, expectTypeOf, test } from "vitest";

test("a fake context is of a first attempt that nothing disturbs", () => {
  const ctx = fakeContext();
  expectTypeOf(ctx).toExtend<Context>();
  expect(ctx).toMatchObject({ attempt: 1, lastAttempt: false, merged: 1, state: {}, unsubscribed: [] });
  expect(ctx.signal.aborted).toBe(false);
  expect(ctx.idempotencyKey).not.toBe("");
  expect(ctx.jobId).not.toBe("");
  expect(ctx.receivedAt).toEqual(new Date("2026-01-02T03:04:05Z"));
  expect(ctx).not.toHaveProperty("source");
  expect(ctx).not.toHaveProperty("replayOf");
});

test("it has all that a handler may use", async () => {
  async function handler(event: EventOf<"email.created">, ctx: Context): Promise<void> {
    ctx.log.info({ id: event.id }, "handled");
    ctx.log.debug({});
    ctx.log.warn({});
    ctx.log.error({});
    Object.assign(ctx.state, { seen: event.id });
    const { receivedAt, headers, bodyBase64 } = await ctx.delivery();
    expect({ receivedAt, headers, bodyBase64 }).toEqual({
      receivedAt: ctx.receivedAt.toISOString(),
      headers: {},
      bodyBase64: "",
    });
    await ctx.unsubscribe("gone");
    await ctx.unsubscribe("gone for good");
  }
  const ctx = fakeContext();
  await handler(sample("email.created"), ctx);
  expect(ctx.unsubscribed).toEqual(["gone", "gone for good"]);
  expect(ctx.state).toEqual({ seen: "m-1" });
});

test("it is what a test makes of it", async () => {
  const { signal } = new AbortController();
  const at = new Date("2026-05-06T07:08:09Z");
  const fields = { attempt: 3, lastAttempt: true, source: "shop", signal, receivedAt: at, sentAt: at };
  expect(fakeContext(fields)).toMatchObject(fields);

  const refusing = fakeContext({ unsubscribe: () => Promise.reject(new Error("no")) });
  await expect(refusing.unsubscribe("gone")).rejects.toThrow("no");
  expect(refusing.unsubscribed).toEqual([]);
});

test("its stored delivery is of the times that it is given", async () => {
  const receivedAt = new Date("2026-05-06T07:08:09Z");
  const sentAt = new Date("2026-05-06T07:08:00Z");
  const stored = await fakeContext({ receivedAt, sentAt, source: "shop" }).delivery();
  expect(stored).toMatchObject({
    receivedAt: "2026-05-06T07:08:09.000Z",
    sentAt: "2026-05-06T07:08:00.000Z",
    source: "shop",
  });
});

test("two of them share nothing", async () => {
  const [one, other] = [fakeContext(), fakeContext()];
  await one.unsubscribe("gone");
  Object.assign(one.state, { seen: true });
  one.receivedAt.setTime(0);
  expect(other.unsubscribed).toEqual([]);
  expect(other.state).toEqual({});
  expect(one.sentAt).toEqual(other.receivedAt);
});
