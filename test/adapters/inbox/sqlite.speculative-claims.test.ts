import { createReceiver, RetryLater } from "hookline";
import { StorageError, type WorkingInbox } from "hookline/adapter";
import { join } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { expect, onTestFinished, test } from "vitest";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { decodeMark } from "../../../adapters/inbox/sqlite/thread/running-mark.ts";
import type { Task } from "../../../adapters/inbox/sqlite/thread/transaction.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { openBench } from "../../suites/inbox/fixture.ts";
import { turns } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { faultyChannels } from "./faulty-thread.ts";
import { openInline } from "./inline-thread.ts";
import { crashSqliteInbox, mortalSqliteInbox } from "./mortal-sqlite-inbox.ts";
import { telling } from "./observed-thread.ts";
import { folderFor } from "./on-disk.ts";

/** What an event needs; retention comes when it likes. */
const ITS: ReadonlySet<Task["verb"]> = new Set(["store", "claim", "settle"]);
const AHEAD = { max: 10, mergeMax: 10, ahead: () => 10 };

/** What the file says may be running: ids. */
function markedIn(file: string): { read(): string[] } {
  const db = new DatabaseSync(file, { readOnly: true });
  onTestFinished(() => db.close());
  const mark = db.prepare("SELECT mark FROM state");
  return {
    read: () => [...decodeMark(mark.get()?.["mark"] as Uint8Array).entries()].map(({ id }) => String(id)),
  };
}

/** Channels whose commits are told by their verbs, and what is to be done while the next one runs. */
function noted(open: typeof openThread) {
  const commits: Task["verb"][][] = [];
  const beside: (() => void)[] = [];
  const channels = telling(open, ({ tasks }) => {
    commits.push(tasks.map(({ verb }) => verb));
    beside.shift()?.();
  });
  return { commits, beside, open: channels };
}

/** An inbox whose process can die, and whose commits are told. */
async function mortal() {
  const file = join(folderFor(), "inbox.db");
  const { open, ...told } = noted(openInline);
  const make = (): WorkingInbox => mortalSqliteInbox({ file, openThread: open });
  const crash = async (inbox: WorkingInbox): Promise<WorkingInbox> => {
    await crashSqliteInbox(inbox);
    return make();
  };
  const bench = await openBench({ make, crash });
  onTestFinished(bench.end);
  return { ...bench, ...told, marked: markedIn(file).read };
}

async function keep(inbox: WorkingInbox, ...entries: readonly string[]): Promise<void> {
  for (const stored of await inbox.store([mail(entries)])) expect(stored).not.toBeInstanceOf(Error);
}

/** Attempts and deaths of what can be claimed. */
async function countsAfterDeath({ succeed }: { succeed(): Promise<WorkingInbox> }): Promise<number[][]> {
  const { claims } = await (await succeed()).claim({ max: 10, mergeMax: 1 });
  return claims.flatMap(({ jobs }) => jobs.map(({ attempt, deaths }) => [attempt, deaths]));
}

test("an idle receiver needs two commits for an event: one that keeps it, and one that settles it", async () => {
  const { commits, open } = noted(openThread);
  const inbox = mortalSqliteInbox({ file: join(folderFor(), "inbox.db"), openThread: open });
  const receiver = createReceiver({ secret: "s", inbox, storeTimeoutMs: 60_000, log: false });
  onTestFinished(async () => void (await receiver.close()));
  receiver.on("email", () => {});
  await receiver.start();
  await receiver.idle();
  commits.splice(0);
  for (const id of ["a", "b"]) {
    const body = bodyOf({ payloads: [change(id)] });
    await receiver.receive(signedRequest(body, { secret: "s", at: new Date() }));
    await receiver.idle();
  }
  const its = commits.map((verbs) => verbs.filter((verb) => ITS.has(verb))).filter(({ length }) => length > 0);
  expect(its).toEqual([["store"], ["settle"], ["store"], ["settle"]]);
});

test("what has ended and what is claimed next go with one commit: a backlog needs fewer than two for a claim", async () => {
  const { commits, open } = noted(openInline);
  const inbox = mortalSqliteInbox({ file: join(folderFor(), "inbox.db"), openThread: open });
  const receiver = createReceiver({ secret: "s", inbox, storeTimeoutMs: 60_000, log: false });
  onTestFinished(async () => void (await receiver.close()));
  receiver.on("email", () => {}, { merge: false });
  const payloads = Array.from({ length: 10_000 }, (_, index) => change(`m-${index}`));
  await receiver.receive(signedRequest(bodyOf({ payloads }), { secret: "s", at: new Date() }));
  commits.splice(0);
  await receiver.start();
  await receiver.idle();
  const claims = commits.filter((verbs) => verbs.includes("claim")).length;
  const working = commits.filter((verbs) => verbs.some((verb) => verb === "settle" || verb === "claim")).length;
  expect(claims).toBeGreaterThan(5);
  expect(working).toBeLessThan(claims * 2);
});

test("what was stored while a claim had room runs without another commit, and its death counts", async () => {
  const { inbox, succeed, commits } = await mortal();
  await inbox.claim(AHEAD);
  await keep(inbox, "a", "b");
  const before = commits.length;
  const { claims } = await inbox.claim(AHEAD);
  expect(claims.map(({ jobs }) => jobs.length)).toEqual([1, 1]);
  expect(commits).toHaveLength(before);
  expect(await countsAfterDeath({ succeed })).toEqual([
    [2, 1],
    [2, 1],
  ]);
});

