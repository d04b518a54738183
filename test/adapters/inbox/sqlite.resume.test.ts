import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import type { ThreadClient } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { createWorkerState } from "../../../adapters/inbox/sqlite/work/worker-state.ts";
import { StorageError } from "../../../src/errors.ts";
import { toLogger } from "../../../src/logger.ts";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { openInline } from "./inline-thread.ts";
import { folderFor, onDisk } from "./on-disk.ts";
import { HOUR, later, run } from "./retries.ts";

/** A file with a process that works on it. */
async function working() {
  const channel = await openInline(
    { file: join(folderFor(), "inbox.db"), name: "default", dedupeWindowMs: 1_000 },
    { counted() {}, converting() {}, changed() {}, ended() {} },
  );
  onTestFinished(() => channel.close());
  const owner = createWorkerState(() => ({ clock: { now: () => 0 }, log: toLogger(false) }));
  await owner.takeOver(channel);
  /** Its commits hold, and say that they failed: so it is where a sync fails. */
  const doubtful: ThreadClient = {
    ...channel,
    async run(batch) {
      await channel.run(batch);
      throw new StorageError("storage-failed", "EIO");
    },
  };
  return { channel, owner, doubtful };
}

test("a worker whose file was reopened by a commit that failed, and yet holds, is the worker still", async () => {
  const { channel, owner, doubtful } = await working();
  for (let failed = 0; failed < 3; failed += 1) await expect(owner.resume(doubtful)).rejects.toThrow("EIO");
  const { epoch: before } = owner;
  await owner.resume(channel);
  expect(owner.epoch).toBeGreaterThan(before ?? 0);
  await owner.resume(channel);
});

test("and is not where another process took over meanwhile, however often", async () => {
  const { channel, owner, doubtful } = await working();
  await expect(owner.resume(doubtful)).rejects.toThrow("EIO");
  const other = createWorkerState(() => ({ clock: { now: () => 0 }, log: toLogger(false) }));
  for (let taken = 0; taken < 3; taken += 1) {
    await other.takeOver(channel);
    await expect(owner.resume(channel)).rejects.toMatchObject({ code: "epoch-stale" });
  }
});

test("a delivery that comes while a full memory is read again makes no job run twice", async () => {
  const maxJobs = 4_000;
  let lose = (): void => {};
  let onPage = (): void => {};
  let pages = 0;
  const { inbox, clock, isReady } = await onDisk({
    maxJobs,
    async openThread(options, events) {
      const channel = await openThread(options, events);
      lose = () => {
        channel.abandon();
        events.ended(new StorageError("thread-lost", "the thread is gone"));
      };
      return {
        ...channel,
        async run(batch) {
          const result = await channel.run(batch);
          if (batch.tasks[0]?.verb === "openJobs" && (pages += 1) === 2) onPage();
          return result;
        },
      };
    },
  });
  const lanes = Array.from({ length: maxJobs / 2 }, (_, place) => `lane ${place}`);
  const both = lanes.flatMap((lane) => ["first", "second"].map((which) => ({ id: `${which} of ${lane}`, lane })));
  for (let from = 0; from < maxJobs; from += 500) await inbox.store([mail(both.slice(from, from + 500))]);
  await run(inbox, later(clock, HOUR));
  let answered = false;
  onPage = () => void inbox.store([mail(["meanwhile"])]).then(() => (answered = true));
  pages = 0;
  lose();
  await isReady();
  await eventually(() => expect(answered).toBe(true));
  clock.jump(HOUR);
  const names = (await run(inbox)).filter((name) => name !== "meanwhile");
  expect(names).toHaveLength(maxJobs);
  expect(new Set(names).size).toBe(maxJobs);
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
});

test.each([
  ["a job", "update job set lane = cast(lane as blob) where lane = 'a'", ["b"]],
  ["the window of a lane", "insert into lane_window values (x'00ff', 1, 1)", ["a", "b"]],
])("%s whose row becomes unreadable while it works keeps no new thread from going on", async (_, damage, left) => {
  let lose = (): void => {};
  const { inbox, clock, isReady, file } = await onDisk({
    async openThread(options, events) {
      const channel = await openThread(options, events);
      lose = () => {
        channel.abandon();
        events.ended(new StorageError("thread-lost", "the thread is gone"));
      };
      return channel;
    },
  });
  await inbox.store([
    mail([
      { id: "a", lane: "a" },
      { id: "b", lane: "b" },
    ]),
  ]);
  await run(inbox, later(clock, HOUR)); // now they have rows
  const db = new DatabaseSync(file);
  db.exec(damage);
  db.close();
  lose();
  await isReady();
  clock.jump(HOUR);
  expect(await run(inbox)).toEqual(left);
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0 });
});
