import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import type { InboxPromises } from "./fixture.ts";

const DAY_MS = 86_400_000;
const gone = { subscription: 5, source: undefined, reason: "gone" };
/** Nothing makes it shorter. */
const LONG = Array.from({ length: 100 }, (_, place) => createHash("sha256").update(`${place}`).digest("hex")).join("");
const ofCrm = { subscription: 5, source: "crm", reason: "of crm" };

export const tombstones: InboxPromises = {
  "isEmpty: True when there are no tombstones: no lookup is needed.": {
    "it is true at first, and not while one stands": async ({ inbox: { tombstones: stones } }) => {
      assert.deepEqual([stones.isEmpty, stones.find(5, undefined), await stones.list()], [true, undefined, []]);
      await stones.put(gone);
      assert.equal(stones.isEmpty, false);
    },

    "it is true again when the last one was lifted": async ({ inbox: { tombstones: stones } }) => {
      await stones.put(gone);
      await stones.lift(5, undefined);
      assert.equal(stones.isEmpty, true);
    },
  },

  "put: Without a source the tombstone is for every source.": {
    "one without a source is found for each": async ({ inbox: { tombstones: stones }, clock }) => {
      await stones.put(gone);
      const stone = { ...gone, since: clock.now(), lastHit: clock.now() };
      assert.deepEqual([stones.find(5, undefined), stones.find(5, "crm")], [stone, stone]);
      assert.equal(stones.find(6, undefined), undefined);
    },

    "one with a source stands for that one alone": async ({ inbox: { tombstones: stones } }) => {
      await stones.put(ofCrm);
      assert.equal(stones.find(5, "crm")?.reason, "of crm");
      assert.deepEqual([stones.find(5, "shop"), stones.find(5, undefined)], [undefined, undefined]);
    },

    "the empty source is one like any other": async ({ inbox: { tombstones: stones } }) => {
      await stones.put({ ...gone, source: "" });
      assert.deepEqual(
        [stones.find(5, "")?.source, stones.find(5, "crm"), stones.find(5, undefined)],
        ["", undefined, undefined],
      );
      assert.equal((await stones.list())[0]?.source, "");
      await stones.lift(5, "crm");
      assert.equal(stones.find(5, "")?.reason, "gone");
      await stones.lift(5, "");
      assert.equal(stones.find(5, ""), undefined);
    },

    "a source is of any length, and another one that begins as it does is another one": async ({ inbox, restart }) => {
      const { tombstones: stones } = inbox;
      const source = `${LONG} b`;
      await stones.put({ ...gone, source });
      await restart();
      assert.deepEqual([stones.find(5, source)?.source, stones.find(5, LONG)], [source, undefined]);
      await stones.lift(5, source);
      assert.equal(stones.find(5, source), undefined);
    },

    "of two, the one of the source is found": async ({ inbox: { tombstones: stones } }) => {
      await stones.put(gone);
      await stones.put(ofCrm);
      assert.deepEqual([stones.find(5, "crm")?.reason, stones.find(5, "shop")?.reason], ["of crm", "gone"]);
      assert.equal((await stones.list()).length, 2);
    },

    "put again has the new reason": async ({ inbox: { tombstones: stones } }) => {
      await stones.put(ofCrm);
      await stones.put({ ...ofCrm, reason: "new" });
      assert.deepEqual(
        (await stones.list()).map(({ reason }) => reason),
        ["new"],
      );
    },
  },

  "lift: Without a source: every tombstone of the subscription.": {
    "with a source it takes that one alone": async ({ inbox: { tombstones: stones } }) => {
      await stones.put(gone);
      await stones.put(ofCrm);
      await stones.lift(5, "crm");
      assert.equal(stones.find(5, "crm")?.reason, "gone");
    },

    "without one it takes all of the subscription, and no other's": async ({ inbox: { tombstones: stones } }) => {
      for (const source of [undefined, "crm", "shop"]) await stones.put({ ...gone, source });
      await stones.put({ ...gone, subscription: 55 });
      await stones.lift(5, undefined);
      assert.deepEqual(
        (await stones.list()).map(({ subscription }) => subscription),
        [55],
      );
      assert.equal(stones.find(5, "crm"), undefined);
    },

    "what is not there is no matter": async ({ inbox: { tombstones: stones } }) => {
      await stones.lift(5, "crm");
      assert.equal(stones.isEmpty, true);
    },
  },

  "find: Synchronous, from a cache at most 1 s old; a hit keeps the tombstone for another 30 days.": {
    "it is lifted 30 days after its last hit": async ({ inbox: { tombstones: stones }, clock }) => {
      await stones.put(gone);
      await clock.advance(30 * DAY_MS - 1);
      assert.notEqual(stones.find(5, "crm"), undefined);
      await clock.advance(30 * DAY_MS - 1);
      const [stone] = await stones.list();
      assert.equal(stone?.lastHit, clock.now() - 30 * DAY_MS + 1);
      assert.equal(stones.find(5, undefined)?.since, clock.now() - 60 * DAY_MS + 2);
      await clock.advance(30 * DAY_MS);
      assert.deepEqual([stones.find(5, undefined), await stones.list()], [undefined, []]);
    },

    "a steady stream of hits keeps it, also after a restart": async ({ inbox, clock, restart }) => {
      await inbox.tombstones.put(gone);
      for (let hits = 0; hits < 31 * 48; hits += 1) {
        clock.jump(DAY_MS / 48);
        assert.notEqual(inbox.tombstones.find(5, undefined), undefined);
      }
      const lastHit = clock.now();
      assert.equal((await inbox.tombstones.list())[0]?.lastHit, lastHit);
      await restart();
      assert.notEqual(inbox.tombstones.find(5, undefined), undefined);
    },
  },

  "list: All tombstones that have not expired.": {
    "each with its reason and its times": async ({ inbox: { tombstones: stones }, clock }) => {
      const now = clock.now();
      await stones.put(ofCrm);
      assert.deepEqual(await stones.list(), [{ ...ofCrm, since: now, lastHit: now }]);
    },
  },
};
