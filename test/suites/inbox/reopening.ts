import assert from "node:assert/strict";
import type { NewJob } from "../../../src/inbox/port/delivery.ts";
import { mail, nobodys } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, claimOne, drain, findAll, killAll, recordsOf, settleAll, storeAll, unhandled } from "./verbs.ts";

const job: NewJob = { state: "waiting", consumer: "default", lane: "one", mergeKey: undefined };

export const reopening: InboxPromises = {
  "unhandled: Unhandled jobs, in the order of ids.": {
    "page by page, with what a handler needs": async ({ inbox }) => {
      await storeAll(inbox, mail(["handled", nobodys("a"), nobodys("b")], { source: "crm" }));
      await settleAll(inbox, await claimOne(inbox), unhandled);
      const page = await inbox.jobs.unhandled({ limit: 2 });
      assert.deepEqual(
        page.map(({ entry, consumer, delivery }) => [entry, consumer, delivery.source]),
        [
          [0, "default", "crm"],
          [1, undefined, "crm"],
        ],
      );
      const rest = await inbox.jobs.unhandled({ limit: 2, after: page.at(-1)?.id });
      assert.deepEqual(
        rest.map(({ entry }) => entry),
        [2],
      );
      assert.deepEqual(await inbox.jobs.unhandled({ limit: 2, after: rest.at(-1)?.id }), []);
    },
  },

  "reopen: Replaces an unhandled job by jobs of its current consumers, atomically.": {
    "each of them comes, and the unhandled one is gone": async ({ inbox }) => {
      await storeAll(inbox, mail([nobodys("a")]));
      const [waiting] = await inbox.jobs.unhandled({ limit: 10 });
      const jobs = [job, { ...job, consumer: "search", lane: "search one" }];
      await inbox.jobs.reopen([{ id: waiting?.id ?? "", jobs }]);
      const claims = await claimAll(inbox);
      assert.deepEqual(recordsOf(claims), [["a"], ["a"]]);
      assert.deepEqual(
        claims.map(({ jobs: [{ consumer, replayOf, attempt }] }) => [consumer, replayOf, attempt]),
        [
          ["default", undefined, 1],
          ["search", undefined, 1],
        ],
      );
      assert.deepEqual([await inbox.jobs.unhandled({ limit: 10 }), inbox.stats().unhandled], [[], 0]);
    },

    "they keep their order": async ({ inbox }) => {
      await storeAll(inbox, mail(["a", "b", "c"].map(nobodys)));
      const page = await inbox.jobs.unhandled({ limit: 10 });
      await inbox.jobs.reopen(page.map(({ id }) => ({ id, jobs: [job] })));
      assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
    },

    "what is not unhandled, or not there, is left": async (bench) => {
      const { inbox } = bench;
      const [id] = await killAll(bench, "a");
      const replacements = [id ?? "", "999999"].map((each) => ({ id: each, jobs: [job] }));
      await inbox.jobs.reopen(replacements);
      assert.deepEqual(
        (await findAll(inbox)).map(({ state }) => state),
        ["dead"],
      );
    },

    "a second time makes nothing": async ({ inbox }) => {
      await storeAll(inbox, mail([nobodys("a")]));
      const [waiting] = await inbox.jobs.unhandled({ limit: 10 });
      for (let time = 0; time < 2; time += 1) await inbox.jobs.reopen([{ id: waiting?.id ?? "", jobs: [job] }]);
      assert.deepEqual(await drain(inbox), ["a"]);
    },
  },
};
