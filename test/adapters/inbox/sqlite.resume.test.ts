import { join } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import type { ThreadClient } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { createWorkerState } from "../../../adapters/inbox/sqlite/work/worker-state.ts";
import { StorageError } from "../../../src/errors.ts";
import { toLogger } from "../../../src/logger.ts";
import { openInline } from "./inline-thread.ts";
import { folderFor } from "./on-disk.ts";

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
