import assert from "node:assert/strict";
import { mail, one, raw } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, drain, storeAll } from "./verbs.ts";

const NOTHING = { duplicates: [], conflicts: [] };

export const expanding: InboxPromises = {
  "unexpanded: The oldest deliveries that are not fully expanded, in order; none while there is no room for their jobs.":
    {
      "it gives the oldest first, at most as many as are asked for": async ({ inbox }) => {
        const stored = await storeAll(inbox, ...["a", "b", "c"].map((id) => raw(mail([id]))));
        assert.deepEqual(
          (await inbox.unexpanded(2)).map(({ id }) => id),
          stored.slice(0, 2).map(({ id }) => id),
        );
      },

      "asking takes nothing away": async ({ inbox }) => {
        await storeAll(inbox, raw(mail(["a"])));
        assert.deepEqual(await inbox.unexpanded(1), await inbox.unexpanded(1));
        assert.equal(inbox.stats().unexpanded, 1);
      },
    },

  "expand: Writes jobs, unique keys and the cursor of each stored delivery atomically.": {
    "it makes the jobs of several, in order": async ({ inbox }) => {
      const [first, second] = [mail([one("a"), one("b")]), mail([one("c")])];
      const stored = await storeAll(inbox, raw(first), raw(second));
      const seen = await inbox.expand([
        { id: stored[0]?.id ?? "", events: first.events, cursor: undefined },
        { id: stored[1]?.id ?? "", events: second.events, cursor: undefined },
      ]);
      assert.deepEqual(seen, [NOTHING, NOTHING]);
      assert.deepEqual([await inbox.unexpanded(10), inbox.stats().unexpanded], [[], 0]);
      assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
    },

    "what is stored meanwhile runs behind it": async ({ inbox }) => {
      const older = ["a", "b"].map((id) => mail([{ id, lane: "one" }]));
      const stored = await storeAll(inbox, ...older.map(raw));
      const newer = mail([{ id: "c", lane: "one" }]);
      const expansions = older.map(({ events }, index) => ({ id: stored[index]?.id ?? "", events, cursor: undefined }));
      await Promise.all([inbox.expand(expansions), storeAll(inbox, newer)]);
      const waiting = await inbox.unexpanded(10);
      await inbox.expand(waiting.map(({ id }) => ({ id, events: newer.events, cursor: undefined })));
      assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
    },

    "what is expanded already, or not there, makes nothing": async ({ inbox }) => {
      const delivery = mail(["a"]);
      const [stored] = await storeAll(inbox, raw(delivery));
      const expansion = { id: stored?.id ?? "", events: delivery.events, cursor: undefined };
      await inbox.expand([expansion]);
      assert.deepEqual(await inbox.expand([expansion]), [NOTHING]);
      await inbox.expand([{ ...expansion, id: "999999" }]);
      assert.deepEqual(await drain(inbox), ["a"]);
    },

    "each of its jobs says which delivery and entry it is of": async ({ inbox }) => {
      const delivery = mail(["a", "b"]);
      const [stored] = await storeAll(inbox, raw(delivery));
      await inbox.expand([{ id: stored?.id ?? "", events: delivery.events, cursor: undefined }]);
      assert.deepEqual(
        (await claimAll(inbox)).map(({ jobs: [{ deliveryId, entry }] }) => [deliveryId, entry]),
        [
          [stored?.id, 0],
          [stored?.id, 1],
        ],
      );
    },
  },

  "cursor: The next entry to expand; undefined when the delivery is fully expanded.": {
    "a long delivery is expanded in parts; until the last one nothing newer is": async ({ inbox }) => {
      const long = mail([one("a"), one("b"), one("c")]);
      const [stored] = await storeAll(inbox, raw(long));
      const id = stored?.id ?? "";
      await inbox.expand([{ id, events: long.events.slice(0, 2), cursor: 2 }]);
      // Without events from where it stood before: it moves nothing back.
      await inbox.expand([{ id, events: [], cursor: 0 }]);
      const [next] = await storeAll(inbox, mail([one("d")]));
      assert.equal(next?.expanded, false);
      const waiting = await inbox.unexpanded(10);
      assert.deepEqual(
        waiting.map((each) => [each.id, each.cursor]),
        [
          [id, 2],
          [next?.id, 0],
        ],
      );
      assert.deepEqual(await drain(inbox), ["a", "b"]);
      await inbox.expand([{ id, events: long.events.slice(2), cursor: undefined }]);
      assert.deepEqual(
        (await inbox.unexpanded(10)).map((each) => each.id),
        [next?.id],
      );
      assert.deepEqual(await drain(inbox), ["c"]);
    },
  },
};
