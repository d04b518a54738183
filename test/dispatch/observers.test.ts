import type { Job, JobMoment, Observer } from "hookline";
import { describe, expect, test } from "vitest";
import { bookingBody, lifecycleBody, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, failingHandler, recordingHandler, rig } from "../support/rig.ts";

const MOMENTS = ["started", "succeeded", "failed", "retried", "dead", "duplicate"] as const;

/** Notes every moment of every job. */
function recorder() {
  const moments: (JobMoment & { readonly name: string })[] = [];
  const note = Object.fromEntries(
    MOMENTS.map((name) => [name, (moment: JobMoment) => moments.push({ name, ...moment })]),
  );
  return { moments, observer: note as Observer, names: () => moments.map(({ name }) => name) };
}

describe("an observer", () => {
  test("is called when a job was started and succeeded, each with the job as it is then", async () => {
    const { receiver, send, clock } = rig();
    const { moments, observer } = recorder();
    receiver.on("email", () => new Promise<void>((resolve) => void clock.setTimer(resolve, 250)));
    receiver.observe(observer);
    await receiver.start();
    const receivedAt = clock.date();
    await send(emails("a"));
    await clock.advance(0);
    await new Promise((resolve) => setImmediate(resolve));
    await clock.advance(1_000);
    await receiver.idle();
    const common = { consumer: "default", event: { type: "email.updated", id: "a" }, receivedAt };
    expect(moments).toMatchObject([
      { name: "started", job: { ...common, state: "running", attempts: 1 } },
      { name: "succeeded", job: { ...common, state: "done" }, durationMs: 250 },
    ]);
    const [started, succeeded] = moments.map(({ job }) => job);
    expect(succeeded?.id).toBe(started?.id);
    expect(succeeded).not.toHaveProperty("attempts");
    expect(succeeded?.settledAt).toBeInstanceOf(Date);
    expect(Object.keys(started as Job)).not.toContain("settledAt");
  });

  test("is called for each failure, of its retry with its time, and of the death", async () => {
    const { receiver, send, pass, clock } = rig({ attempts: 2 });
    const { moments, observer, names } = recorder();
    const error = new TypeError("broken");
    receiver.on("email", failingHandler(error).handler);
    receiver.observe(observer);
    await receiver.start();
    await send(emails("a"));
    await pass();
    expect(names()).toEqual(["started", "failed", "retried"]);
    expect(moments[1]).toMatchObject({ error, job: { lastError: { name: "TypeError", message: "broken" } } });
    expect(moments[2]).toMatchObject({ error, job: { state: "waiting", attempts: 1 } });
    const next = moments[2]?.job.nextAttemptAt?.getTime() ?? 0;
    expect(next - clock.now()).toBeGreaterThanOrEqual(500);
    await pass(1_000);
    expect(names()).toEqual(["started", "failed", "retried", "started", "failed", "dead"]);
    expect(moments.at(-1)).toMatchObject({ error, job: { state: "dead", attempts: 2, settledAt: expect.any(Date) } });
  });

  test("is called for each job of a merged call", async () => {
    const { receiver, send } = rig();
    const { moments, observer, names } = recorder();
    receiver.on("email", () => {});
    receiver.observe(observer);
    await send(emails("a", "a"));
    await receiver.start();
    await receiver.idle();
    expect(names()).toEqual(["started", "started", "succeeded", "succeeded"]);
    expect(new Set(moments.map(({ job }) => job.id)).size).toBe(2);
  });

  test("is called for a duplicate, with the delivery that brought it", async () => {
    const { receiver, send } = rig();
    const { moments, observer, names } = recorder();
    const stored: string[] = [];
    receiver.on("booking", () => {});
    receiver.observe({ ...observer, stored: ({ delivery }) => stored.push(delivery.id) });
    await receiver.start();
    await send(bookingBody("e-1"));
    await send(bookingBody("e-1"));
    await receiver.idle();
    expect(names()).toEqual(["started", "succeeded", "duplicate"]);
    expect(moments[2]?.job).toMatchObject({ state: "skipped", event: { type: "booking" }, deliveryId: stored[1] });
  });

  test("is not called after its end", async () => {
    const { receiver, send } = rig();
    const { observer, names } = recorder();
    receiver.on("email", () => {});
    const end = receiver.observe(observer);
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    end();
    await send(emails("b"));
    await receiver.idle();
    expect(names()).toHaveLength(2);
  });

  test("that throws or rejects is logged, and changes nothing", async () => {
    const { receiver, send, log } = rig();
    const { seen, handler } = recordingHandler();
    const { observer, names } = recorder();
    receiver.on("email", handler);
    receiver.observe({
      started() {
        throw new Error("broken observer");
      },
      succeeded: (async () => Promise.reject(new Error("later"))) as Observer["succeeded"],
    } as Observer);
    receiver.observe(observer);
    await receiver.start();
    await send(emails("a"));
    await receiver.idle();
    expect([seen, names()]).toEqual([["a"], ["started", "succeeded"]]);
    expect(log.text()).toContain("broken observer");
  });
});

