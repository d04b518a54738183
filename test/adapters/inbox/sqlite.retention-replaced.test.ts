import { existsSync, renameSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { StorageError } from "hookline/adapter";
import { expect, onTestFinished, test } from "vitest";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { eventually } from "../../support/eventually.ts";
import { KEEP_DONE_MS, MINUTE_MS, retentionBench } from "./retention-bench.ts";

test("where the file was moved away, what is done goes from the new one too, though its ids begin anew", async () => {
  const { inbox, mailNow, settleDue, pass, rows, file, clock, end } = await retentionBench({ openThread });
  onTestFinished(() => end());
  const storeAndSettle = async (name: string): Promise<boolean> => {
    const [stored] = await inbox.store(Array.from({ length: 5 }, (_, at) => mailNow(`${name} ${at}`)));
    if (stored instanceof StorageError) return false;
    await settleDue();
    return true;
  };
  const untilGone = (count: () => number): Promise<void> =>
    eventually(async () => {
      await pass(1);
      expect(count()).toBe(0);
    });
  expect(await storeAndSettle("old")).toBe(true);
  await clock.advance(KEEP_DONE_MS);
  await untilGone(() => rows("delivery"));
  for (const ending of ["", "-wal", "-shm"])
    if (existsSync(file + ending)) renameSync(file + ending, `${file}.old${ending}`);
  await eventually(async () => {
    await clock.advance(MINUTE_MS / 60);
    expect(existsSync(file)).toBe(true);
  });
  await eventually(async () => expect(await storeAndSettle("new")).toBe(true));
  const peek = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => peek.close());
  const left = (): number => Number(peek.prepare("SELECT count(*) AS n FROM delivery").get()?.["n"]);
  expect(left()).toBe(5);
  await clock.advance(KEEP_DONE_MS);
  await untilGone(left);
});
