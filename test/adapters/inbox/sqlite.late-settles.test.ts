import type { Settlement } from "hookline/adapter";
import { expect, test } from "vitest";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { until } from "../../support/event-loop.ts";
import { claimOne, onDisk } from "./on-disk.ts";

/** SQLite's SQLITE_FULL. */
const FULL = { error: { code: "ERR_SQLITE_ERROR", message: "no", fix: undefined, errcode: 13 } };

/** A claim of the first of two jobs of a lane, and an inbox whose next settle waits. */
async function claimed() {
  const held = Promise.withResolvers<"fails" | "holds">();
  let isHeld = false;
  const { inbox } = await onDisk({
    async openThread(...given) {
      const channel = await openThread(...given);
      return {
        ...channel,
        async run(batch) {
          if (isHeld || !batch.tasks.some(({ verb }) => verb === "settle")) return channel.run(batch);
          isHeld = true;
          return (await held.promise) === "fails" ? batch.tasks.map(() => FULL) : channel.run(batch);
        },
      };
    },
  });
  await inbox.store([
    mail([
      { id: "a", lane: "one" },
      { id: "b", lane: "one" },
    ]),
  ]);
  const claim = await claimOne(inbox);
  if (claim === undefined) throw new Error("There is no claim.");
  const settlement: Settlement = { claim, outcomes: [{ to: "done" }] };
  const first = inbox.settle([settlement]);
  await until(() => isHeld);
  return { inbox, first, settlement, end: held.resolve };
}

test("a settle that is asked for again while the first one hangs holds where that fails, and its lane goes on", async () => {
  const { inbox, first, settlement, end } = await claimed();
  const second = inbox.settle([settlement]);
  end("fails");
  await expect(first).rejects.toMatchObject({ code: "disk-full" });
  expect(await second).toEqual([true]);
  expect(inbox.stats()).toMatchObject({ running: 0, waiting: 1 });
  expect(await claimOne(inbox)).toBeDefined();
});

test("a settle that is asked for again while the first one hangs settles nothing where that holds", async () => {
  const { inbox, first, settlement, end } = await claimed();
  const second = inbox.settle([settlement]);
  end("holds");
  expect(await Promise.all([first, second])).toEqual([[true], [false]]);
  expect(await claimOne(inbox)).toBeDefined();
});
