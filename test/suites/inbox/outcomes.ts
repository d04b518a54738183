import assert from "node:assert/strict";
import { mail, one } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import {
  claimAll,
  claimOne,
  dead,
  done,
  findAll,
  recordsOf,
  release,
  retry,
  settleAll,
  storeAll,
  unhandled,
} from "./verbs.ts";

export const outcomes: InboxPromises = {
  "done: How a claim ends for one of its jobs.": {
    "a job that is done waits, runs and fails no more": async ({ inbox }) => {
      await storeAll(inbox, mail(["a"]));
      await settleAll(inbox, await claimOne(inbox), done);
      assert.deepEqual(await findAll(inbox, { states: ["waiting", "running", "dead", "unhandled"] }), []);
    },
  },

  "dead: How a claim ends for one of its jobs.": {
    "a dead job stays, with its error and when it was settled": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a"]));
      await settleAll(inbox, await claimOne(inbox), dead(bench, "broken"));
      const [job] = await findAll(inbox, { states: ["dead"] });
      assert.deepEqual(
        [job?.attempts, job?.error, job?.settledAt],
        [1, { name: "Error", message: "broken", at: clock.now() }, clock.now()],
      );
    },
  },

  "retry: Due at `at`, which is `delayMs` from now.": {
    "it keeps the lane closed until it is due, and counts": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail([one("a"), one("b")]));
      const started = clock.now();
      await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
      const [job] = await findAll(inbox, { states: ["waiting"] });
      assert.deepEqual([job?.attempts, job?.runAt, job?.error?.message], [1, started + 5_000, "no"]);
      assert.equal(inbox.stats().blockedLanes, 1);
      await clock.advance(4_999);
      assert.deepEqual(await claimAll(inbox), []);
      await clock.advance(1);
      const { jobs } = await claimOne(inbox);
      assert.deepEqual([jobs[0].attempt, jobs[0].firstAttemptAt], [2, started]);
      assert.equal(inbox.stats().blockedLanes, 0);
    },

    "it holds up its own lane and no other": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, mail([one("a"), one("b")]));
      await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
      await storeAll(inbox, mail(["c"]));
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["c"]]);
    },

    "a wall clock that jumped back does not freeze it": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a"]));
      await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
      clock.jump(-86_400_000);
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
    },

    "one that jumped back by less leaves its delay": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a"]));
      await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
      await clock.advance(4_000);
      clock.jump(-3_000);
      assert.deepEqual(await claimAll(inbox), []);
      await clock.advance(4_000);
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
    },
  },

  "retry: Unless `counted`, this attempt does not count.": {
    "the next attempt has the same number, and the first one's time stays": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a"]));
      const started = clock.now();
      await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000, false));
      await clock.advance(5_000);
      const { jobs } = await claimOne(inbox);
      assert.deepEqual([jobs[0].attempt, jobs[0].firstAttemptAt], [1, started]);
    },
  },

  "release: As if the job had not been claimed.": {
    "it is due at once, and no attempt is burned": async ({ inbox, clock }) => {
      await storeAll(inbox, mail([one("a"), one("b")]));
      await settleAll(inbox, await claimOne(inbox), release);
      await clock.advance(60_000);
      const again = await claimOne(inbox);
      assert.deepEqual(recordsOf([again]), [["a"]]);
      assert.deepEqual([again.jobs[0].attempt, again.jobs[0].firstAttemptAt], [1, clock.now()]);
    },

    "attempts before it still count, and their first one's time stays": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a"]));
      const started = clock.now();
      await settleAll(inbox, await claimOne(inbox), retry(bench, 1_000));
      await clock.advance(1_000);
      await settleAll(inbox, await claimOne(inbox), release);
      const [job] = await findAll(inbox);
      assert.deepEqual([job?.attempts, job?.runAt], [1, undefined], "it waits for no time any more");
      const { jobs } = await claimOne(inbox);
      assert.deepEqual([jobs[0].attempt, jobs[0].firstAttemptAt], [2, started]);
    },
  },

  "unhandled: No handler is registered for it any more: the job waits for one outside its lane.": {
    "the lane's next is claimable, and the attempt is taken back": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), one("b")]));
      await settleAll(inbox, await claimOne(inbox), unhandled);
      assert.deepEqual(recordsOf([await claimOne(inbox)]), [["b"]]);
      const [job] = await findAll(inbox, { states: ["unhandled"] });
      assert.deepEqual([job?.attempts, job?.consumer], [0, "default"]);
    },
  },
};
