import { describe, expect, test } from "vitest";
import { eventAt } from "../../src/dispatch/calls/job-view.ts";
import type { Claim, ClaimedJob } from "../../src/inbox/port/claims.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { turns, watch } from "../support/event-loop.ts";
import { emailEvent } from "../support/events.ts";
import { bodyOf, change, makeDelivery } from "../support/make-delivery.ts";
import { emails, heldHandler, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** An inbox that does not hold events: it keeps the bytes alone. */
function forgetful() {
  const given = new Map<Claim, Claim>();
  return stubInbox((own) => ({
    async claim(limits) {
      const { claims, ...more } = await own.claim(limits);
      const stripped = claims.map((claim): Claim => {
        const jobs = claim.jobs.map((job) => ({ ...job, event: undefined })) as unknown as [ClaimedJob];
        given.set({ jobs }, claim);
        return [...given.keys()].at(-1) as Claim;
      });
      return { claims: stripped, ...more };
    },
    settle: (settlements) =>
      own.settle(settlements.map(({ claim, outcomes }) => ({ claim: given.get(claim) ?? claim, outcomes }))),
    jobs: {
      ...own.jobs,
      unhandled: async (page) =>
        (await own.jobs.unhandled(page)).map((job) => Object.assign({}, job, { event: undefined })),
    },
  }));
}

describe("an inbox that keeps the bytes alone", () => {
  test("has its events decoded from them, each by its entry", async () => {
    const { receiver, send } = rig({ inbox: forgetful() });
    const { seen, handler } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a", "b", "c"));
    await receiver.idle();
    expect(seen).toEqual(["a", "b", "c"]);
    expect(receiver.stats().succeeded).toBe(3);
  });

  test("has its runs merged all the same", async () => {
    const { receiver, send } = rig({ inbox: forgetful() });
    const { calls, handler } = heldHandler();
    receiver.on("email.changes", handler);
    await send(emails("a", "b"));
    await receiver.start();
    await turns();
    expect(calls.map(({ event }) => event)).toMatchObject([{ changes: [{ id: "a" }, { id: "b" }] }]);
  });

  test("has its unhandled jobs swept", async () => {
    const inbox = forgetful();
    const before = rig({ inbox });
    before.receiver.on("contact", () => {});
    await before.receiver.start();
    await before.send(emails("a", "b"));
    await before.receiver.idle();
    await before.receiver.close();
    const after = rig({ inbox });
    const { seen, handler } = recordingHandler();
    after.receiver.on("email", handler);
    await after.receiver.start();
    await after.receiver.idle();
    expect(seen).toEqual(["a", "b"]);
  });

  test("has long unhandled ones decoded with turns of the event loop between them", async () => {
    const inbox = forgetful();
    const before = rig({ inbox });
    before.receiver.on("contact", () => {});
    await before.receiver.start();
    for (let count = 0; count < 10; count += 1)
      await before.send(bodyOf({ payloads: [change("a")], filler: "x".repeat(70_000) }));
    await before.receiver.idle();
    await before.receiver.close();
    const after = rig({ inbox });
    const decoded: number[] = [];
    let turn = 0;
    after.receiver.on("email", () => {}, { lane: () => (decoded.push(turn), "one") });
    await after.receiver.start();
    const idle = watch(after.receiver.idle());
    for (; !idle.ended; turn += 1) await turns(1);
    expect(decoded).toHaveLength(10);
    expect(new Set(decoded).size).toBeGreaterThan(5);
  });
});

describe("the event of a job", () => {
  test("is the one that the inbox holds", () => {
    const event = emailEvent("created");
    expect(eventAt(claimedJob({ event }))).toBe(event);
  });

  test("is unknown where its entry does not exist: a body that cannot have made the job", () => {
    expect(eventAt(claimedJob({ entry: 5 }))).toEqual({ type: "unknown", reason: "shape" });
    expect(eventAt(claimedJob({ delivery: makeDelivery("no json") }))).toEqual({ type: "unknown", reason: "not-json" });
  });
});
