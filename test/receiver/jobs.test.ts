import { createReceiver, forwardInbox, memoryInbox, type Jobs } from "hookline";
import { verify } from "hookline/signature";
import { describe, expect, test } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import {
  idsAndStates,
  inboxWithoutEvents,
  listAllJobs,
  receiverWithDeadJobs,
  receiverWithJobsInEachState,
} from "../support/job-fixtures.ts";
import { bodyOf, bookingBody, change, lifecycleBody, tracked, trackingBody } from "../support/make-delivery.ts";
import { emails, failingHandler, idOf, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox, unopenableInbox } from "../support/stub-inboxes.ts";

const START = new Date("2026-05-06T07:08:09Z");
const moment = (afterMs: number): Date => new Date(START.getTime() + afterMs);

describe("list", () => {
  test("gives jobs of every state in the order in which they were made", async () => {
    const { receiver } = await receiverWithJobsInEachState();
    const { jobs, ...more } = await receiver.jobs.list();
    expect(idsAndStates(jobs)).toEqual([
      ["dead", "dead"],
      ["running", "running"],
      ["behind", "waiting"],
      ["retried", "waiting"],
      ["nobody's", "unhandled"],
    ]);
    expect("next" in more).toBe(false);
  });

  test("goes page by page, 50 by default, each job once", async () => {
    const ids = Array.from({ length: 230 }, (_, index) => `m-${index}`);
    const dead = await receiverWithDeadJobs(ids);
    const first = await dead.receiver.jobs.list();
    expect(first.jobs).toHaveLength(50);
    expect(first.next).toBe(first.jobs.at(-1)?.id);
    for (const limit of [undefined, 1, 100, 115, 1_000])
      expect((await listAllJobs(dead, { limit: limit ?? 50 })).map(({ event }) => idOf(event))).toEqual(ids);
    expect((await dead.receiver.jobs.list({ after: first.next, limit: 1 })).jobs[0]?.event).toMatchObject({
      id: "m-50",
    });
  });

  test("shows the state of each job", async () => {
    const { receiver, clock } = await receiverWithJobsInEachState();
    const [dead, running, behind, retried, nobodys] = (await receiver.jobs.list()).jobs;
    const receivedAt = clock.date();
    expect(dead).toMatchObject({ state: "dead", attempts: 1, consumer: "default", settledAt: clock.date() });
    expect(dead?.lastError).toEqual({ name: "Error", message: "no", at: clock.date() });
    expect(running).toMatchObject({ state: "running", attempts: 1, receivedAt });
    expect(behind).toMatchObject({ state: "waiting", attempts: 0, receivedAt, deliveryId: running?.deliveryId });
    expect(retried).toMatchObject({ state: "waiting", attempts: 1, nextAttemptAt: expect.any(Date) as Date });
    expect(retried?.nextAttemptAt?.getTime()).toBeGreaterThan(clock.now());
    for (const name of ["consumer", "lane", "lastError", "nextAttemptAt", "replayOf"])
      expect(nobodys).not.toHaveProperty(name);
  });

  const all = [
    "email.created",
    "email.updated",
    "email.signal",
    "tracking.open",
    "booking",
    "lifecycle.error",
    "unknown",
    "contact.deleted",
  ];
  test.each<[NonNullable<Parameters<Jobs["list"]>[0]>, readonly string[]]>([
    [{}, all],
    [{ state: "dead" }, ["email.created", "email.updated", "tracking.open", "contact.deleted"]],
    [{ state: ["unhandled", "dead"] }, all],
    [{ state: [] }, []],
    [{ state: "running" }, []],
    [{ type: "email.updated" }, ["email.updated"]],
    [{ type: "email.deleted" }, []],
    [{ type: "email" }, ["email.created", "email.updated"]],
    [{ type: "email.signal" }, ["email.signal"]],
    [{ type: "email.changes" }, ["email.created", "email.updated", "email.signal"]],
    [{ type: "contact" }, ["contact.deleted"]],
    [{ type: "task" }, []],
    [{ type: "tracking" }, ["tracking.open"]],
    [{ type: "tracking.click" }, []],
    [{ type: "booking" }, ["booking"]],
    [{ type: "lifecycle" }, ["lifecycle.error"]],
    [{ type: "lifecycle.active" }, []],
    [{ type: "unknown" }, ["unknown"]],
    [{ type: "*" }, all.filter((type) => type !== "unknown")],
    [{ accountId: 7 }, ["email.created"]],
    [{ subscription: 5 }, ["email.updated"]],
    [{ accountId: 7, subscription: 5 }, []],
    [{ consumer: "search" }, ["contact.deleted"]],
    [{ consumer: "nobody" }, []],
    [{ receivedAfter: START }, ["contact.deleted"]],
    [{ receivedBefore: START }, []],
    [{ receivedAfter: moment(-1), receivedBefore: moment(1), type: "email" }, ["email.created", "email.updated"]],
    [{ receivedAfter: moment(999), state: "dead" }, ["contact.deleted"]],
    [{ receivedAfter: moment(1_000) }, []],
    [
      { type: undefined, state: undefined, consumer: undefined, receivedAfter: undefined, accountId: 7 },
      ["email.created"],
    ],
  ])("takes what all of %j is true of", async (filter, expected) => {
    const { receiver, send, pass } = rig({ attempts: 1, clock: fakeClock(START) });
    receiver.on(["email", "tracking"], failingHandler().handler);
    receiver.on("contact", failingHandler().handler, { consumer: "search" });
    await receiver.start();
    await send(bodyOf({ accountId: 7, payloads: [change("a", "created")] }));
    await send(bodyOf({ subscription: 5 }));
    await send(bodyOf({ payloads: [] }));
    await send(trackingBody(tracked(3)));
    await send(bookingBody("e-1"));
    await send(lifecycleBody("error", { error: "invalid_grant" }));
    await send("not json");
    await pass(1_000);
    await send(bodyOf({ resource: "/contacts", payloads: [change("c", "deleted")] }));
    await receiver.idle();
    expect((await receiver.jobs.list(filter)).jobs.map(({ event }) => event.type)).toEqual(expected);
  });
});

