import assert from "node:assert/strict";
import type { InboxStats, WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { mail, nobodys, one, raw } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, claimOne, dead, done, retry, settleAll, storeAll, unhandled } from "./verbs.ts";

const NOTHING = {
  unexpanded: 0,
  waiting: 0,
  running: 0,
  dead: 0,
  unhandled: 0,
  blockedLanes: 0,
  oldestWaitingAt: undefined,
};

export const stats: InboxPromises = {
  "stats: Counts of jobs, and of unexpanded deliveries.": {
    "all are zero while it is empty": async ({ inbox }) => {
      assert.deepEqual(countsOf(inbox), NOTHING);
    },

    "they count what waits, runs, is dead, is unhandled, is unexpanded": async (bench) => {
      const { inbox } = bench;
      const at = Date.parse("2026-05-06T00:00:00Z");
      await storeAll(inbox, mail(["a"], { receivedAt: at }), mail(["b", "c", "d"], { receivedAt: at + 1 }));
      const [a, b, c, d] = await claimAll(inbox);
      assert.ok(a !== undefined && b !== undefined && c !== undefined && d !== undefined);
      await storeAll(inbox, mail(["e", nobodys("f")], { receivedAt: at + 2 }));
      await settleAll(inbox, a, done);
      await settleAll(inbox, b, dead(bench));
      await settleAll(inbox, c, retry(bench, 5_000));
      const counts = { ...NOTHING, waiting: 2, running: 1, dead: 1, unhandled: 1, blockedLanes: 1 };
      assert.deepEqual(countsOf(inbox), { ...counts, oldestWaitingAt: at + 1 });
      await settleAll(inbox, d, unhandled);
      await storeAll(inbox, raw(mail(["g", "h"], { receivedAt: at + 3 })));
      const later = { ...counts, running: 0, unhandled: 2, unexpanded: 1 };
      assert.deepEqual(countsOf(inbox), { ...later, oldestWaitingAt: at + 1 });
    },
  },

  "blockedLanes: Lanes whose head waits for its retry.": {
    "what waits behind a head is not blocked by itself": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail([one("a"), one("b"), one("c"), "d"]));
      const [head, other] = await claimAll(inbox);
      assert.ok(head !== undefined && other !== undefined);
      assert.equal(inbox.stats().blockedLanes, 0);
      await settleAll(inbox, head, retry(bench, 5_000));
      await settleAll(inbox, other, retry(bench, 9_000));
      assert.equal(inbox.stats().blockedLanes, 2);
      await clock.advance(5_000);
      await claimOne(inbox);
      assert.equal(inbox.stats().blockedLanes, 1);
    },
  },

  "oldestWaitingAt: When the oldest delivery was received that is unexpanded or has a waiting job.": {
    "a delivery that waits to be expanded waits too": async ({ inbox }) => {
      const at = Date.parse("2026-05-06T00:00:00Z");
      const first = mail(["a"], { receivedAt: at });
      const [stored] = await storeAll(inbox, raw(first), raw(mail(["b"], { receivedAt: at + 1 })));
      assert.equal(inbox.stats().oldestWaitingAt, at);
      await inbox.expand([{ id: stored?.id ?? "", events: first.events, cursor: undefined }]);
      await settleAll(inbox, await claimOne(inbox), done);
      assert.equal(inbox.stats().oldestWaitingAt, at + 1);
    },

    "a job that runs does not wait, and one that is released does again": async ({ inbox }) => {
      const at = Date.parse("2026-05-06T00:00:00Z");
      await storeAll(inbox, mail([one("a")], { receivedAt: at }), mail([one("b")], { receivedAt: at + 1 }));
      assert.equal(inbox.stats().oldestWaitingAt, at);
      const claim = await claimOne(inbox);
      assert.equal(inbox.stats().oldestWaitingAt, at + 1);
      await settleAll(inbox, claim, { to: "release" });
      assert.equal(inbox.stats().oldestWaitingAt, at);
    },
  },
};

/** What every inbox has. */
function countsOf(inbox: WorkingInbox): Omit<InboxStats, "disk" | "expired" | "fill" | "standstill"> {
  const {
    disk: _disk,
    workers: _workers,
    standstill: _standstill,
    isWorkedOn: _worked,
    expired: _expired,
    isFull: _full,
    fill: _fill,
    ...counts
  } = inbox.stats();
  return counts;
}
