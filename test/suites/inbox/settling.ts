import assert from "node:assert/strict";
import { mail, one } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, claimOne, dead, done, findAll, recordsOf, release, retry, settleAll, storeAll } from "./verbs.ts";

export const settling: InboxPromises = {
  "settle: Returns `false` for a claim that was lost: nothing changed.": {
    "a claim settles once; afterwards it is lost, and changes nothing": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, mail(["a"]));
      const claim = await claimOne(inbox);
      await settleAll(inbox, claim, retry(bench, 0));
      assert.deepEqual(await inbox.settle([{ claim, outcomes: [done] }]), [false]);
      assert.equal((await findAll(inbox, { states: ["waiting"] })).length, 1);
      await claimOne(inbox);
      assert.deepEqual(await inbox.settle([{ claim, outcomes: [done] }]), [false]);
      assert.equal((await findAll(inbox, { states: ["running"] })).length, 1);
    },

    "a lost claim does not open the lane of the one that runs": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), one("b")]));
      const lost = await claimOne(inbox);
      await settleAll(inbox, lost, release);
      await claimOne(inbox);
      for (const outcome of [release, done])
        assert.deepEqual(await inbox.settle([{ claim: lost, outcomes: [outcome] }]), [false]);
      assert.deepEqual(await claimAll(inbox), []);
    },

    "a lost claim among others does not keep them from settling": async ({ inbox }) => {
      await storeAll(inbox, mail(["a", "b", "c"]));
      const [first, second, third] = (await claimAll(inbox)).map((claim) => ({ claim, outcomes: [done] }));
      assert.ok(first !== undefined && second !== undefined && third !== undefined);
      await inbox.settle([second]);
      assert.deepEqual(await inbox.settle([first, second, third]), [true, false, true]);
      assert.deepEqual(await findAll(inbox, { states: ["waiting", "running"] }), []);
    },

    "the same claim twice in one call settles once": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, mail(["a"]));
      const claim = await claimOne(inbox);
      const settlements = [dead(bench), done].map((outcome) => ({ claim, outcomes: [outcome] }));
      assert.deepEqual(await inbox.settle(settlements), [true, false]);
      assert.equal(inbox.stats().dead, 1);
    },
  },

  "settle: The next job of the lane can be claimed after the same write.": {
    "done frees the lane": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), one("b")]));
      await settleAll(inbox, await claimOne(inbox), done);
      assert.deepEqual(recordsOf([await claimOne(inbox)]), [["b"]]);
      assert.equal((await findAll(inbox, { states: ["waiting", "running"] })).length, 1);
    },

    "dead frees it too": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, mail([one("a"), one("b")]));
      await settleAll(inbox, await claimOne(inbox), dead(bench));
      assert.deepEqual(recordsOf([await claimOne(inbox)]), [["b"]]);
    },

    "a settle that frees a lane and the claim behind it may be asked for at once": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), one("b")]));
      const claim = await claimOne(inbox);
      const [settled, next] = await Promise.all([inbox.settle([{ claim, outcomes: [done] }]), claimAll(inbox)]);
      assert.deepEqual(settled, [true]);
      const later = next.length > 0 ? next : await claimAll(inbox);
      assert.deepEqual(recordsOf(later), [["b"]]);
    },
  },

  "Settlement: The end of a claim: one outcome for each of its jobs, in their order.": {
    "each job of a run has its own outcome, and what still waits keeps its place": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, mail(["a", "b", "c", "d", "e"].map((id) => one(id, "x"))));
      const run = await claimOne(inbox, 4);
      await storeAll(inbox, mail([one("f", "x")]));
      await settleAll(inbox, run, done, retry(bench, 0), dead(bench), release);
      const next = await claimOne(inbox, 10);
      assert.deepEqual(recordsOf([next]), [["b", "d", "e", "f"]]);
      assert.deepEqual(
        next.jobs.map(({ attempt }) => attempt),
        [2, 1, 1, 1],
      );
    },

    "a retry at the head of a run holds back what was released behind it": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail([one("a", "x"), one("b", "x")]));
      await settleAll(inbox, await claimOne(inbox, 2), retry(bench, 5_000), release);
      assert.deepEqual(await claimAll(inbox), []);
      await clock.advance(5_000);
      assert.deepEqual(recordsOf([await claimOne(inbox, 2)]), [["a", "b"]]);
    },
  },
};
