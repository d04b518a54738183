import assert from "node:assert/strict";
import { mail, one } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import {
  claimOne,
  dead,
  done,
  findAll,
  firstAttempts,
  over,
  release,
  retry,
  settleAll,
  storeAll,
  unhandled,
} from "./verbs.ts";

export const laneWindow: InboxPromises = {
  "ofWindow: Jobs that wait in its lane at that moment, or were claimed with it, inherit the time of its first attempt, unless it had inherited that time itself.":
    {
      "what waits is claimed with that time, and counts its own attempts": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail([one("a"), one("b")]));
        const first = clock.now();
        await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
        await clock.advance(5_000);
        await settleAll(inbox, await claimOne(inbox), over(bench));
        await clock.advance(1_000);
        const [job] = (await claimOne(inbox)).jobs;
        assert.deepEqual([job.attempt, job.firstAttemptAt], [1, first]);
      },

      "what was stored while it ran, too": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail([one("a")]));
        const first = clock.now();
        const claim = await claimOne(inbox);
        await storeAll(inbox, mail([one("b")]));
        clock.jump(1_000);
        await settleAll(inbox, claim, over(bench));
        assert.deepEqual(await firstAttempts(inbox, done), [["b", first]]);
      },

      "what was claimed with it, too": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail([one("a", "x")]));
        const first = clock.now();
        await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
        await storeAll(inbox, mail([one("b", "x")]));
        await clock.advance(5_000);
        await settleAll(inbox, await claimOne(inbox, 2), over(bench), retry(bench, 1_000));
        await clock.advance(1_000);
        const [job] = (await claimOne(inbox, 2)).jobs;
        assert.deepEqual([job.attempt, job.firstAttemptAt], [2, first]);
      },

      "one that was tried earlier still keeps its own": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail([one("a", "x"), one("b", "x")]));
        const first = clock.now();
        await settleAll(inbox, await claimOne(inbox, 2), release, retry(bench, 0));
        await clock.advance(1_000);
        await settleAll(inbox, await claimOne(inbox), over(bench));
        const [job] = (await claimOne(inbox)).jobs;
        assert.deepEqual([job.attempt, job.firstAttemptAt], [2, first]);
      },

      "another lane's, or one of none, does not": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail([one("a"), { id: "b", lane: "another" }, { id: "c", lane: undefined }]));
        const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
        for (const claim of claims) await settleAll(inbox, claim, over(bench));
        await clock.advance(1_000);
        const times = (await firstAttempts(inbox, over(bench))).map(([, at]) => at);
        assert.deepEqual(times, [clock.now(), clock.now()]);
      },

      "one that is dead of something else leaves nothing": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail([one("a"), one("b")]));
        await settleAll(inbox, await claimOne(inbox), dead(bench));
        await clock.advance(1_000);
        assert.deepEqual(await firstAttempts(inbox, done), [["b", clock.now()]]);
      },

      "nor does anything but an end of its time change it": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail(["a", "b", "c", "d", "e", "f"].map((id) => one(id))));
        const first = clock.now();
        await settleAll(inbox, await claimOne(inbox), over(bench));
        await clock.advance(1_000);
        await settleAll(inbox, await claimOne(inbox), release);
        await settleAll(inbox, await claimOne(inbox), retry(bench, 0));
        await settleAll(inbox, await claimOne(inbox), dead(bench));
        await settleAll(inbox, await claimOne(inbox), unhandled);
        await inbox.jobs.drop({ ids: (await findAll(inbox, { states: ["waiting"] })).slice(0, 1).map(({ id }) => id) });
        assert.deepEqual(await firstAttempts(inbox, over(bench)), [
          ["e", first],
          ["f", first],
        ]);
      },
    },

  "ofWindow: Later jobs do not.": {
    "it has a time of its own, also where one that inherits ends while it waits": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail([one("a"), one("b")]));
      const first = clock.now();
      await settleAll(inbox, await claimOne(inbox), over(bench));
      await storeAll(inbox, mail([one("c")]));
      await clock.advance(1_000);
      assert.deepEqual(await firstAttempts(inbox, over(bench)), [
        ["b", first],
        ["c", clock.now()],
      ]);
    },

    "a replay of what was dead comes later": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail([one("a"), one("b")]));
      const first = clock.now();
      await settleAll(inbox, await claimOne(inbox), over(bench));
      await inbox.jobs.replay({ states: ["dead"] });
      await clock.advance(1_000);
      assert.deepEqual(await firstAttempts(inbox, over(bench)), [
        ["b", first],
        ["a", clock.now()],
      ]);
    },
  },

  "ofWindow: The inheritance ends when a job of the lane is done.": {
    "what waits behind that one has a time of its own": async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail([one("a"), one("b"), one("c")]));
      await settleAll(inbox, await claimOne(inbox), over(bench));
      await settleAll(inbox, await claimOne(inbox), done);
      await clock.advance(1_000);
      assert.deepEqual(await firstAttempts(inbox, over(bench)), [["c", clock.now()]]);
    },
  },
};
