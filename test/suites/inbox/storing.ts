import assert from "node:assert/strict";
import { mail, nobodys, one, raw, SKIPPED } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { assertGrowing, claimAll, drain, findAll, recordsIn, recordsOf, retry, settleAll, storeAll } from "./verbs.ts";

export const storing: InboxPromises = {
  "store: Resolves when all deliveries are durable; a StorageError in a place says that this delivery is perhaps not stored.":
    {
      "it answers each delivery in its place": async ({ inbox }) => {
        const stored = await storeAll(inbox, mail(["a"]), raw(mail(["b"])), mail(["c"]));
        const { jobs } = await inbox.jobs.find({ limit: 10 });
        const [waiting] = await inbox.unexpanded(1);
        assert.deepEqual([jobs[0]?.deliveryId, waiting?.id], [stored[0]?.id, stored[1]?.id]);
      },

      "nothing to keep is answered with nothing": async ({ inbox }) => {
        assert.deepEqual(await inbox.store([]), []);
      },
    },

  "store: A delivery is stored with all its jobs and unique keys atomically.": {
    "when it resolves, every job of every entry is there, in array order": async ({ inbox }) => {
      const two = [
        { consumer: "default", lane: "default a" },
        { consumer: "search", lane: "search a" },
      ];
      const [stored] = await storeAll(inbox, mail([{ id: "a", jobs: two }, "b", nobodys("c")]));
      const jobs = await findAll(inbox, { states: ["waiting", "unhandled"] });
      assert.deepEqual(
        jobs.map(({ deliveryId, entry, consumer }) => [deliveryId, entry, consumer]),
        [
          [stored?.id, 0, "default"],
          [stored?.id, 0, "search"],
          [stored?.id, 1, "default"],
          [stored?.id, 2, undefined],
        ],
      );
    },

    "what is asked before it resolves sees all of a delivery or nothing": async ({ inbox }) => {
      const answer = inbox.store([mail(["a", "b", "c"]), mail(["d", "e"])]);
      const [early] = await Promise.all([findAll(inbox), answer]);
      const [late, counts] = [await findAll(inbox), new Map<string, number>()];
      for (const { deliveryId } of early) counts.set(deliveryId, (counts.get(deliveryId) ?? 0) + 1);
      for (const [deliveryId, count] of counts)
        assert.equal(count, late.filter((job) => job.deliveryId === deliveryId).length, "half a delivery was seen");
      assert.equal(late.length, 5);
    },
  },

  "store: Ids grow in the order of the array.": {
    "ids of deliveries grow, over several calls too": async ({ inbox }) => {
      const stored = await storeAll(inbox, mail(["a"]), raw(mail(["b"])), mail(["c"]));
      const more = await storeAll(inbox, mail(["d"]));
      assertGrowing(
        [...stored, ...more].map(({ id }) => id),
        "ids of deliveries",
      );
    },

    "ids of jobs grow in the order in which they were made": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), one("b")]), mail([one("c")]));
      await storeAll(inbox, mail([one("d")]));
      assertGrowing(
        (await findAll(inbox)).map(({ id }) => id),
        "ids of jobs",
      );
      assert.deepEqual(await recordsIn(inbox), ["a", "b", "c", "d"]);
    },

    "calls that overlap keep the order of each array": async ({ inbox }) => {
      const [first, second] = await Promise.all([
        storeAll(inbox, ...["a", "b", "c"].map((id) => mail([one(id)]))),
        storeAll(inbox, ...["d", "e"].map((id) => mail([one(id)]))),
      ]);
      for (const stored of [first, second])
        assertGrowing(
          stored.map(({ id }) => id),
          "ids of deliveries",
        );
      const order = await drain(inbox);
      assert.deepEqual(order.filter((id) => "abc".includes(id)).join(""), "abc");
      assert.deepEqual(order.filter((id) => "de".includes(id)).join(""), "de");
    },

    "lanes have the order of ids: entries in array order, deliveries in the order of commit": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), one("b")]), mail([one("c")]));
      await storeAll(inbox, mail([one("d")]));
      assert.deepEqual(await drain(inbox), ["a", "b", "c", "d"]);
    },
  },

  "store: Events become jobs only if no older delivery is unexpanded; else the delivery is stored unexpanded.": {
    "with its events and nothing older unexpanded, a delivery is expanded at once": async ({ inbox }) => {
      const [stored] = await storeAll(inbox, mail([one("a"), one("b"), one("c")]));
      assert.equal(stored?.expanded, true);
      assert.deepEqual(await inbox.unexpanded(10), []);
      assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
    },

    "behind an unexpanded one it stays unexpanded, its events given or not": async ({ inbox }) => {
      await storeAll(inbox, raw(mail(["a"])));
      const [stored] = await storeAll(inbox, mail(["b"]));
      assert.equal(stored?.expanded, false);
      assert.deepEqual(await claimAll(inbox), []);
      assert.equal((await inbox.unexpanded(10)).length, 2);
    },

    "that holds within one call too": async ({ inbox }) => {
      const stored = await storeAll(inbox, mail(["a"]), raw(mail(["b"])), mail(["c"]));
      assert.deepEqual(
        stored.map(({ expanded }) => expanded),
        [true, false, false],
      );
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
    },

    "once all are expanded, keep expands at once again": async ({ inbox }) => {
      const first = mail(["a"]);
      const [stored] = await storeAll(inbox, raw(first));
      await inbox.expand([{ id: stored?.id ?? "", events: first.events, cursor: undefined }]);
      const [next] = await storeAll(inbox, mail(["b"]));
      assert.equal(next?.expanded, true);
    },
  },

  "events: Undefined: store the delivery unexpanded.": {
    "a delivery without its events makes no job, and waits with its bytes": async ({ inbox }) => {
      const given = mail(["a"], { source: "crm" });
      const [stored] = await storeAll(inbox, raw(given));
      assert.deepEqual({ ...stored, id: "" }, { id: "", expanded: false, duplicates: [], conflicts: [] });
      assert.deepEqual(await claimAll(inbox), []);
      const [waiting, ...others] = await inbox.unexpanded(10);
      assert.deepEqual([others, waiting?.id, waiting?.cursor], [[], stored?.id, 0]);
      assert.equal(Buffer.from(waiting?.delivery.body ?? []).equals(Buffer.from(given.delivery.body)), true);
      assert.deepEqual({ ...waiting?.delivery, body: 0 }, { ...given.delivery, body: 0 });
      assert.equal(inbox.stats().unexpanded, 1);
    },
  },

  "state: `skipped` and `unhandled` jobs have no consumer and are in no lane.": {
    "a job of nobody is not claimed": async ({ inbox }) => {
      const entries = [nobodys("a"), { id: "b", ...SKIPPED }];
      await storeAll(inbox, mail(entries));
      assert.deepEqual(await claimAll(inbox), []);
      assert.deepEqual([inbox.stats().unhandled, inbox.stats().waiting], [1, 0]);
    },
  },

  "lane: Undefined: the job waits for no other job.": {
    "jobs without a lane run side by side, and one that waits holds up no other": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, mail(["a", "b"].map((id) => ({ id, lane: undefined }))));
      const [first] = await claimAll(inbox, { max: 1 });
      assert.ok(first !== undefined);
      await settleAll(inbox, first, retry(bench, 5_000));
      assert.equal((await claimAll(inbox)).length, 1);
    },
  },

  "jobs: An event of a delivery with a job for each consumer.": {
    "each consumer has a job of its own, in a lane of its own": async ({ inbox }) => {
      const jobs = [
        { consumer: "default", lane: "default a" },
        { consumer: "search", lane: "search a" },
      ];
      await storeAll(inbox, mail([{ id: "a", jobs }]));
      const claims = await claimAll(inbox);
      assert.deepEqual(
        claims.map((claim) => claim.jobs[0].consumer),
        ["default", "search"],
      );
      assert.equal(new Set(claims.map((claim) => claim.jobs[0].deliveryId)).size, 1);
    },
  },
};
