import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StorageError, type WorkingInbox } from "hookline/adapter";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { decodeMark } from "../../../adapters/inbox/sqlite/thread/running-mark.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { deferred, turns, until } from "../../support/event-loop.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { telling } from "./observed-thread.ts";
import { folderFor } from "./on-disk.ts";

const AHEAD = { max: 10, mergeMax: 10, ahead: () => 10 };

test("a job whose mark a commit of unknown outcome took back begins only when the file marks it again", async () => {
  const file = join(folderFor(), "inbox.db");
  const channels = faultyChannels();
  const reopening = deferred();
  let isAsked = false;
  const told = telling(channels.open, ({ tasks }) => {
    if (!isAsked && tasks.some(({ verb }) => verb === "unclaim")) channels.next("dies after");
  });
  const bench = await openBench({
    make: (): WorkingInbox =>
      createSqliteInbox({
        file,
        openThread: async (...given) => {
          if (channels.opened > 0) {
            isAsked = true;
            await reopening.promise;
          }
          return told(...given);
        },
      }),
  });
  onTestFinished(bench.end);
  const { inbox } = bench;
  const db = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => db.close());
  const marked = () =>
    [...decodeMark(db.prepare("SELECT mark FROM state").get()?.["mark"] as Uint8Array).entries()].map(({ id }) =>
      String(id),
    );
  await inbox.claim(AHEAD);
  for (const stored of await inbox.store([mail(["a"])])) expect(stored).not.toBeInstanceOf(StorageError);
  expect(marked()).toHaveLength(1);
  await until(() => isAsked);
  await turns();
  expect(marked()).toEqual([]);
  const { claims } = await inbox.claim(AHEAD).catch(() => ({ claims: [] as never[] }));
  const begun = claims.flatMap(({ jobs }: { jobs: readonly { id: string }[] }) => jobs.map(({ id }) => id));
  const inFile = marked();
  reopening.resolve();
  expect(begun.filter((id) => !inFile.includes(id))).toEqual([]);
});
