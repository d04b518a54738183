import assert from "node:assert/strict";
import type { InboxCases } from "./bench.ts";

const DAY_MS = 86_400_000;

export const tombstones: InboxCases = {
  "there is none at first": async ({ inbox: { tombstones: stones } }) => {
    assert.deepEqual([stones.isEmpty, stones.find(5, undefined), await stones.list()], [true, undefined, []]);
  },

  "one without a source stands for every source": async ({ inbox: { tombstones: stones }, clock }) => {
    await stones.put({ subscription: 5, source: undefined, reason: "gone" });
    const stone = { subscription: 5, source: undefined, reason: "gone", since: clock.now(), lastHit: clock.now() };
    assert.deepEqual([stones.find(5, undefined), stones.find(5, "crm")], [stone, stone]);
    assert.equal(stones.find(6, undefined), undefined);
    assert.equal(stones.isEmpty, false);
  },

  "one with a source stands for that one alone": async ({ inbox: { tombstones: stones } }) => {
    await stones.put({ subscription: 5, source: "crm", reason: "gone" });
    assert.equal(stones.find(5, "crm")?.reason, "gone");
    assert.deepEqual([stones.find(5, "shop"), stones.find(5, undefined)], [undefined, undefined]);
  },

  "of two, the one of the source is found": async ({ inbox: { tombstones: stones } }) => {
    await stones.put({ subscription: 5, source: undefined, reason: "everywhere" });
    await stones.put({ subscription: 5, source: "crm", reason: "crm" });
    assert.deepEqual([stones.find(5, "crm")?.reason, stones.find(5, "shop")?.reason], ["crm", "everywhere"]);
    assert.equal((await stones.list()).length, 2);
  },

  "put again has the new reason": async ({ inbox: { tombstones: stones } }) => {
    await stones.put({ subscription: 5, source: "crm", reason: "old" });
    await stones.put({ subscription: 5, source: "crm", reason: "new" });
    assert.deepEqual(
      (await stones.list()).map(({ reason }) => reason),
      ["new"],
    );
  },

  "lift with a source takes that one": async ({ inbox: { tombstones: stones } }) => {
    await stones.put({ subscription: 5, source: undefined, reason: "everywhere" });
    await stones.put({ subscription: 5, source: "crm", reason: "crm" });
    await stones.lift(5, "crm");
    assert.equal(stones.find(5, "crm")?.reason, "everywhere");
  },

  "lift without a source takes all of the subscription, and no other's": async ({ inbox: { tombstones: stones } }) => {
    for (const source of [undefined, "crm", "shop"]) await stones.put({ subscription: 5, source, reason: "gone" });
    await stones.put({ subscription: 55, source: undefined, reason: "gone" });
    await stones.lift(5, undefined);
    assert.deepEqual(
      (await stones.list()).map(({ subscription }) => subscription),
      [55],
    );
    assert.equal(stones.find(5, "crm"), undefined);
  },

  "lift of what is not there does nothing": async ({ inbox: { tombstones: stones } }) => {
    await stones.lift(5, "crm");
    assert.equal(stones.isEmpty, true);
  },

  "one is lifted 30 days after its last hit": async ({ inbox: { tombstones: stones }, clock }) => {
    await stones.put({ subscription: 5, source: undefined, reason: "gone" });
    await clock.advance(30 * DAY_MS - 1);
    assert.notEqual(stones.find(5, "crm"), undefined);
    await clock.advance(30 * DAY_MS - 1);
    const [stone] = await stones.list();
    assert.equal(stone?.lastHit, clock.now() - 30 * DAY_MS + 1);
    assert.equal(stones.find(5, undefined)?.since, clock.now() - 60 * DAY_MS + 2);
    await clock.advance(30 * DAY_MS);
    assert.deepEqual([stones.find(5, undefined), await stones.list()], [undefined, []]);
  },
};
