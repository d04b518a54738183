import assert from "node:assert/strict";
import { mail, one } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import {
  claimAll,
  claimOne,
  countsOf,
  dead,
  die,
  done,
  recordsOf,
  release,
  retry,
  settleAll,
  storeAll,
} from "./verbs.ts";

export const crashes: InboxPromises = {
  "deaths: How often the process died while the job was claimed, since the job last ended; each death also counted one attempt.":
    {
      "each claimed job counts one attempt and one death, and is due at once": async (bench) => {
        await storeAll(bench.inbox, mail([one("a", "x"), one("b", "x"), "c"]));
        await claimAll(bench.inbox, { mergeMax: 10 });
        const successor = await bench.succeed();
        const claims = await claimAll(successor, { mergeMax: 10 });
        assert.deepEqual(recordsOf(claims), [["a", "b"], ["c"]]);
        assert.deepEqual(countsOf(claims).join("; "), "2,1; 2,1; 2,1");
      },

      "a job that only waited counts nothing": async (bench) => {
        await storeAll(bench.inbox, mail([one("a"), one("b")]));
        await claimOne(bench.inbox);
        const successor = await bench.succeed();
        await settleAll(successor, await claimOne(successor), done);
        assert.deepEqual(countsOf([await claimOne(successor)]), [[1, 0]]);
      },

      "a release takes no death, and no attempt": async (bench) => {
        await storeAll(bench.inbox, mail(["a"]));
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
        await storeAll(bench.inbox, mail(["a"]));
        const successor = await die(bench, 1);
        await settleAll(successor, await claimOne(successor), retry(bench, 0));
        assert.deepEqual(countsOf([await claimOne(successor)]), [[3, 0]]);
      },

      "the first attempt's time stays": async (bench) => {
        await storeAll(bench.inbox, mail(["a"]));
        const started = bench.clock.now();
        await claimOne(bench.inbox);
        await bench.clock.advance(1_000);
        const successor = await bench.succeed();
        assert.equal((await claimOne(successor)).jobs[0].firstAttemptAt, started);
      },
    },

  "ahead: If the process dies before it claims them, each counts at most one death.": {
    "what was stored while a claim had room counts a death or none, and one attempt for it": async (bench) => {
      await bench.inbox.claim({ max: 10, mergeMax: 10, ahead: () => 10 });
      await storeAll(bench.inbox, mail(["a"]));
      const once = await bench.succeed();
      const [[attempt = 0, deaths = 0] = []] = countsOf([await claimOne(once)]);
      assert.ok(deaths <= 1, `${deaths} deaths after one`);
      assert.equal(attempt, 1 + deaths);
    },
  },

  "deaths: From three deaths on a claim is no attempt, because the job will not run.": {
    "a job over which three died is claimed to be dead-lettered, with the attempts that it had": async (bench) => {
      await storeAll(bench.inbox, mail(["a"]));
      const successor = await die(bench, 3);
      const [claim] = await claimAll(successor, { suspects: true });
      assert.ok(claim !== undefined);
      assert.deepEqual(countsOf([claim]), [[3, 3]]);
      await settleAll(successor, claim, dead(bench));
      assert.equal(successor.stats().dead, 1);
    },

    "a release of it takes none back": async (bench) => {
      await storeAll(bench.inbox, mail(["a"]));
      const successor = await die(bench, 3);
      for (let time = 0; time < 2; time += 1) {
        const [claim] = await claimAll(successor, { suspects: true });
        assert.ok(claim !== undefined);
        assert.deepEqual(countsOf([claim]), [[3, 3]]);
        await settleAll(successor, claim, release);
      }
    },
  },

  "settle: Returns `false` for a claim that was lost: nothing changed.": {
    "the settle of a process that died says false, and changes nothing": async (bench) => {
      await storeAll(bench.inbox, mail([one("a"), one("b")]));
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
