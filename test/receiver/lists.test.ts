import { createReceiver, forwardInbox, type ReceiverLists } from "hookline";
import { describe, expect, test, vi } from "vitest";
import { receiverWithJobsInEachState } from "../support/job-fixtures.ts";
import { bodyOf, change, lifecycleBody } from "../support/make-delivery.ts";
import { failingHandler, heldHandler, idOf, rig } from "../support/rig.ts";
import { mail, working } from "./gaps/support.ts";

describe("blockedLanes", () => {
  test("gives the first job of each lane that waits for its next attempt, the soonest first, with those behind", async () => {
    const { receiver, send, pass, clock } = rig();
    receiver.on("email", failingHandler().handler, { merge: false });
    await receiver.start();
    await send(bodyOf({ payloads: [change("a"), change("a"), change("a"), change("b")] }));
    await pass();
    const { lanes, ...more } = await receiver.lists.blockedLanes();
    expect(lanes).toHaveLength(2);
    expect(lanes.find(({ job }) => idOf(job.event) === "a")?.behind).toBe(2);
    expect(lanes.find(({ job }) => idOf(job.event) === "b")?.behind).toBe(0);
    for (const { job } of lanes) {
      expect(job).toMatchObject({ state: "waiting", attempts: 1, lastError: { name: "Error" } });
      expect(job.nextAttemptAt?.getTime()).toBeGreaterThan(clock.now());
    }
    const times = lanes.map(({ job }) => Number(job.nextAttemptAt));
    expect(times).toEqual(times.toSorted((a, b) => a - b));
    expect(more).toEqual({});
    expect((await receiver.health()).blockedLanes).toBe(2);
  });

  test("gives one row for a lane whose changes failed together, and none for a lane that runs", async () => {
    const { receiver, send, pass } = rig();
    const held = heldHandler();
    receiver.on("email", held.handler);
    await receiver.start();
    await send(bodyOf({ payloads: [change("a"), change("a"), change("b")] }));
    await pass();
    expect((await receiver.lists.blockedLanes()).lanes).toEqual([]);
    held.calls.find(({ event }) => idOf(event) === "a")?.fail();
    await pass();
    const { lanes } = await receiver.lists.blockedLanes();
    expect(lanes.map(({ job, behind }) => [idOf(job.event), behind])).toEqual([["a", 1]]);
  });

  test("goes page by page, each lane once, those without a lane too", async () => {
    const { receiver, send, pass } = rig();
    receiver.on("email", failingHandler().handler, { lane: "none" });
    await receiver.start();
    const ids = Array.from({ length: 120 }, (_, place) => `m-${place}`);
    await send(bodyOf({ payloads: ids.map((id) => change(id)) }));
    await pass(); // all slots, again and again
    const seen: string[] = [];
    let after: string | undefined;
    const total = (await receiver.health()).blockedLanes;
    do {
      const page = await receiver.lists.blockedLanes({ limit: 7, after });
      seen.push(...page.lanes.map(({ job }) => job.id));
      after = page.next;
    } while (after !== undefined);
    expect(new Set(seen).size).toBe(total);
    expect(seen).toHaveLength(total);
    expect(total).toBeGreaterThan(50);
    expect((await receiver.lists.blockedLanes()).lanes).toHaveLength(50);
  });

  test("looks at no more than 10,000 jobs of an inbox that does not know them", async () => {
    const { receiver, inbox } = rig();
    let looked = 0;
    vi.spyOn(inbox.jobs, "find").mockImplementation(async ({ limit }) => {
      const jobs = Array.from({ length: limit }, () => {
        const rest = { deliveryId: "1", entry: 0, event: undefined, consumer: "default", lane: "l", attempts: 1 };
        const times = { receivedAt: 0, runAt: undefined, settledAt: undefined };
        return {
          ...rest,
          ...times,
          id: String((looked += 1)),
          state: "waiting",
          error: undefined,
          replayOf: undefined,
        } as const;
      });
      return { jobs, next: String(looked) };
    });
    expect(await receiver.lists.blockedLanes()).toEqual({ lanes: [] });
    expect(looked).toBe(10_000);
  });
});

test("tombstones: with their reason and their source", async () => {
  const { receiver, clock, pass, offer } = rig();
  await receiver.unsubscribe(1001, "left us");
  await receiver.unsubscribe(7, "double", { source: "crm" });
  const since = clock.date();
  await pass(5_000);
  expect(await offer()).toMatchObject({ status: 422 });
  expect(await receiver.lists.tombstones()).toEqual([
    { subscription: 1001, reason: "left us", since, lastHit: clock.date() },
    { subscription: 7, source: "crm", reason: "double", since, lastHit: since },
  ]);
});

