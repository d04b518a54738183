import assert from "node:assert/strict";
import type { NewDelivery } from "../../../src/inbox/port/delivery.ts";
import { mail, raw, told } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, drain, findAll, recordsOf, storeAll } from "./verbs.ts";

const open = { key: "tracking:1:7", content: "open" };
const other = { ...open, content: "other" };

const queued = (idInQueue: string, delivery: NewDelivery = mail([idInQueue])): NewDelivery => ({
  ...delivery,
  idInQueue,
});

export const deduplicating: InboxPromises = {
  "idInQueue: If the same was stored within the window of unique keys, nothing is stored.": {
    "what a queue brings again has no job and is not there, and what comes with it is stored": async ({ inbox }) => {
      await storeAll(inbox, queued("a"));
      const stored = await storeAll(inbox, mail(["x", "y"]), queued("a"), queued("b", mail(["b", "c"])), mail(["z"]));
      assert.deepEqual(
        stored.map(({ isRepeated }) => isRepeated),
        [undefined, true, undefined, undefined],
      );
      const claims = await claimAll(inbox);
      const ids = new Map(recordsOf(claims).map(([record], index) => [record, claims[index]?.jobs[0].deliveryId]));
      assert.equal(ids.size, 6);
      const [first, , third, fourth] = stored.map(({ id }) => id);
      assert.deepEqual(
        ["x", "y", "b", "c", "z"].map((record) => ids.get(record)),
        [first, first, third, third, fourth],
      );
    },

    "twice in one call, and in two calls that overlap, it is stored once": async ({ inbox }) => {
      const stored = await Promise.all([storeAll(inbox, queued("a"), queued("a")), storeAll(inbox, queued("a"))]);
      assert.equal(stored.flat().filter(({ isRepeated }) => isRepeated).length, 2);
      assert.equal((await findAll(inbox)).length, 1);
    },

    "where it waits to be expanded, too": async ({ inbox }) => {
      await storeAll(inbox, queued("a", raw(mail(["a"]))));
      const stored = await storeAll(
        inbox,
        queued("a", raw(mail(["a"]))),
        queued("b", raw(mail(["b"]))),
        queued("b"),
        queued("c"),
      );
      assert.deepEqual(
        stored.map(({ isRepeated, expanded }) => [isRepeated, expanded]),
        [
          [true, true],
          [undefined, false],
          [true, true],
          [undefined, false],
        ],
      );
      assert.equal((await inbox.unexpanded(10)).length, 3);
    },

    "the window begins when it is stored, and ends": async ({ inbox, clock, host }) => {
      await storeAll(inbox, queued("a"));
      await clock.advance(host.dedupeWindowMs - 1);
      assert.equal((await storeAll(inbox, queued("a")))[0]?.isRepeated, true);
      await clock.advance(1);
      assert.equal((await storeAll(inbox, queued("a")))[0]?.isRepeated, undefined);
    },
  },

  "duplicates: Same key, same content: no job was made.": {
    "the second one makes no job, and its delivery is expanded all the same": async ({ inbox }) => {
      const [first] = await storeAll(inbox, told(open));
      const [second] = await storeAll(inbox, told(open));
      assert.deepEqual([first?.duplicates, second?.duplicates, second?.expanded], [[], [0], true]);
      assert.equal((await findAll(inbox)).length, 1);
    },
  },

  "unique: If the same key was seen within the window, no job is made, unless the content differs.": {
    "two in one delivery are seen too": async ({ inbox }) => {
      const [stored] = await storeAll(inbox, told(open, { ...open, key: "tracking:1:8" }, open));
      assert.deepEqual(stored?.duplicates, [2]);
      assert.equal((await claimAll(inbox)).length, 2);
    },

    "two calls that overlap make one job": async ({ inbox }) => {
      const stored = await Promise.all([storeAll(inbox, told(open)), storeAll(inbox, told(open))]);
      assert.equal(stored.flat().flatMap(({ duplicates }) => duplicates).length, 1);
      assert.equal((await findAll(inbox)).length, 1);
    },

    "the window begins with the first one, and ends": async ({ inbox, clock, host }) => {
      await storeAll(inbox, told(open));
      await clock.advance(host.dedupeWindowMs - 1);
      assert.deepEqual((await storeAll(inbox, told(open)))[0]?.duplicates, [0]);
      await clock.advance(1);
      assert.deepEqual((await storeAll(inbox, told(open)))[0]?.duplicates, []);
    },

    "an event without a key is never a duplicate: two equal changes may be two edits": async ({ inbox }) => {
      const stored = await storeAll(inbox, mail(["a"]), mail(["a"]));
      assert.deepEqual(
        stored.map(({ duplicates }) => duplicates),
        [[], []],
      );
      assert.equal((await findAll(inbox)).length, 2);
    },

    "what was not expanded yet is not seen: the key is taken with its job": async ({ inbox }) => {
      const [first] = await storeAll(inbox, raw(told(open)), told(open));
      await inbox.expand([{ id: first?.id ?? "", events: told(open).events, cursor: undefined }]);
      const [second] = await inbox.unexpanded(1);
      const seen = await inbox.expand([{ id: second?.id ?? "", events: told(open).events, cursor: undefined }]);
      assert.deepEqual(seen, [{ duplicates: [0], conflicts: [] }]);
    },
  },

  "Expanded: Which events were seen before, by their index in the given array.": {
    "a duplicate does not hold up the rest of its delivery": async ({ inbox }) => {
      await storeAll(inbox, told(open));
      const [stored] = await storeAll(inbox, told({ key: "tracking:1:9", content: "open" }, open));
      assert.deepEqual(stored?.duplicates, [1]);
      assert.equal((await findAll(inbox)).length, 2);
    },

    "a duplicate between others leaves each of their jobs its own event": async ({ inbox }) => {
      const given = told(...["a", "b", "c", "d", "e"].map((content) => ({ key: `tracking:1:${content}`, content })));
      await storeAll(inbox, told(given.events[1]!.unique!), given);
      assert.deepEqual((await drain(inbox)).toSorted(), ["1", "1", "3", "4", "5"]);
    },

    "so it does where it is expanded later": async ({ inbox }) => {
      const given = told(...["a", "b", "c", "d", "e"].map((content) => ({ key: `tracking:1:${content}`, content })));
      const [, stored] = await storeAll(inbox, told(given.events[1]!.unique!), raw(given));
      await inbox.unexpanded(10);
      await inbox.expand([{ id: stored?.id ?? "", events: given.events, cursor: undefined }]);
      assert.deepEqual((await drain(inbox)).toSorted(), ["1", "1", "3", "4", "5"]);
    },

    "those stored before are told when they are expanded, by the index in their part": async ({ inbox }) => {
      const long = told({ key: "tracking:1:1", content: "open" }, { key: "tracking:1:2", content: "open" }, open);
      const deliveries = [told(open), told(open), told(other), long];
      const stored = await storeAll(inbox, ...deliveries.map(raw));
      const id = stored[3]?.id ?? "";
      const whole = stored
        .slice(0, 3)
        .map((each, index) => ({ id: each.id, events: deliveries[index]?.events ?? [], cursor: undefined }));
      const seen = await inbox.expand([...whole, { id, events: long.events.slice(0, 1), cursor: 1 }]);
      assert.deepEqual(seen, [
        { duplicates: [], conflicts: [] },
        { duplicates: [0], conflicts: [] },
        { duplicates: [], conflicts: [0] },
        { duplicates: [], conflicts: [] },
      ]);
      const rest = await inbox.expand([{ id, events: long.events.slice(1), cursor: undefined }]);
      assert.deepEqual(rest, [{ duplicates: [1], conflicts: [] }]);
    },
  },

  "conflicts: Same key, other content: jobs were made.": {
    "the same key with other content makes a job, and is told": async ({ inbox }) => {
      await storeAll(inbox, told(open));
      const [stored] = await storeAll(inbox, told(other));
      assert.deepEqual([stored?.duplicates, stored?.conflicts], [[], [0]]);
      assert.equal((await findAll(inbox)).length, 2);
    },

    "afterwards each of the contents is known": async ({ inbox }) => {
      await storeAll(inbox, told(open), told(other));
      const stored = await storeAll(inbox, told(open), told(other));
      assert.deepEqual(
        stored.map(({ duplicates }) => duplicates),
        [[0], [0]],
      );
    },

    "each content has a window of its own": async ({ inbox, clock, host }) => {
      await storeAll(inbox, told(open));
      await clock.advance(host.dedupeWindowMs / 2);
      await storeAll(inbox, told(other));
      await clock.advance(host.dedupeWindowMs / 2);
      const [again, first] = await storeAll(inbox, told(other), told(open));
      assert.deepEqual([again?.duplicates, again?.conflicts], [[0], []]);
      assert.deepEqual([first?.duplicates, first?.conflicts], [[], [0]]);
    },

    "a wall clock that was set back meanwhile shortens no window": async ({ inbox, clock, host }) => {
      await storeAll(inbox, told(open));
      clock.jump(-host.dedupeWindowMs / 2);
      await storeAll(inbox, told(other));
      clock.jump(host.dedupeWindowMs);
      const [stored] = await storeAll(inbox, told({ ...open, content: "a third one" }));
      assert.deepEqual([stored?.duplicates, stored?.conflicts], [[], [0]]);
    },
  },
};