describe("a failed handler is logged", () => {
  test("with the job's id and what becomes of it, and without the event's content", async () => {
    const { receiver, send, pass, log, inbox } = rig({ attempts: 1 });
    receiver.on("email", failingHandler(new Error("no")).handler);
    await receiver.start();
    await send(emails("a-private-id"));
    await pass();
    const [job] = (await inbox.jobs.find({ limit: 1 })).jobs;
    const lines = log.lines.filter(({ message }) => message === "a handler failed");
    expect(lines).toMatchObject([
      { level: "warn", facts: { jobId: job?.id, event: "email.updated", attempt: 1, merged: 1, outcome: "dead" } },
    ]);
    expect(log.text()).not.toContain("a-private-id");
  });
});

describe("what was expanded is logged", () => {
  const trouble = lifecycleBody("error", { resource: "/calendars/ann@example.com/events", error: "no grant" });

  test.each([
    [false, 0],
    [true, 1],
  ])("with its content only where that is asked for: %s", async (logContent, lines) => {
    const { receiver, send, log } = rig({ logContent });
    receiver.on("*", () => {});
    await receiver.start();
    await send(trouble);
    await receiver.idle();
    expect(log.lines.filter(({ level }) => level === "debug")).toHaveLength(lines);
    const [line] = log.of("subscription-errored");
    expect(line).toMatchObject({ level: "error", facts: { subscription: 1001, accountId: 2002, error: "no grant" } });
    expect("resource" in (line?.facts ?? {})).toBe(logContent);
  });

  test("as a warning where an event came again with other content: it is handled all the same", async () => {
    const { receiver, send, log } = rig();
    const { seen, handler } = recordingHandler();
    const stored: string[] = [];
    receiver.on("tracking", handler).observe({ stored: ({ delivery }) => stored.push(delivery.id) });
    await receiver.start();
    await send(trackingBody(tracked(1)));
    await send(trackingBody(tracked(1, { trackingId: 89 })));
    await receiver.idle();
    expect(seen).toHaveLength(2);
    expect(log.of("conflict")).toMatchObject([
      { level: "warn", facts: { event: "tracking.open", deliveryId: stored[1] } },
    ]);
  });
});

describe("stats()", () => {
  test("count jobs: done, failed, retried, dead, skipped, merged, and deliveries that were stored", async () => {
    const { receiver, send, pass } = rig({ attempts: 2 });
    receiver.on("email.updated", () => {});
    receiver.on("booking", failingHandler().handler);
    await send(emails("a", "a", "b"));
    await send(emails("c").replace("updated", "deleted"));
    await send(bookingBody("e-1"));
    await receiver.start();
    await pass(10_000);
    expect(receiver.stats()).toMatchObject({
      role: "working",
      stored: 3,
      succeeded: 3,
      merged: 1,
      skipped: 1,
      failed: 2,
      retried: 1,
      dead: 1,
      duplicates: 0,
      conflicts: 0,
    });
  });

  test("are a copy", () => {
    const { receiver } = rig();
    (receiver.stats().answered as Record<number, number>)[200] = 9;
    expect(receiver.stats().answered).toEqual({});
  });
});
