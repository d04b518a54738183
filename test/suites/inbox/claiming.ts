import assert from "node:assert/strict";
import { mail, one } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, claimOne, dead, done, drain, recordsOf, release, retry, settleAll, storeAll } from "./verbs.ts";

export const claiming: InboxPromises = {
  "claim: Claims the heads of free lanes that are due, each with the jobs directly behind it that have the same merge key.":
    {
      "it gives the heads of free lanes, one each": async ({ inbox }) => {
        const free = ["d", "e"].map((id) => ({ id, lane: undefined }));
        await storeAll(inbox, mail([one("a"), one("b"), { id: "c", lane: "other" }, ...free]));
        assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"], ["c"], ["d"], ["e"]]);
        assert.deepEqual(await claimAll(inbox), []);
      },

      "it gives at most max, and the rest next time": async ({ inbox }) => {
        await storeAll(inbox, mail(["a", "b", "c"]));
        const [some, rest] = [await claimAll(inbox, { max: 2 }), await claimAll(inbox, { max: 2 })];
        assert.deepEqual([some.length, rest.length], [2, 1]);
        assert.deepEqual(
          recordsOf([...some, ...rest])
            .flat()
            .toSorted(),
          ["a", "b", "c"],
        );
        assert.deepEqual(await claimAll(inbox, { max: 0 }), []);
      },

      "the run with the head's merge key comes along, at most mergeMax": async ({ inbox }) => {
        await storeAll(inbox, mail([one("a", "x"), one("b", "x"), one("c", "x"), one("d", "y"), one("e", "x")]));
        const first = await claimOne(inbox, 2);
        assert.deepEqual(recordsOf([first]), [["a", "b"]]);
        await settleAll(inbox, first, done, done);
        const second = await claimOne(inbox, 10);
        assert.deepEqual(recordsOf([second]), [["c"]]);
        await settleAll(inbox, second, done);
        assert.deepEqual(await drain(inbox), ["d", "e"]);
      },
    },

  "mergeKey: Undefined: the job never merges.": {
    "jobs without a merge key, or without a lane, never merge": async ({ inbox }) => {
      const free = ["c", "d"].map((id) => ({ id, lane: undefined, mergeKey: "x" }));
      await storeAll(inbox, mail([one("a"), one("b"), ...free]));
      assert.deepEqual(recordsOf(await claimAll(inbox, { mergeMax: 10 })), [["a"], ["c"], ["d"]]);
    },
  },

  "claim: A lane never has two claims.": {
    "what comes while a claim runs waits for its end, also with the same merge key": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a", "x")]));
      const claim = await claimOne(inbox, 10);
      await storeAll(inbox, mail([one("b", "x"), one("c")]));
      assert.deepEqual(await claimAll(inbox, { mergeMax: 10 }), []);
      await settleAll(inbox, claim, done);
      assert.deepEqual(recordsOf(await claimAll(inbox, { mergeMax: 10 })), [["b"]]);
    },

    "claims that overlap share nothing": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), one("b"), "c", "d"]));
      const claims = await Promise.all([claimAll(inbox, { max: 2 }), claimAll(inbox, { max: 2 }), claimAll(inbox)]);
      assert.deepEqual(recordsOf(claims.flat()).flat().toSorted(), ["a", "c", "d"]);
    },

    "a wall clock that jumps neither frees nor loses a claim": async ({ inbox, clock }) => {
      await storeAll(inbox, mail(["a"]));
      const claim = await claimOne(inbox);
      for (const jump of [86_400_000, -2 * 86_400_000]) {
        clock.jump(jump);
        assert.deepEqual(await claimAll(inbox), []);
      }
      await settleAll(inbox, claim, done);
    },

    "a lane that a consumer's jobs of several deliveries share is one lane": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a")]), mail([one("b")], { accountId: 7 }));
      assert.deepEqual(recordsOf([await claimOne(inbox)]), [["a"]]);
    },
  },

  "claim: A claim counts as an attempt.": {
    "a job that is claimed has begun its attempt before anybody says so": async ({ inbox }) => {
      await storeAll(inbox, mail(["a"]));
      const { jobs } = await claimOne(inbox);
      assert.equal(jobs[0].attempt, 1);
      const found = await inbox.jobs.get(jobs[0].id);
      assert.deepEqual([found?.job.state, found?.job.attempts], ["running", 1]);
    },

    "attempts are counted from 1, and the first one's time stays": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a"]));
      const started = clock.now();
      for (const attempt of [1, 2, 3]) {
        const claim = await claimOne(inbox);
        assert.deepEqual([claim.jobs[0].attempt, claim.jobs[0].firstAttemptAt], [attempt, started]);
        await settleAll(inbox, claim, retry(bench, 1_000));
        await clock.advance(1_000);
      }
    },

    "a first attempt that is later than now, because the wall clock was ahead, is now": async (bench) => {
      const { inbox, clock } = bench;
      clock.jump(YEAR_MS);
      await storeAll(inbox, mail(["a"]));
      await settleAll(inbox, await claimOne(inbox), retry(bench, 0));
      clock.jump(-YEAR_MS);
      const set = clock.now();
      for (const passed of [0, 1_000]) {
        await clock.advance(passed);
        const claim = await claimOne(inbox);
        assert.equal(claim.jobs[0].firstAttemptAt, set);
        await settleAll(inbox, claim, retry(bench, 0));
      }
    },
  },

  "Claim: The right to run one job, or several that merge, oldest first.": {
    "a claimed job says all that its run needs": async ({ inbox, clock }) => {
      const delivery = mail([one("a", "x")], { source: "crm" });
      const [stored] = await storeAll(inbox, delivery);
      const { jobs } = await claimOne(inbox);
      const { id, event, accountId, delivery: given, ...job } = jobs[0];
      assert.deepEqual(job, {
        deliveryId: stored?.id,
        entry: 0,
        consumer: "default",
        lane: "one",
        mergeKey: "x",
        attempt: 1,
        firstAttemptAt: clock.now(),
        deaths: 0,
        replayOf: undefined,
      });
      assert.equal(typeof id, "string");
      assert.ok(accountId === undefined || accountId === delivery.events?.[0]?.event.accountId);
      assert.ok(event === undefined || event.type === "email.updated");
      assert.deepEqual(
        { ...given, body: Buffer.from(given.body) },
        { ...delivery.delivery, body: Buffer.from(delivery.delivery.body) },
      );
    },

    "the jobs of a run stand in the order of their ids": async ({ inbox }) => {
      await storeAll(inbox, mail(["a", "b", "c"].map((id) => one(id, "x"))));
      await settleAll(inbox, await claimOne(inbox, 2), release, release);
      assert.deepEqual(recordsOf([await claimOne(inbox, 10)]), [["a", "b", "c"]]);
    },
  },

  "ahead: It will claim that many new jobs as soon as they are stored: an inbox may mark them as claimed in the commit that stores them.":
    {
      "what is stored then is claimed as ever, in its lane's order, and counts one attempt": async ({ inbox }) => {
        const ahead = { max: 10, mergeMax: 10, ahead: () => 10 };
        await inbox.claim(ahead);
        await storeAll(inbox, mail([one("a"), one("b"), "c"]));
        const { claims } = await inbox.claim(ahead);
        assert.deepEqual(new Set(recordsOf(claims).flat()), new Set(["a", "c"]));
        assert.deepEqual(
          claims.map(({ jobs: [{ attempt, deaths }] }) => [attempt, deaths]),
          [
            [1, 0],
            [1, 0],
          ],
        );
        assert.deepEqual(await claimAll(inbox), []);
      },

      "what nobody claims after all waits as ever": async ({ inbox }) => {
        await inbox.claim({ max: 10, mergeMax: 10, ahead: () => 10 });
        await storeAll(inbox, mail(["a"]));
        assert.deepEqual([inbox.stats().waiting, inbox.stats().running], [1, 0]);
        assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
      },
    },

  "nextDueAt: Wall-clock time at which the next retry is due, if there is one.": {
    "it is the soonest of the retries, and undefined while none waits": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a", "b"]));
      const { claims, nextDueAt } = await inbox.claim({ max: 10, mergeMax: 1 });
      assert.equal(nextDueAt, undefined);
      for (const [index, claim] of claims.entries()) await settleAll(inbox, claim, retry(bench, 5_000 * (index + 1)));
      assert.equal((await inbox.claim({ max: 10, mergeMax: 1 })).nextDueAt, clock.now() + 5_000);
      await clock.advance(5_000);
      const { claims: due, nextDueAt: next } = await inbox.claim({ max: 10, mergeMax: 1 });
      assert.deepEqual([due.length, next], [1, clock.now() + 5_000]);
    },

    "a job that fails for good is not waited for": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, mail(["a"]));
      await settleAll(inbox, await claimOne(inbox), dead(bench));
      assert.equal((await inbox.claim({ max: 10, mergeMax: 1 })).nextDueAt, undefined);
    },
  },
};

const YEAR_MS = 365 * 86_400_000;
