import type { JobOutcome, Settlement } from "hookline/adapter";
import { expect, test } from "vitest";
import { openThread, type ThreadClient } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { deferred, until } from "../../support/event-loop.ts";
import { claimOne, DONE, onDisk } from "./on-disk.ts";

/** SQLite's SQLITE_FULL: nothing changes, and the file is not doubted. */
const FULL = 13;

/** Real commit threads that stop before each commit of a settlement, until it is to hold or to fail. */
function stoppedThreads() {
  const stopped: ((holds: boolean) => void)[] = [];
  let commits = 0;

  async function open(...given: Parameters<typeof openThread>): Promise<ThreadClient> {
    const channel = await openThread(...given);
    return {
      ...channel,
      async run(batch) {
        if (!batch.tasks.some(({ verb }) => verb === "settle")) return channel.run(batch);
        const gate = deferred<boolean>();
        stopped.push(gate.resolve);
        commits += 1;
        if (await gate.promise) return channel.run(batch);
        return batch.tasks.map(() => ({
          error: { code: "ERR_SQLITE_ERROR", message: "no room", fix: undefined, errcode: FULL },
        }));
      },
    };
  }

  return {
    open,
    stands: (count: number) => until(() => commits === count),
    goOn: (holds: boolean) => stopped.shift()?.(holds),
  };
}

test("a settlement that changes nothing and fails leaves a claim to who settles it: it is written once", async () => {
  const threads = stoppedThreads();
  const { inbox } = await onDisk({ openThread: threads.open });
  await inbox.store([mail(["a"])]);
  const claim = await claimOne(inbox);
  if (claim === undefined) throw new Error("There is a job.");
  const settle = (outcome: JobOutcome): Promise<unknown> =>
    inbox.settle([{ claim, outcomes: [outcome] } satisfies Settlement]).catch(() => "failed");
  const first = settle(DONE);
  await threads.stands(1);
  const late = settle(DONE);
  threads.goOn(false);
  expect(await first).toBe("failed");
  await threads.stands(2);
  const again = settle({ to: "release" });
  threads.goOn(false);
  expect(await late).toBe("failed");
  const later = settle(DONE);
  await threads.stands(3);
  threads.goOn(true);
  expect([await again, await later]).toEqual([[true], [false]]);
  expect((await inbox.jobs.find({ limit: 10 })).jobs).toMatchObject([{ state: "waiting" }]);
});
