import assert from "node:assert/strict";
import { mail, one } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, claimOne, countsOf, dead, die, done, recordsOf, retry, settleAll, storeAll } from "./verbs.ts";

/** Jobs over which the process died twice, and what keeps others from becoming such. */
export const poisonIsolation: InboxPromises = {
  "deaths: From two deaths on only a death while no other suspect ran counts.": {
    "two over which it dies together count an attempt each, and no death": async (bench) => {
      await storeAll(bench.inbox, mail(["a", "b"]));
      const twice = await die(bench, 2);
      await claimAll(twice, { suspects: true });
      const successor = await bench.succeed();
      const [first] = await claimAll(successor, { suspects: true });
      assert.ok(first !== undefined);
      assert.deepEqual(countsOf([first]), [[4, 2]]);
    },

    "one that was alone counts it, whatever else ran": async (bench) => {
      await storeAll(bench.inbox, mail(["a"]));
      const twice = await die(bench, 2);
      await storeAll(twice, mail(["b"]));
      const both = [...(await claimAll(twice, { suspects: true })), ...(await claimAll(twice))];
      assert.equal(both.length, 2);
      const successor = await bench.succeed();
      const claims = [...(await claimAll(successor, { suspects: true })), ...(await claimAll(successor))];
      assert.deepEqual(countsOf(claims), [
        [3, 3],
        [2, 1],
      ]);
    },
  },

  "suspects: Claims only suspects (jobs with two deaths), as many as may run together; otherwise none of them.": {
    "as many come as are asked for": async (bench) => {
      await storeAll(bench.inbox, mail(["a", "b", "c"]));
      const { claims, suspects } = await (await die(bench, 2)).claim({ max: 2, mergeMax: 10, suspects: true });
      assert.deepEqual([claims.length, suspects], [2, true]);
    },
  },

  "suspects: When the process dies while several suspects run, none of them counts a death, and half as many may run together next time.":
    {
      "a group is halved, and its halves outlive the process": async (bench) => {
        await storeAll(bench.inbox, mail(["a", "b", "c", "d", "e"]));
        let inbox = await die(bench, 2);
        for (const size of [5, 3]) {
          assert.equal((await claimAll(inbox, { suspects: true })).length, size);
          inbox = await bench.succeed();
        }
      },

      "one that may not be with so many waits for the next group": async (bench) => {
        await storeAll(bench.inbox, mail(["a", "b"]));
        const twice = await die(bench, 2);
        await claimAll(twice, { suspects: true });
        const halved = await bench.succeed();
        await storeAll(halved, mail(["c", "d"]));
        await claimAll(halved);
        await claimAll(await bench.succeed());
        const successor = await bench.succeed();
        const groups: number[] = [];
        for (let claims = await claimAll(successor, { suspects: true }); claims.length > 0;) {
          groups.push(claims.length);
          for (const claim of claims) await settleAll(successor, claim, done);
          claims = await claimAll(successor, { suspects: true });
        }
        assert.deepEqual(groups, [1, 1, 2]);
      },

      "a run that ended clears it: it may be with any number again": async (bench) => {
        await storeAll(bench.inbox, mail(["a", "b"]));
        await claimAll(await die(bench, 2), { suspects: true });
        const halved = await bench.succeed();
        for (let left = 2; left > 0; left -= 1) {
          const [claim] = await claimAll(halved, { suspects: true });
          assert.ok(claim !== undefined);
          await settleAll(halved, claim, retry(bench, 0));
        }
        const again = await die({ ...bench, inbox: halved }, 2);
        assert.equal((await claimAll(again, { suspects: true })).length, 2);
      },
    },

  "slots: How many of the runs start at once, the first ones; undefined: all. A job with one death is claimed only among those; else it and all jobs that became due after it wait. So few jobs become suspects if the process dies again.":
    {
      "it comes only where it can begin at once": async (bench) => {
        await storeAll(bench.inbox, mail(["a", "b"]));
        const successor = await die(bench, 1);
        const few = { max: 10, mergeMax: 10 };
        assert.deepEqual((await successor.claim({ ...few, slots: 0 })).claims, []);
        for (let left = 2; left > 0; left -= 1)
          assert.deepEqual(countsOf((await successor.claim({ ...few, slots: 1 })).claims), [[2, 1]]);
        await storeAll(successor, mail(["c"]));
        assert.deepEqual(recordsOf((await successor.claim({ ...few, slots: 0 })).claims), [["c"]]);
      },
    },

  "claim: A job with two deaths is claimed only on request, and alone.": {
    "it does not come by itself, and claim says that there is one": async (bench) => {
      await storeAll(bench.inbox, mail(["a"]));
      const successor = await die(bench, 2);
      await storeAll(successor, mail(["b"]));
      const { claims, suspects } = await successor.claim({ max: 10, mergeMax: 10 });
      assert.deepEqual([recordsOf(claims), suspects], [[["b"]], true]);
    },

    "asked for, it comes without the run behind it, and nothing else does": async (bench) => {
      await storeAll(bench.inbox, mail([one("a", "x"), one("b", "x")]));
      const successor = await die(bench, 2);
      await storeAll(successor, mail([one("c", "x"), "d"]));
      const { claims, suspects } = await successor.claim({ max: 10, mergeMax: 10, suspects: true });
      assert.deepEqual([recordsOf(claims), suspects], [[["a"]], false]);
      assert.deepEqual(countsOf(claims), [[3, 2]]);
    },

    "it ends the run in front of it": async (bench) => {
      await storeAll(bench.inbox, mail([one("a", "x"), one("b", "x")]));
      const successor = await die(bench, 2);
      const [claim] = await claimAll(successor, { suspects: true });
      assert.ok(claim !== undefined);
      await settleAll(successor, claim, retry(bench, 0)); // its run ended: it is none any more, b still is one
      assert.deepEqual(recordsOf([await claimOne(successor, 10)]), [["a"]]);
    },

    "its lane waits behind it": async (bench) => {
      await storeAll(bench.inbox, mail([one("a")]));
      const successor = await die(bench, 2);
      await storeAll(successor, mail([one("b")]));
      assert.deepEqual(await claimAll(successor), []);
      const [claim] = await claimAll(successor, { suspects: true });
      assert.ok(claim !== undefined);
      await settleAll(successor, claim, dead(bench));
      assert.deepEqual(recordsOf([await claimOne(successor)]), [["b"]]);
    },
  },
};
