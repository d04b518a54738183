import fc from "fast-check";
import { expect, test } from "vitest";
import { MODULES } from "../../../src/emulator/sync-config/schemas.ts";
import { createSyncWorker } from "../../../src/emulator/sync-config/sync-worker.ts";
import { createVirtualClock } from "../../../src/emulator/virtual-clock.ts";

const SECOND_MS = 1_000;
/** A run by the second since its request; protocol 3 has the states, docs/emulator.md how long they last. */
const RUN = ["REQUESTED", "QUEUED", "EXECUTING", "EXECUTING", "EXECUTING", "EXECUTING", "EXECUTING"];

const move = fc.oneof(
  fc.constant({ do: "start" } as const),
  fc.record({ do: fc.constant("wait" as const), seconds: fc.integer({ min: 0, max: 9 }) }),
  fc.record({ do: fc.constant("allow" as const), modules: fc.subarray([...MODULES]) }),
);

test("a run and the review of modules go as protocol 3 says", async () => {
  await fc.assert(
    fc.asyncProperty(fc.boolean(), fc.array(move, { maxLength: 20 }), async (skipsReview, moves) => {
      const clock = createVirtualClock(0);
      const worker = createSyncWorker({ clock, skipsReview, problems: () => [] });
      let requestedAt: number | undefined;
      let inReview: readonly string[] = skipsReview ? [] : MODULES;
      let now = 0;
      for (const one of moves) {
        if (one.do === "start") {
          worker.start();
          requestedAt ??= now;
        } else if (one.do === "allow") {
          worker.allow(one.modules);
          inReview = inReview.filter((module) => !(one.modules as readonly string[]).includes(module));
        } else {
          await clock.advance(one.seconds * SECOND_MS, async () => {});
          now += one.seconds;
        }
        const state = requestedAt === undefined ? undefined : RUN[now - requestedAt];
        if (state === undefined) requestedAt = undefined;
        expect(worker.status()).toMatchObject({
          syncState: state ?? "IDLE",
          needReview: inReview.length === 0 ? null : inReview,
          userSyncEnabled: inReview.length < MODULES.length,
        });
      }
    }),
  );
});