describe("get", () => {
  test("gives one job with the stored bytes of its delivery", async () => {
    const { receiver, send } = rig({ attempts: 1 });
    receiver.on("email", failingHandler().handler);
    await receiver.start();
    await send(emails("a", "b"), { source: "shop" });
    await receiver.idle();
    const [, second] = (await receiver.jobs.list()).jobs;
    const found = await receiver.jobs.get(second?.id ?? "");
    expect(found).toMatchObject({ ...second, delivery: { id: second?.deliveryId, source: "shop" } });
    expect(Buffer.from(found?.delivery?.bodyBase64 ?? "", "base64").toString()).toBe(emails("a", "b"));
  });

  test("gives a delivery whose signature holds still, and that can be handled again", async () => {
    const { receiver, seen, clock, jobs } = await oneDead();
    const found = await receiver.jobs.get(jobs[0]?.id ?? "");
    const delivery = found?.delivery ?? expect.fail("it is not there");
    const body = Buffer.from(delivery.bodyBase64, "base64");
    const verified = verify({ headers: delivery.headers, body }, { secret: "a signing secret", now: clock.date() });
    expect(verified.sentAt).toEqual(new Date(delivery.sentAt));
    await receiver.handle(delivery);
    expect(seen).toEqual(["a"]);
  });

  test("knows nothing of an id that is not there", async () => {
    const { receiver } = await oneDead();
    for (const id of ["999999", "", "no-id"]) expect(await receiver.jobs.get(id)).toBe(undefined);
  });

  async function oneDead() {
    const dead = await receiverWithDeadJobs(["a"]);
    return { ...dead, ...(await dead.receiver.jobs.list()) };
  }
});

