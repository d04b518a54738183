import { createReceiver, type Job, type Receiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { createHash } from "node:crypto";
import { existsSync } from "node:fs";
import { DatabaseSync } from "node:sqlite";
import { expect } from "vitest";
import { eventually } from "../../support/eventually.ts";
import { checkInvariants, type FinalJob } from "./check-invariants.ts";
import { currentWorker, terminate, type Fleet } from "./fleet.ts";
import { readJournal } from "./journal.ts";
import { type ReceiverProcess } from "./receiver-process.ts";
import { report } from "./rounds.ts";
import type { Service } from "./service.ts";

/** The final state that a row found. */
export interface Outcome {
  readonly jobs: readonly FinalJob[];
  readonly dead: readonly FinalJob[];
}

export interface FinishOptions {
  readonly row: string;
  /** Facts for the report: what the row did. */
  readonly tried: Readonly<Record<string, unknown>>;
  /** Jobs were replayed. */
  readonly replays?: boolean;
  /** Handles the rest. @default the living worker, or a new one */
  readonly worker?: ReceiverProcess;
}

/** Sends the rest, waits until a worker has handled everything, ends it as a deploy does, and checks file and journal. */
export async function finishAndCheck(fleet: Fleet, service: Service, options: FinishOptions): Promise<Outcome> {
  if (options.worker === undefined && !fleet.living().some((one) => one.isWorker())) fleet.start();
  const worker = options.worker ?? (await currentWorker(fleet));
  await service.finish();
  await waitUntilDrained(worker);
  for (const other of fleet.living()) if (other !== worker) await terminate(other);
  await terminate(worker);
  return inspect(fleet, service, options);
}

/** Resolves when no job waits or runs. */
export async function waitUntilDrained(worker: ReceiverProcess): Promise<void> {
  await eventually(async () => {
    const { health } = await worker.ask("/control/idle");
    expect(health.waiting, worker.err()).toBe(0);
  }, 300_000);
}

/** Resolves with true when the worker has drained its inbox, with false if it dies first. */
export function survives(worker: ReceiverProcess): Promise<boolean> {
  const well = worker.prints(/^works/m).then(() => waitUntilDrained(worker));
  return Promise.race([
    worker.ended.then(() => false),
    well.then(
      () => true,
      () => new Promise<never>(() => {}), // the process no longer answers
    ),
  ]);
}

async function inspect(fleet: Fleet, service: Service, { row, tried, replays }: FinishOptions): Promise<Outcome> {
  const { sent } = service;
  expect(existsSync(`${fleet.file}-wal`), "the file stands alone").toBe(false);
  expect(integrityOf(fleet.file)).toBe("ok");
  const jobs = await readJobs(fleet);
  const journal = readJournal(fleet.journal);
  const wrong = checkInvariants({ sent, journal, jobs, attempts: 4, replays });
  const dead = jobs.filter(({ state }) => state === "dead");
  const names = new Set(jobs.map(({ name }) => name));
  const acked = sent.filter(({ ackedAt }) => ackedAt !== undefined);
  const lost = acked.filter(({ entries }) => entries.some(({ name }) => !names.has(name)));
  report(row, {
    ...tried,
    sent: sent.length,
    acknowledged: acked.length,
    jobs: jobs.length,
    calls: journal.filter(({ at }) => at === "start").length,
    dead: dead.length,
    wrong: wrong.length,
    lost: lost.length,
    ...(wrong.length > 0 && { first: wrong[0] }),
  });
  expect(wrong.slice(0, 20)).toEqual([]);
  return { jobs, dead };
}

export function integrityOf(file: string): unknown {
  const db = new DatabaseSync(file);
  try {
    return db.prepare("PRAGMA integrity_check").get()?.["integrity_check"];
  } finally {
    db.close();
  }
}

/** Through the public API, by a process that does not work. */
export async function readJobs({ file, secret }: Pick<Fleet, "file" | "secret">): Promise<readonly FinalJob[]> {
  const receiver = createReceiver({ secret, inbox: sqliteInbox(file), log: false });
  const shas = new Map<string, Promise<string>>();
  try {
    const listed = await list(receiver);
    const found: FinalJob[] = [];
    for (const part of inParts(listed, 500))
      found.push(...(await Promise.all(part.map((job) => toFinal(job, { receiver, shas })))));
    return found;
  } finally {
    await receiver.close();
  }
}

async function list(receiver: Receiver): Promise<readonly Job[]> {
  const jobs: Job[] = [];
  for (let after: string | undefined; ;) {
    const page = await receiver.jobs.list({ limit: 1_000, after });
    jobs.push(...page.jobs);
    after = page.next;
    if (after === undefined) return jobs;
  }
}

async function toFinal(
  { id, state, consumer, lane, event, deliveryId, replayOf }: Job,
  { receiver, shas }: { readonly receiver: Receiver; readonly shas: Map<string, Promise<string>> },
): Promise<FinalJob> {
  let sha = shas.get(deliveryId);
  if (sha === undefined) shas.set(deliveryId, (sha = shaOf(receiver, id)));
  const { name } = event as unknown as { readonly name?: string };
  return { id: Number(id), name: name ?? "", state, consumer, lane, sha: await sha, replayed: replayOf !== undefined };
}

async function shaOf(receiver: Receiver, id: string): Promise<string> {
  const found = await receiver.jobs.get(id);
  return createHash("sha256")
    .update(Buffer.from(found?.delivery?.bodyBase64 ?? "", "base64"))
    .digest("hex");
}

function inParts<T>(all: readonly T[], size: number): T[][] {
  return Array.from({ length: Math.ceil(all.length / size) }, (_, index) =>
    all.slice(index * size, (index + 1) * size),
  );
}
