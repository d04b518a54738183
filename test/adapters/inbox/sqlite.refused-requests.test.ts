import { NOTHING_ERASED, StorageError } from "hookline/adapter";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox, type SqliteOptions } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { createOperations } from "../../../adapters/inbox/sqlite/thread/operations.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { findAll, storeAll } from "../../suites/inbox/verbs.ts";
import { watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { changeFile } from "./damaged-file.ts";
import { openInline } from "./inline-thread.ts";
import { folderFor } from "./on-disk.ts";

const BUSY = { code: "ERR_SQLITE_ERROR", message: "database is locked", fix: undefined, errcode: 5 };

async function bench(openThread: SqliteOptions["openThread"] = openInline) {
  const file = `${folderFor()}/inbox.db`;
  const log = logRecorder();
  const opened = await openBench({ make: () => createSqliteInbox({ file, openThread }) }, undefined, log.logger);
  onTestFinished(() => opened.end());
  return { ...opened, file, log };
}

test("a file that another program holds again and again is no reason to refuse a request", async () => {
  let busy = 0;
  const { inbox, clock, log } = await bench(async (...given) => {
    const channel = await openInline(...given);
    return {
      ...channel,
      async run(batch) {
        const isHeld = batch.tasks.some(({ verb }) => verb === "runRequest") && busy < 7;
        if (isHeld) busy += 1;
        return isHeld ? batch.tasks.map(() => ({ error: BUSY })) : channel.run(batch);
      },
    };
  });
  await storeAll(inbox, mail(["a", "b"], { accountId: 7 }));
  const erasing = watch(inbox.jobs.erase(7));
  await eventually(async () => {
    await clock.advance(250);
    expect(erasing.ended).toBe(true);
  });
  expect(busy).toBe(7);
  expect(erasing.value).toMatchObject({ count: 2 });
  expect(log.of("request-failed")).toEqual([]);
});

test("a request under which the commit thread ends twice is refused, and the next one is carried out", async () => {
  let deaths = 0;
  let isRefused = false;
  const { inbox, clock, log } = await bench(async (options, events) => {
    const channel = await openInline(options, events);
    return {
      ...channel,
      run(batch) {
        const has = (verb: string): boolean => batch.tasks.some((task) => task.verb === verb);
        isRefused ||= has("failRequest");
        if (isRefused || deaths >= 5 || !has("runRequest")) return channel.run(batch);
        deaths += 1;
        channel.abandon();
        const error = new StorageError("thread-lost", "The commit thread ended before it answered.");
        events.ended(error);
        return Promise.reject(error);
      },
    };
  });
  await storeAll(inbox, mail(["a"], { accountId: 7 }), mail(["b"], { accountId: 8 }));
  const [deadly, next] = [watch(inbox.jobs.erase(7)), watch(inbox.jobs.erase(8))];
  await eventually(async () => {
    await clock.advance(250);
    expect([deadly.ended, next.ended]).toEqual([true, true]);
  });
  expect(deadly.error).toMatchObject({ code: "request-failed" });
  expect(next.value).toMatchObject({ count: 1 });
  expect(log.of("request-failed")).toMatchObject([{ level: "error" }]);
  expect(deaths).toBe(2);
});

test("one that is refused is told in the log, with its id", async () => {
  const { inbox, clock, file, log } = await bench();
  await storeAll(inbox, mail(["a"]));
  changeFile(file, "CREATE TRIGGER no BEFORE DELETE ON delivery BEGIN SELECT RAISE(ABORT, 'no'); END");
  changeFile(file, "UPDATE delivery SET account = 7");
  const erasing = watch(inbox.jobs.erase(7));
  await eventually(async () => {
    await clock.advance(250);
    expect(erasing.ended).toBe(true);
  });
  expect(erasing.error).toMatchObject({ code: "request-failed" });
  const [id = ""] = /\d+/.exec(String(erasing.error)) ?? [];
  await eventually(() =>
    expect(log.of("request-failed")).toMatchObject([{ level: "error", facts: { requestId: id } }]),
  );
  expect(await findAll(inbox)).toHaveLength(1);
});

test("the one that failed is refused, by whoever works or has the lock, and no other", async () => {
  const { inbox, file } = await bench();
  await inbox.close();
  const db = new DatabaseSync(file);
  onTestFinished(() => db.close());
  const operations = createOperations(db, { dedupeWindowMs: 0 });
  operations.begin(undefined);
  const [first, second] = [1, 2].map((at) =>
    operations.addRequest({ verb: "erase", selection: { accountId: 7, erased: NOTHING_ERASED }, at }),
  );
  const failure = { id: second ?? 0, at: 3, error: "no" };
  const { epoch } = operations.requestState(0);
  expect(() => operations.failRequest({ ...failure, idleEpoch: epoch - 1 })).toThrow("Another process");
  expect(operations.failRequest({ ...failure, idleEpoch: epoch })).toBe(true);
  expect(operations.failRequest({ ...failure, idleEpoch: undefined })).toBe(false);
  expect(operations.nextRequest()).toBe(first);
});
