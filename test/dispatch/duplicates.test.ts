import type { Job } from "hookline";
import { describe, expect, test } from "vitest";
import { bookingBody, lifecycleBody, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, recordingHandler, rig, type Rig } from "../support/rig.ts";

const DAY_MS = 86_400_000;

/** Runs whatever comes, and says which types did. */
async function working(before: Rig = rig()) {
  const types: string[] = [];
  const duplicates: Job[] = [];
  before.receiver.on("*", (event) => types.push(event.type));
  before.receiver.observe({ duplicate: ({ job }) => duplicates.push(job) });
  await before.receiver.start();
  return { ...before, types, duplicates };
}

describe("tracking and booking", () => {
  test("that come again in another delivery make no job, and are observed", async () => {
    const { receiver, send, pass, types, duplicates } = await working();
    for (const body of [trackingBody(tracked(1), tracked(2)), bookingBody("e-1")]) {
      await send(body);
      await pass(60_000);
      await send(body);
      await receiver.idle();
    }
    expect(types).toEqual(["tracking.open", "tracking.open", "booking"]);
    expect(receiver.stats()).toMatchObject({ duplicates: 3, conflicts: 0, succeeded: 3, stored: 4 });
    expect(duplicates.map(({ event }) => event.type)).toEqual(["tracking.open", "tracking.open", "booking"]);
  });

  test("are told apart by source and by account", async () => {
    const { receiver, send, types } = await working();
    await send(trackingBody(tracked(1)));
    await send(trackingBody(tracked(1)), { source: "crm" });
    await send(trackingBody(tracked(1)).replace("2002", "2003"));
    await receiver.idle();
    expect(types).toHaveLength(3);
    expect(receiver.stats().duplicates).toBe(0);
  });

  test("of two subscriptions are one event", async () => {
    const { receiver, send, types } = await working();
    await send(bookingBody("e-1"));
    await send(bookingBody("e-1").replace("1001", "1002"));
    await receiver.idle();
    expect(types).toEqual(["booking"]);
  });

  test("with other content make a job, which is counted as a conflict", async () => {
    const { receiver, send, types, log } = await working();
    await send(trackingBody(tracked(1, { location: "Basel" })));
    await send(trackingBody(tracked(1, { location: "Bern" })));
    await receiver.idle();
    expect(types).toHaveLength(2);
    expect(receiver.stats()).toMatchObject({ duplicates: 0, conflicts: 1 });
    expect(log.of("conflict")).toMatchObject([{ level: "warn", facts: { event: "tracking.open" } }]);
    expect(log.text()).not.toContain("Bern");
  });

  test("are remembered for `dedupe.windowSeconds`, and never less than a redelivery may be old", async () => {
    const { receiver, send, pass, types } = await working(rig({ dedupe: { windowSeconds: 60 }, maxAgeSeconds: 3_600 }));
    await send(trackingBody(tracked(1)));
    await pass(DAY_MS + 3_600_000 - 1_000);
    await send(trackingBody(tracked(1)));
    await receiver.idle();
    expect(types).toHaveLength(1);
    await pass(2_000);
    await send(trackingBody(tracked(1)));
    await receiver.idle();
    expect(types).toHaveLength(2);
  });

  test("stored before the start are deduplicated when they are expanded", async () => {
    const before = rig();
    for (let times = 0; times < 3; times += 1) await before.send(trackingBody(tracked(1)));
    const { receiver, types, duplicates } = await working(before);
    await receiver.idle();
    expect([types.length, duplicates.length, receiver.stats().duplicates]).toEqual([1, 2, 2]);
  });

  test("have the same idempotency key whatever brought them", async () => {
    const { receiver, send, clock } = rig({ dedupe: { windowSeconds: 1 }, maxAgeSeconds: 1 });
    const keys: string[] = [];
    receiver.on("booking", (_event, ctx) => keys.push(ctx.idempotencyKey));
    await receiver.start();
    await send(bookingBody("e-1"));
    await clock.advance(30 * DAY_MS);
    await send(bookingBody("e-1"));
    await receiver.idle();
    expect(keys).toHaveLength(2);
    expect(new Set(keys).size).toBe(1);
  });
});

describe("changes and lifecycle notices", () => {
  test("are never dropped, not even byte-identical ones", async () => {
    const { receiver, send } = rig();
    const { seen, handler } = recordingHandler();
    receiver.on(["email", "lifecycle"], handler, { merge: false });
    await receiver.start();
    for (let times = 0; times < 3; times += 1) {
      await send(emails("a"));
      await send(lifecycleBody("active"));
    }
    await receiver.idle();
    expect(seen).toHaveLength(6);
    expect(receiver.stats().duplicates).toBe(0);
  });

  test("have the same idempotency key in a redelivery with the same timestamp, and another one with another", async () => {
    const { receiver, send, clock } = rig();
    const keys: string[] = [];
    receiver.on("email", (_event, ctx) => keys.push(ctx.idempotencyKey));
    await receiver.start();
    const at = clock.date();
    for (const time of [at, at, new Date(at.getTime() + 1_000)]) {
      await send(emails("a"), { at: time });
      await receiver.idle();
    }
    expect(keys[1]).toBe(keys[0]);
    expect(keys[2]).not.toBe(keys[0]);
  });
});

describe("an idempotency key", () => {
  test("is stable over attempts, and new for a replay", async () => {
    const { receiver, send, pass, inbox } = rig({ attempts: 2 });
    const seen: { key: string; replayOf: string | undefined }[] = [];
    receiver.on("email", (_event, ctx) => {
      seen.push({ key: ctx.idempotencyKey, replayOf: ctx.replayOf });
      if (seen.length < 4) throw new Error("no");
    });
    await receiver.start();
    await send(emails("a"));
    await pass(10_000);
    const [dead] = (await inbox.jobs.find({ limit: 1, states: ["dead"] })).jobs;
    expect(await inbox.jobs.replay({ states: ["dead"] })).toBe(1);
    await pass(10_000);
    const [first, second, third, fourth] = seen;
    expect(seen).toHaveLength(4);
    expect([second?.key, fourth?.key]).toEqual([first?.key, third?.key]);
    expect(third?.key).not.toBe(first?.key);
    expect([first?.replayOf, third?.replayOf]).toEqual([undefined, dead?.id]);
  });
});
