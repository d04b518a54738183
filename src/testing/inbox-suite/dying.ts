import assert from "node:assert/strict";
import type { Claim } from "../../inbox/claims.ts";
import type { WorkingInbox } from "../../inbox/port.ts";
import type { InboxBench, InboxPromises } from "./bench.ts";
import { mail, one } from "./deliveries.ts";
import { claimAll, claimOne, dead, done, keepAll, recordsOf, release, retry, settleAll } from "./verbs.ts";

/** The process dies that many times over what is claimed, each time everything; the inbox as the last successor has it. */
async function die(bench: InboxBench, times: number): Promise<WorkingInbox> {
  let { inbox } = bench;
  for (let time = 0; time < times; time += 1) {
    await claimAll(inbox, { mergeMax: 10 });
    await claimAll(inbox, { suspects: true });
    inbox = await bench.succeed();
  }
  return inbox;
}

/** Attempts and deaths of each job of some claims. */
function countsOf(claims: readonly Claim[]): number[][] {
  return claims.flatMap(({ jobs }) => jobs.map(({ attempt, deaths }) => [attempt, deaths]));
}

export const dying: InboxPromises = {
  "deaths: How often the process died while it was claimed, since it last ended: each counted one attempt, too.": {
    "each claimed job counts one attempt and one death, and is due at once": async (bench) => {
      await keepAll(bench.inbox, mail([one("a", "x"), one("b", "x"), "c"]));
      await claimAll(bench.inbox, { mergeMax: 10 });
      const successor = await bench.succeed();
      const claims = await claimAll(successor, { mergeMax: 10 });
      assert.deepEqual(recordsOf(claims), [["a", "b"], ["c"]]);
      assert.deepEqual(countsOf(claims).join("; "), "2,1; 2,1; 2,1");
    },

    "a job that only waited counts nothing": async (bench) => {
      await keepAll(bench.inbox, mail([one("a"), one("b")]));
      await claimOne(bench.inbox);
      const successor = await bench.succeed();
      await settleAll(successor, await claimOne(successor), done);
      assert.deepEqual(countsOf([await claimOne(successor)]), [[1, 0]]);
    },

    "a release takes no death, and no attempt": async (bench) => {
      await keepAll(bench.inbox, mail(["a"]));
      await settleAll(bench.inbox, await claimOne(bench.inbox), release);
      const successor = await bench.succeed();
      const claim = await claimOne(successor);
      assert.deepEqual(countsOf([claim]), [[1, 0]]);
      await settleAll(successor, claim, release);
      const next = await die({ ...bench, inbox: successor }, 1);
      const released = await claimOne(next);
      await settleAll(next, released, release);
      assert.deepEqual(countsOf([await claimOne(next)]), [[2, 1]]);
    },

    "a run that ended, well or badly, forgets them": async (bench) => {
      await keepAll(bench.inbox, mail(["a"]));
      const successor = await die(bench, 1);
      await settleAll(successor, await claimOne(successor), retry(bench, 0));
      assert.deepEqual(countsOf([await claimOne(successor)]), [[3, 0]]);
    },

    "the first attempt's time stays": async (bench) => {
      await keepAll(bench.inbox, mail(["a"]));
      const started = bench.clock.now();
      await claimOne(bench.inbox);
      await bench.clock.advance(1_000);
      const successor = await bench.succeed();
      assert.equal((await claimOne(successor)).jobs[0].firstAttemptAt, started);
    },
  },

  "ahead: If the process dies before it claims, that counts as a death, and no more than one.": {
    "what was kept while a claim had room counts a death or none, and one attempt for it": async (bench) => {
      await bench.inbox.claim({ max: 10, mergeMax: 10, ahead: () => 10 });
      await keepAll(bench.inbox, mail(["a"]));
      const once = await bench.succeed();
      const [[attempt = 0, deaths = 0] = []] = countsOf([await claimOne(once)]);
      assert.ok(deaths <= 1, `${deaths} deaths after one`);
      assert.equal(attempt, 1 + deaths);
    },
  },

  "deaths: From the third on a claim counts none, because it will not be run.": {
    "a job over which three died is claimed to be buried, with the attempts that it had": async (bench) => {
      await keepAll(bench.inbox, mail(["a"]));
      const successor = await die(bench, 3);
      const [claim] = await claimAll(successor, { suspects: true });
      assert.ok(claim !== undefined);
      assert.deepEqual(countsOf([claim]), [[3, 3]]);
      await settleAll(successor, claim, dead(bench));
      assert.equal(successor.stats().dead, 1);
    },

    "a release of it takes none back": async (bench) => {
      await keepAll(bench.inbox, mail(["a"]));
      const successor = await die(bench, 3);
      for (let time = 0; time < 2; time += 1) {
        const [claim] = await claimAll(successor, { suspects: true });
        assert.ok(claim !== undefined);
        assert.deepEqual(countsOf([claim]), [[3, 3]]);
        await settleAll(successor, claim, release);
      }
    },
  },

  "claim: A job over which the process died twice comes only when asked for, without a run.": {
    "it does not come by itself, and claim says that there is one": async (bench) => {
      await keepAll(bench.inbox, mail(["a"]));
      const successor = await die(bench, 2);
      await keepAll(successor, mail(["b"]));
      const { claims, suspects } = await successor.claim({ max: 10, mergeMax: 10 });
      assert.deepEqual([recordsOf(claims), suspects], [[["b"]], true]);
    },

    "asked for, it comes without the run behind it, and nothing else does": async (bench) => {
      await keepAll(bench.inbox, mail([one("a", "x"), one("b", "x")]));
      const successor = await die(bench, 2);
      await keepAll(successor, mail([one("c", "x"), "d"]));
      const { claims, suspects } = await successor.claim({ max: 10, mergeMax: 10, suspects: true });
      assert.deepEqual([recordsOf(claims), suspects], [[["a"]], false]);
      assert.deepEqual(countsOf(claims), [[3, 2]]);
    },

    "it ends the run in front of it": async (bench) => {
      await keepAll(bench.inbox, mail([one("a", "x"), one("b", "x")]));
      const successor = await die(bench, 2);
      const [claim] = await claimAll(successor, { suspects: true });
      assert.ok(claim !== undefined);
      await settleAll(successor, claim, retry(bench, 0)); // its run ended: it is none any more, b still is one
      assert.deepEqual(recordsOf([await claimOne(successor, 10)]), [["a"]]);
    },

    "its lane waits behind it": async (bench) => {
      await keepAll(bench.inbox, mail([one("a")]));
      const successor = await die(bench, 2);
      await keepAll(successor, mail([one("b")]));
      assert.deepEqual(await claimAll(successor), []);
      const [claim] = await claimAll(successor, { suspects: true });
      assert.ok(claim !== undefined);
      await settleAll(successor, claim, dead(bench));
      assert.deepEqual(recordsOf([await claimOne(successor)]), [["b"]]);
    },
  },

  "settle: By token: `false` says that the claim was lost, and nothing changed.": {
    "the settle of a process that died says false, and changes nothing": async (bench) => {
      await keepAll(bench.inbox, mail([one("a"), one("b")]));
      const claim = await claimOne(bench.inbox);
      const successor = await bench.succeed();
      assert.deepEqual(await successor.settle([{ claim, outcomes: [done] }]), [false]);
      const again = await claimOne(successor);
      assert.deepEqual(recordsOf([again]), [["a"]]);
      assert.deepEqual(await successor.settle([{ claim, outcomes: [done] }]), [false]);
      assert.deepEqual(await claimAll(successor), []);
      await settleAll(successor, again, done);
    },
  },
};