test("no more are marked than would be claimed at once", async () => {
  const { inbox, succeed } = await mortal();
  let room = 10;
  await inbox.claim({ ...AHEAD, ahead: () => room });
  room = 2; // when they are stored
  await keep(inbox, "a", "b", "c");
  expect(await countsAfterDeath({ succeed })).toEqual([
    [2, 1],
    [2, 1],
    [1, 0],
  ]);
});

test("what has to wait for its lane is not marked, be the other one running or stored with it", async () => {
  const { inbox, marked } = await mortal();
  await keep(inbox, "a");
  await inbox.claim(AHEAD);
  const running = marked();
  await keep(inbox, "a", "b", "b");
  expect(marked()).toHaveLength(2);
  expect(marked()).toContain(running[0]);
});

test("what nobody claims in time is taken back by commits of its own, and can be claimed as ever", async () => {
  const { inbox, succeed, commits, marked } = await mortal();
  await inbox.claim(AHEAD);
  await keep(inbox, "a");
  expect(marked()).toHaveLength(1);
  await eventually(() => expect(marked()).toEqual([]));
  await turns(20);
  const before = commits.length;
  const { claims } = await inbox.claim(AHEAD);
  expect(claims).toHaveLength(1);
  expect(commits.slice(before)).toEqual([["claim"]]);
  expect(await countsAfterDeath({ succeed })).toEqual([[2, 1]]);
});

test("what has run, and is to be tried again, is not marked any more", async () => {
  const { inbox, succeed } = await mortal();
  await inbox.claim(AHEAD);
  await keep(inbox, "a");
  const { claims } = await inbox.claim(AHEAD);
  const error = { name: "Error", message: "no", at: 1 };
  const outcomes = [{ to: "retry", at: 0, delayMs: 0, counted: true, error }] as const;
  expect(await inbox.settle(claims.map((claim) => ({ claim, outcomes })))).toEqual([true]);
  expect(await countsAfterDeath({ succeed })).toEqual([[2, 0]]);
});

test("what was stored by itself, because something beside it did not fit the tables, is marked when it is claimed", async () => {
  const { inbox, marked } = await mortal();
  await inbox.claim(AHEAD);
  const good = mail(["a"]);
  const bad = mail(["b"]);
  const unfit = { ...bad, delivery: { ...bad.delivery, signature: null as unknown as string } };
  const [stored, failed] = await inbox.store([good, unfit]);
  expect([stored, failed]).toEqual([expect.objectContaining({ expanded: true }), expect.any(StorageError)]);
  const { claims } = await inbox.claim(AHEAD);
  expect(marked()).toEqual(claims.map(({ jobs: [{ id }] }) => id));
});

test("what is claimed only while the next commit runs stays marked", async () => {
  const { inbox, beside, commits, marked } = await mortal();
  await inbox.claim(AHEAD);
  await keep(inbox, "a");
  const before = commits.length;
  const { claims } = await new Promise<Awaited<ReturnType<WorkingInbox["claim"]>>>((resolve) => {
    beside.push(() => resolve(inbox.claim(AHEAD)));
  });
  expect(commits.slice(before)).toEqual([[]]);
  expect(marked()).toEqual(claims.map(({ jobs: [{ id }] }) => id));
  expect(claims).toHaveLength(1);
});

test("a claim that did not say that another follows marks nothing", async () => {
  const { inbox, marked } = await mortal();
  await inbox.claim(AHEAD);
  await inbox.claim({ max: 10, mergeMax: 1 });
  await keep(inbox, "a");
  expect(marked()).toEqual([]);
});

test("no handler ever begins before the file says that it may be running, whatever fails", async () => {
  const file = join(folderFor(), "inbox.db");
  const channels = faultyChannels();
  const inbox = mortalSqliteInbox({ file, openThread: channels.open });
  const receiver = createReceiver({ secret: "s", inbox, storeTimeoutMs: 60_000, log: false });
  onTestFinished(async () => void (await receiver.close()));
  let [handled, unmarked] = [0, 0];
  let marked: { read(): string[] } | undefined;
  receiver.on("email", async (_event, { jobId, attempt }) => {
    marked ??= markedIn(file); // the file is there now
    if (!marked.read().includes(jobId)) unmarked += 1;
    handled += 1;
    await turns(handled % 5);
    if (attempt === 1 && handled % 7 === 0) throw new RetryLater({ afterMs: 1 });
  });
  await receiver.start();
  let [sent, onTheirWay] = [0, 0];
  async function send(): Promise<void> {
    sent += 1;
    onTheirWay += 1;
    // Few lanes and many, with what merges: one delivery of several, or of one.
    const ids = Array.from({ length: 1 + (sent % 3) }, (_, index) => `m-${sent % 2 === 0 ? sent % 5 : sent + index}`);
    const body = bodyOf({ payloads: ids.map((id) => change(id)), accountId: sent });
    await receiver.receive(signedRequest(body, { secret: "s", at: new Date() }));
    onTheirWay -= 1;
  }
  for (const fault of [undefined, "dies before", { errcode: 10 }, "dies after"] as const) {
    if (fault !== undefined) channels.next(fault);
    const enough = handled + 200;
    for (let turn = 0; handled < enough; turn += 1) {
      if (onTheirWay < 60 && turn % 20 < 10) void send();
      await turns(1);
    }
  }
  await receiver.idle();
  expect(unmarked).toBe(0);
  expect(channels.opened).toBe(4);
});