describe("gaps", () => {
  test("page by page, by family and account; cleared ones are gone", async () => {
    const { receiver, inbox, clock } = await working();
    const [from, until] = [clock.now() - 60_000, clock.now()];
    const gap = { cause: "refused", from, until } as const;
    const contacts = { ...mail, accountId: 7, resource: "/contacts", family: "contact", source: "crm" };
    await inbox.gaps?.add([
      { ...mail, ...gap },
      { ...contacts, ...gap, cause: "errored", until: undefined },
    ]);
    const { source: _, ...known } = mail;
    const first = { ...known, cause: "refused", from: new Date(from), until: new Date(until) };
    const second = { ...contacts, cause: "errored", from: new Date(from) };
    const page = await receiver.lists.gaps({ limit: 1 });
    expect(page.gaps).toEqual([first]);
    expect(await receiver.lists.gaps({ limit: 1, after: page.next })).toEqual({ gaps: [second] });
    expect(await receiver.lists.gaps({ families: ["contact"] })).toEqual({ gaps: [second] });
    expect((await receiver.lists.gaps({ accountId: 2002 })).gaps).toEqual([first]);
    await receiver.lists.clearGaps((await receiver.lists.gaps({ families: ["contact"] })).gaps);
    expect(await receiver.lists.gaps()).toEqual({ gaps: [first] });
  });

  test("none where the inbox records none", async () => {
    const made = rig();
    Object.assign(made.inbox, { gaps: undefined });
    expect(await made.receiver.lists.gaps()).toEqual({ gaps: [] });
    await made.receiver.lists.clearGaps([]);
  });
});

test("erroredSubscriptions: those alone whose newest notice is an error, with its time", async () => {
  const { receiver, send, clock } = rig();
  await receiver.start();
  await send(lifecycleBody("error", { accountId: 2002 }));
  await send(lifecycleBody("error", { subscription: 7 }), { source: "crm" });
  const listed = await receiver.lists.erroredSubscriptions();
  expect(listed).toMatchObject([
    { subscription: 1001, accountId: 2002, since: clock.date() },
    { subscription: 7, source: "crm" },
  ]);
  await send(lifecycleBody("active", { subscription: 7 }), { source: "crm" });
  expect(await receiver.lists.erroredSubscriptions()).toEqual(listed.slice(0, 1));
});

test("workers: none where one process works", async () => {
  const { receiver } = await receiverWithJobsInEachState();
  expect(await receiver.lists.workers()).toEqual([]);
});

const CALLS: Readonly<Record<keyof ReceiverLists, (lists: ReceiverLists) => Promise<unknown>>> = {
  blockedLanes: (lists) => lists.blockedLanes(),
  tombstones: (lists) => lists.tombstones(),
  gaps: (lists) => lists.gaps(),
  clearGaps: (lists) => lists.clearGaps([]),
  erroredSubscriptions: (lists) => lists.erroredSubscriptions(),
  workers: (lists) => lists.workers(),
};

describe.each(Object.entries(CALLS))("%s", (_, call) => {
  test("works on a receiver that is not started, and on none that is closed or only forwards", async () => {
    const { receiver } = rig();
    await call(receiver.lists);
    await receiver.close();
    await expect(call(receiver.lists)).rejects.toMatchObject({ code: "closed" });
    const forwarding = createReceiver({ secret: "a signing secret", inbox: forwardInbox(async () => {}), log: false });
    await expect(call(forwarding.lists)).rejects.toMatchObject({ code: "inbox-cannot-work" });
  });
});

test.each([
  [(lists: ReceiverLists) => lists.blockedLanes({ limit: 0 }), "lists.blockedLanes got limit 0"],
  [(lists: ReceiverLists) => lists.blockedLanes({ limit: 1_001 }), "from 1 to 1,000"],
  [(lists: ReceiverLists) => lists.blockedLanes({ after: "7" }), "for `after`, expected the `next` of a page"],
  [(lists: ReceiverLists) => lists.gaps({ limit: 0.5 }), "lists.gaps got limit 0.5"],
  [(lists: ReceiverLists) => lists.gaps({ family: "email" } as object), 'got "family", which is no option'],
  [
    (lists: ReceiverLists) => lists.gaps({ families: "email" as never }),
    "got a text for `families`, expected a list of texts",
  ],
  [
    (lists: ReceiverLists) => lists.gaps({ families: [7] as never }),
    "got a list for `families`, expected a list of texts",
  ],
  [
    (lists: ReceiverLists) => lists.gaps({ accountId: Promise.resolve(7) as never }),
    "got a promise for `accountId`, expected",
  ],
  [(lists: ReceiverLists) => lists.gaps({ after: 7 as never }), "got 7 for `after`, expected the `next` of a page"],
  [(lists: ReceiverLists) => lists.clearGaps([{}] as never), "expected gaps that lists.gaps gave"],
])("refuses invalid arguments (%#)", async (call, message) => {
  const { receiver } = rig();
  await expect(call(receiver.lists)).rejects.toMatchObject({
    code: "option-invalid",
    message: expect.stringContaining(message) as string,
  });
});
