import { createReceiver, type AnyEvent } from "hookline";
import { StorageError, type Claim, type JobOutcome, type WorkingInbox } from "hookline/adapter";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { mail, one, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { openBench, type InboxBench } from "../../suites/inbox/fixture.ts";
import { claimAll, claimOne, done, firstAttempts, over, settleAll, storeAll } from "../../suites/inbox/verbs.ts";
import { turns, until } from "../../support/event-loop.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { signedRequest, tracked, trackingBody } from "../../support/make-delivery.ts";
import { idOf } from "../../support/rig.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { openInline } from "./inline-thread.ts";
import { crashSqliteInbox, mortalSqliteInbox } from "./mortal-sqlite-inbox.ts";
import { folderFor, onDisk } from "./on-disk.ts";

const RETRY_FOR_MS = 7_200_000;
/** More than the longest wait between two attempts. */
const GAP_MS = 660_000;

/** The lanes of which the file says that they have inherited. */
function windowsIn(file: string): unknown[] {
  const db = new DatabaseSync(file, { readOnly: true });
  const rows = db.prepare("SELECT lane FROM lane_window ORDER BY lane").all();
  db.close();
  return rows.map(({ lane }) => lane);
}

async function opened() {
  const file = join(folderFor(), "inbox.db");
  const make = (): WorkingInbox => mortalSqliteInbox({ file, openThread: openInline });
  const crash = async (inbox: WorkingInbox): Promise<WorkingInbox> => {
    await crashSqliteInbox(inbox);
    return make();
  };
  const bench = await openBench({ make, crash });
  onTestFinished(bench.end);
  return { bench, file, windows: () => windowsIn(file) };
}

/** Some jobs of which the first has died of its window. */
async function inherited(bench: InboxBench, entries: readonly MailEntry[]): Promise<void> {
  await storeAll(bench.inbox, mail(entries));
  const [claim] = await claimAll(bench.inbox, { max: 1 });
  await settleAll(bench.inbox, claim as Claim, over(bench));
}

test("20 events of one mail die within one window though the process dies meanwhile, and what comes then has its own", async () => {
  const file = join(folderFor(), "inbox.db");
  const clock = fakeClock(undefined, () => turns(20));
  const calls: number[] = [];
  let hangs = true;

  async function begin() {
    const inbox = mortalSqliteInbox({ file, openThread: openInline });
    const receiver = createReceiver({ secret: "s", inbox, clock, retryForMs: RETRY_FOR_MS, log: false });
    receiver.on(
      "tracking",
      (event: AnyEvent) => {
        const id = Number(idOf(event));
        calls.push(id);
        if (id === 10 && hangs) return new Promise(() => {});
        throw new Error("no");
      },
      { timeoutMs: 0 },
    );
    await receiver.start();
    return { inbox, receiver };
  }

  const first = await begin();
  const deliver = async (receiver: typeof first.receiver, ...ids: readonly number[]): Promise<void> => {
    const body = trackingBody(...ids.map((id) => tracked(id)));
    expect(await receiver.receive(signedRequest(body, { secret: "s", at: clock.date() }))).toMatchObject({
      status: 200,
    });
  };
  const last20 = Array.from({ length: 20 }, (_, index) => index + 1);
  await deliver(first.receiver, ...last20);
  await clock.advance(RETRY_FOR_MS + GAP_MS);
  await until(() => calls.includes(10));
  expect(first.inbox.stats()).toMatchObject({ dead: 9, waiting: 10, running: 1 });

  await crashSqliteInbox(first.inbox);
  hangs = false;
  const second = await begin();
  onTestFinished(async () => void (await second.receiver.close({ drainMs: 0 })));
  await until(() => second.inbox.stats().dead === 20);
  expect(calls.filter((id) => id !== 1)).toEqual([...last20.slice(1, 10), 10, ...last20.slice(10)]);
  expect(windowsIn(file)).toEqual([]);

  await deliver(second.receiver, 21, 22);
  await clock.advance(RETRY_FOR_MS - GAP_MS);
  await turns(20);
  expect([second.inbox.stats().dead, calls.includes(22)]).toEqual([20, false]);
  await clock.advance(2 * GAP_MS);
  await until(() => second.inbox.stats().dead === 22);
  expect([calls.filter((id) => id === 21).length > 10, calls.filter((id) => id === 22).length]).toEqual([true, 1]);
});

test("nothing is written of a window that nobody inherits, and nothing stays when the last one has", async () => {
  const { bench, windows } = await opened();
  await inherited(bench, [one("a")]);
  expect(windows()).toEqual([]);
  await inherited(bench, [one("b"), one("c")]);
  expect(windows()).toHaveLength(1);
  await settleAll(bench.inbox, await claimOne(bench.inbox), over(bench));
  expect(windows()).toEqual([]);
  await inherited(bench, [one("d"), one("e"), one("f")]);
  await settleAll(bench.inbox, await claimOne(bench.inbox), done);
  expect(windows()).toEqual([]);
});

test.each(["drop", "erase"] as const)("with all that inherit gone by `%s`, it is gone from the file", async (how) => {
  const { bench, windows } = await opened();
  const { inbox } = bench;
  await storeAll(inbox, mail([one("a"), one("b"), one("c")]), mail(LANE_OF_9, { accountId: 9 }));
  const outcomes = [over(bench)];
  await inbox.settle((await claimAll(inbox)).map((claim) => ({ claim, outcomes })));
  expect(windows()).toEqual(["nine", "one"]);
  const { jobs } = await inbox.jobs.find({ states: ["waiting"], limit: 9 });
  const ids = jobs.filter(({ lane }) => lane === "nine").map(({ id }) => id);
  await inbox.jobs.drop({ ids: ids.slice(0, 1) });
  expect(windows()).toEqual(["nine", "one"]);
  if (how === "drop") await inbox.jobs.drop({ ids });
  else await inbox.jobs.erase(9);
  expect(windows()).toEqual(["one"]);
});

test("whoever takes over clears away what nobody is left to inherit", async () => {
  const { bench, file, windows } = await opened();
  await inherited(bench, [one("a"), one("b")]);
  const db = new DatabaseSync(file);
  const last = Number(db.prepare("SELECT max(id) AS id FROM job").get()?.["id"]);
  db.prepare("INSERT INTO lane_window VALUES ('of nobody', 1, ?), ('of those before', 1, ?)").run(last, last);
  db.close();
  await storeAll(bench.inbox, mail([{ id: "c", lane: "of those before" }]));
  await bench.succeed();
  expect(windows()).toEqual(["one"]);
});

test("any text of a lane comes back with what it has inherited, over several pages", async () => {
  const { bench } = await opened();
  const odd = [
    '"quoted" \\ and not',
    "two\nlines",
    "ünï 🎈",
    "nul \u0000 in it",
    "nul \u0000 in another",
    "[1,null]",
    "",
  ];
  const lanes = [...odd, ...Array.from({ length: 1_100 }, (_, index) => `lane ${index}`)];
  await storeAll(bench.inbox, mail(lanes.flatMap((lane) => ["a", "b"].map((id) => ({ id, lane })))));
  const first = bench.clock.now();
  const claims = await claimAll(bench.inbox, { max: lanes.length });
  const outcomes: JobOutcome[] = [over(bench)];
  await bench.inbox.settle(claims.map((claim) => ({ claim, outcomes })));
  await bench.clock.advance(1_000);
  const successor = await bench.succeed();
  const again = await claimAll(successor, { max: lanes.length });
  expect(again).toHaveLength(lanes.length);
  expect(new Set(again.map(({ jobs: [job] }) => job.firstAttemptAt))).toEqual(new Set([first]));
});

test.each(["dies before", "dies after"] as const)(
  "where the commit thread %s a settle's commit, what is inherited is as the repetition says",
  async (fault) => {
    const channels = faultyChannels(openInline);
    const bench = await onDisk({ openThread: channels.open });
    const { inbox, clock, file, isReady } = bench;

    /** The lane's next, told twice. */
    async function settle(outcome: JobOutcome): Promise<void> {
      const claim = await claimOne(inbox);
      channels.next(fault);
      await expect(inbox.settle([{ claim, outcomes: [outcome] }])).rejects.toThrow(StorageError);
      await isReady();
      await settleAll(inbox, claim, outcome);
    }

    await storeAll(inbox, mail([one("a"), one("b"), one("c"), one("d")]));
    const first = clock.now();
    await settle(over(bench));
    expect(windowsIn(file)).toEqual(["one"]);
    await clock.advance(1_000);
    expect((await claimOne(inbox)).jobs[0].firstAttemptAt).toBe(first);
    await bench.restart();
    await settle(over(bench));
    expect(windowsIn(file)).toEqual(["one"]);
    await settle(done);
    expect(windowsIn(file)).toEqual([]);
    expect(await firstAttempts(inbox, over(bench))).toEqual([["d", clock.now()]]);
  },
);

const LANE_OF_9: readonly MailEntry[] = ["x", "y", "z"].map((id) => ({ id, lane: "nine" }));
