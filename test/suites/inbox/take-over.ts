import assert from "node:assert/strict";
import { mail, one, raw, told } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import {
  claimAll,
  claimOne,
  done,
  drain,
  firstAttempts,
  over,
  recordsIn,
  retry,
  settleAll,
  storeAll,
} from "./verbs.ts";

export const takeOver: InboxPromises = {
  "store: Resolves when all deliveries are durable; a StorageError in a place says that this delivery is perhaps not stored.":
    {
      "a successor finds all that was stored, in its order, and nothing that was done": async (bench) => {
        const { inbox } = bench;
        await storeAll(inbox, mail([one("a"), one("b"), one("c")]));
        await settleAll(inbox, await claimOne(inbox), done);
        const successor = await bench.succeed();
        assert.deepEqual(await drain(successor), ["b", "c"]);
      },

      "a successor finds unexpanded deliveries, with the cursor of the last part that was expanded": async (bench) => {
        const long = mail(["a", "b", "c"]);
        const [stored] = await storeAll(bench.inbox, raw(long), raw(mail(["d"])));
        await bench.inbox.expand([{ id: stored?.id ?? "", events: long.events.slice(0, 2), cursor: 2 }]);
        const successor = await bench.succeed();
        assert.deepEqual(
          (await successor.unexpanded(10)).map(({ cursor }) => cursor),
          [2, 0],
        );
        assert.deepEqual(await recordsIn(successor), ["a", "b"]);
      },

      "a successor finds a retry with its time, its attempts and its error": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail(["a"]));
        await settleAll(inbox, await claimOne(inbox), retry(bench, 60_000));
        const successor = await bench.succeed();
        assert.deepEqual(await claimAll(successor), []);
        await clock.advance(60_000);
        const [job] = (await claimOne(successor)).jobs;
        assert.deepEqual([job.attempt, job.deaths], [2, 0]);
      },

      "a successor finds what a lane has inherited, and for whom": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail([one("a"), one("b"), one("c")]));
        const first = clock.now();
        await settleAll(inbox, await claimOne(inbox), over(bench));
        await storeAll(inbox, mail([one("d")]));
        await clock.advance(1_000);
        const successor = await bench.succeed();
        assert.deepEqual(await firstAttempts(successor, over(bench)), [
          ["b", first],
          ["c", first],
          ["d", clock.now()],
        ]);
      },

      "a successor finds that a lane inherits no more": async (bench) => {
        const { inbox, clock } = bench;
        await storeAll(inbox, mail([one("a"), one("b"), one("c")]));
        await settleAll(inbox, await claimOne(inbox), over(bench));
        await settleAll(inbox, await claimOne(inbox), done);
        await clock.advance(1_000);
        const successor = await bench.succeed();
        assert.deepEqual(await firstAttempts(successor, over(bench)), [["c", clock.now()]]);
      },

      "a successor finds the unique keys that were seen, and the tombstones": async (bench) => {
        const open = told({ key: "tracking:1:7", content: "open" });
        const queued = { ...mail(["a"]), idInQueue: "a" };
        await storeAll(bench.inbox, open, queued);
        await bench.inbox.tombstones.put({ subscription: 5, source: undefined, reason: "gone" });
        const successor = await bench.succeed();
        assert.deepEqual((await storeAll(successor, open))[0]?.duplicates, [0]);
        assert.equal((await storeAll(successor, queued))[0]?.isRepeated, true);
        assert.equal(successor.tombstones.find(5, undefined)?.reason, "gone");
      },
    },
};