describe("an inbox that stores only the bytes", () => {
  test("has its events read back from them, those of one delivery from one reading", async () => {
    const { inbox, asked } = inboxWithoutEvents();
    const { receiver, send } = await receiverWithDeadJobs(["a", "b", "c"], { inbox });
    await send(bookingBody("e-1"));
    await receiver.idle();
    const { jobs } = await receiver.jobs.list();
    expect(jobs.map(({ event }) => event)).toMatchObject([
      { type: "email.updated", id: "a", accountId: 2002 },
      { id: "b" },
      { id: "c" },
      { type: "booking", eventId: "e-1" },
    ]);
    expect(asked).toEqual([jobs[0]?.id, jobs[3]?.id]);
    expect((await receiver.jobs.get(jobs[1]?.id ?? ""))?.event).toEqual(jobs[1]?.event);
  });

  test("has a job left out that went while it was looked at", async () => {
    const { inbox } = inboxWithoutEvents();
    const { receiver } = await receiverWithDeadJobs(["a"], {
      inbox: stubInbox(() => {
        const verbs = inbox as ReturnType<typeof rig>["inbox"];
        return { ...verbs, jobs: { ...verbs.jobs, get: async () => undefined } };
      }),
    });
    expect(await receiver.jobs.list()).toEqual({ jobs: [] });
  });
});

describe("a process", () => {
  test("that never starts can look and change", async () => {
    const shared = { inbox: memoryInbox(), clock: fakeClock() };
    const worker = await receiverWithDeadJobs(["a", "b"], shared);
    await worker.receiver.close();
    const { receiver } = rig(shared);
    expect(idsAndStates((await receiver.jobs.list()).jobs)).toEqual([
      ["a", "dead"],
      ["b", "dead"],
    ]);
    const [first] = (await receiver.jobs.list({ limit: 1 })).jobs;
    expect((await receiver.jobs.get(first?.id ?? ""))?.event).toEqual(first?.event);
    expect(await receiver.jobs.drop(first?.id ?? "")).toEqual({ count: 1 });
    expect(await receiver.jobs.replay({ state: "dead" })).toEqual({ count: 1 });
    expect(receiver.stats().role).toBe("receiving");
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await receiver.idle();
    expect(seen).toEqual(["b"]);
  });

  test("whose inbox cannot be opened says why, and tries again at the next call", async () => {
    const { receiver } = rig({ inbox: unopenableInbox(new Error("no such volume")) });
    await expect(receiver.jobs.list()).rejects.toThrow("no such volume");
    await expect(receiver.jobs.erase(7)).rejects.toThrow("no such volume");
  });

  test("that only hands on has no jobs, and says where to look", async () => {
    const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
    for (const call of calls(receiver))
      await expect(call()).rejects.toMatchObject({
        name: "UsageError",
        code: "inbox-cannot-work",
        fix: expect.stringContaining("queue") as string,
      });
  });

  test("that is closed has none any more", async () => {
    const { receiver } = await receiverWithDeadJobs(["a"]);
    await receiver.close();
    for (const call of calls(receiver))
      await expect(call()).rejects.toMatchObject({ name: "ClosedError", code: "closed" });
  });

  test("that closed before its inbox was ever opened leaves it so", async () => {
    let opened = 0;
    const { receiver } = rig({ inbox: stubInbox(() => ({ open: async () => void (opened += 1) })) });
    await receiver.close();
    await expect(receiver.jobs.list()).rejects.toMatchObject({ code: "closed" });
    expect(opened).toBe(0);
  });

  test("that closes while its inbox opens has none either", async () => {
    let opened = (): void => {};
    const opening = new Promise<void>((resolve) => (opened = resolve));
    const { receiver } = rig({ inbox: stubInbox(() => ({ open: () => opening })) });
    const listed = receiver.jobs.list();
    const closed = receiver.close();
    opened();
    await expect(listed).rejects.toMatchObject({ code: "closed" });
    await closed;
  });

  function calls({ jobs }: Pick<ReturnType<typeof createReceiver>, "jobs">) {
    return [
      () => jobs.list(),
      () => jobs.get("1"),
      () => jobs.replay("1"),
      () => jobs.drop({ state: "dead" }, { dryRun: true }),
      () => jobs.erase(2002),
    ];
  }
});
