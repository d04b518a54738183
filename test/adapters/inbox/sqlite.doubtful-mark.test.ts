import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { StorageError, type Claim, type ClaimRules, type WorkingInbox } from "hookline/adapter";
import { expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { decodeMark } from "../../../adapters/inbox/sqlite/thread/running-mark.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { deferred, turns, until } from "../../support/event-loop.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { telling } from "./observed-thread.ts";
import { folderFor, onDisk } from "./on-disk.ts";
import { ALL, HOUR, later, named, recordIn } from "./retries.ts";

/** SQLite's SQLITE_FULL. */
const FULL = 13;
const RULES: Omit<ClaimRules, "isHeld" | "version"> = {
  fairness: "account",
  perAccount: () => 10,
  isPaused: () => false,
  isPausing: false,
  resumed: 0,
};
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

test("a job that may have no row in the file stays in a memory that is full, and runs as soon as its account may", async () => {
  const channels = faultyChannels();
  let fails = false;
  let failed = 0;
  const opened = telling(channels.open, ({ tasks }) => {
    if (!fails || !tasks.some(({ verb }) => verb === "unclaim")) return;
    failed += 1;
    channels.next({ errcode: FULL });
  });
  const { inbox, clock } = await onDisk({ maxJobs: 4, openThread: opened });
  let version = 0;
  const isHeld: ClaimRules["isHeld"] = (_, account) => version === 1 && account === 1;
  const claim = async () => (await inbox.claim({ ...ALL, rules: { ...RULES, version, isHeld } })).claims;
  const ran: string[] = [];
  const runSome = async (): Promise<void> => {
    const claims = await claim().catch((): Claim[] => []);
    ran.push(...claims.map(({ jobs: [job] }) => recordIn(job.delivery.body, job.entry)));
    if (claims.length > 0) await inbox.settle(claims.map((one) => ({ claim: one, outcomes: [{ to: "done" }] })));
  };
  await claim();
  await inbox.store([mail(named("filler", 3), { accountId: 3 })]);
  await inbox.settle((await claim()).map((one) => ({ claim: one, outcomes: [later(clock, HOUR)] })));
  await claim();
  await inbox.store([mail(["held"], { accountId: 1 })]);
  [version, fails] = [1, true];
  expect(await claim().catch(() => [])).toEqual([]);
  await until(() => failed > 0);
  await inbox.store([mail(["refused"], { accountId: 2 })]);
  version = 2;
  await runSome();
  fails = false;
  await inbox.store([mail(["last"], { accountId: 2 })]);
  while (!ran.includes("last")) await runSome();
  expect(ran).toContain("held");
});
