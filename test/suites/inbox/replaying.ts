import assert from "node:assert/strict";
import { mail, nobodys, one, told } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import {
  claimAll,
  claimOne,
  dead,
  done,
  findAll,
  killAll,
  recordsIn,
  recordsOf,
  settleAll,
  storeAll,
  unhandled,
} from "./verbs.ts";

export const replaying: InboxPromises = {
  "replay: Adds a new job at the tail of the lane for each, ignoring unique keys.": {
    "it comes behind what waits, fresh, and the dead one is gone": async (bench) => {
      const { inbox } = bench;
      const [id] = await killAll(bench, one("a"));
      await storeAll(inbox, mail([one("b")]));
      assert.equal(await inbox.jobs.replay({ ids: [id ?? ""] }), 1);
      assert.deepEqual(await findAll(inbox, { states: ["dead"] }), []);
      const first = await claimOne(inbox);
      assert.deepEqual(recordsOf([first]), [["b"]]);
      await settleAll(inbox, first, done);
      const { jobs } = await claimOne(inbox);
      assert.deepEqual([jobs[0].attempt, jobs[0].deaths, jobs[0].replayOf, jobs[0].entry], [1, 0, id, 0]);
      assert.ok(Number(jobs[0].id) > Number(id));
    },

    "an event that was seen before is replayed all the same": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, told({ key: "tracking:1:7", content: "open" }));
      await settleAll(inbox, await claimOne(inbox), dead(bench));
      assert.equal(await inbox.jobs.replay({ states: ["dead"] }), 1);
      assert.equal((await claimAll(inbox)).length, 1);
    },

    "replays merge with replays only": async (bench) => {
      const { inbox } = bench;
      const ids = [...(await killAll(bench, one("a", "x"))), ...(await killAll(bench, one("b", "x")))];
      await storeAll(inbox, mail([one("c", "x")]));
      assert.equal(await inbox.jobs.replay({ ids }), 2);
      await storeAll(inbox, mail([one("d", "x")]));
      const runs: string[][] = [];
      for (let left = 0; left < 3; left += 1) {
        const claim = await claimOne(inbox, 10);
        runs.push(...recordsOf([claim]));
        await settleAll(inbox, claim, ...claim.jobs.map(() => done));
      }
      assert.deepEqual(runs, [["c"], ["a", "b"], ["d"]]);
    },

    "a replay that dies again can be replayed again, and still merges with the others": async (bench) => {
      const { inbox } = bench;
      const [id] = await killAll(bench, one("a", "x"));
      await inbox.jobs.replay({ ids: [id ?? ""] });
      await settleAll(inbox, await claimOne(inbox), dead(bench));
      await killAll(bench, one("b", "x"));
      assert.equal(await inbox.jobs.replay({ states: ["dead"] }), 2);
      assert.deepEqual(recordsOf([await claimOne(inbox, 10)]), [["a", "b"]]);
    },
  },

  "replay: Takes settled and unhandled jobs that have a consumer.": {
    "it leaves what is not settled, and counts each job once": async (bench) => {
      const { inbox } = bench;
      const [id] = await killAll(bench, "a");
      await storeAll(inbox, mail(["running"]));
      await claimAll(inbox);
      await storeAll(inbox, mail(["waiting"]));
      const ids = (await findAll(inbox)).map((job) => job.id);
      assert.equal(await inbox.jobs.replay({ ids: [...ids, id ?? "", "999999"] }), 1);
      const jobs = await findAll(inbox);
      assert.deepEqual(
        jobs.map(({ state }) => state),
        ["running", "waiting", "waiting"],
      );
    },

    "it takes an unhandled job that has a consumer, not one of nobody": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), nobodys("b")]));
      await settleAll(inbox, await claimOne(inbox), unhandled);
      assert.equal(await inbox.jobs.replay({ states: ["unhandled", "dead"] }), 1);
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
      assert.equal(inbox.stats().unhandled, 1);
    },
  },

  "JobSelection: Jobs by ids, or by a query that names states.": {
    "replay and drop take what is named, and no more": async (bench) => {
      const { inbox } = bench;
      await killAll(bench, { id: "a", consumer: "search" }, "b", "c");
      assert.equal(await inbox.jobs.replay({ states: ["dead"], consumer: "search" }), 1);
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
      const [first] = await findAll(inbox, { states: ["dead"] });
      assert.equal(await inbox.jobs.drop({ ids: [first?.id ?? ""] }), 1);
      assert.deepEqual(await recordsIn(inbox, { states: ["dead"] }), ["c"]);
    },
  },

  "wake: There may be something to expand or to claim.": {
    "a replay wakes the worker": async (bench) => {
      const [id] = await killAll(bench, "a");
      bench.heard.woken = 0;
      await bench.inbox.jobs.replay({ ids: [id ?? ""] });
      assert.ok(bench.heard.woken > 0, "nobody was woken");
    },
  },
};
