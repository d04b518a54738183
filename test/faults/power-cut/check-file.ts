import { createReceiver, type Change, type Clock } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { readdirSync, readFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { systemClock } from "../../../src/clock.ts";
import {
  behaviourOf,
  deliveryOf,
  ERASED_ACCOUNT,
  fillerOf,
  SECRET,
  trackedId,
  type TestDelivery,
} from "./deliveries.ts";
import { inspectFile, type FileContents } from "./inspect-file.ts";
import type { Marker, TraceRecord } from "./trace.ts";

/** Which acknowledged deliveries may be missing. */
export interface Expectation {
  /** Retention may have deleted handled ones. */
  readonly forgets?: boolean;
}

/** One text for each violation in a file after a power cut, given the trace before it; empty if there is none. */
export async function checkFile(
  file: string,
  seen: readonly TraceRecord[],
  expected: Expectation = {},
): Promise<string[]> {
  const before = toEvidence(seen);
  try {
    const scene = { ...(await inspectFile(file)), before };
    const { handled, disorder } = await handleRest(file);
    return [
      ...scene.wrong,
      ...missing(scene, expected),
      ...outOfOrder(scene.jobs),
      ...disorder,
      ...neverHandled(scene, handled),
      ...(before.isErased ? erasedBytes(dirname(file)) : []),
    ];
  } catch (error) {
    return [`damaged: ${String(error)}`];
  }
}

interface Evidence {
  /** Acknowledged deliveries that must not be erased. */
  readonly sendings: readonly TestDelivery[];
  readonly handled: ReadonlySet<string>;
  readonly isErased: boolean;
}

function toEvidence(seen: readonly TraceRecord[]): Evidence {
  const named = (wanted: Marker): string[] =>
    seen.flatMap((one) => (one.type === "marker" && one.what === wanted ? one.name : []));
  const isErasing = named("erasing").length > 0;
  const sendings = named("acknowledged")
    .map((name) => deliveryOf(Number(name.slice(1))))
    .filter(({ accountId }) => !isErasing || accountId !== ERASED_ACCOUNT);
  return { sendings, handled: new Set(named("handled")), isErased: named("erased").length > 0 };
}

/** Starts a receiver on the file and handles the rest. Its clock is a day ahead, so that every retry is due. */
async function handleRest(
  file: string,
): Promise<{ readonly handled: ReadonlySet<string>; readonly disorder: string[] }> {
  const handled = new Set<string>();
  const disorder: string[] = [];
  const last = new Map<string, number>();
  const record = (names: readonly string[], lane: string, jobId: string): void => {
    if (Number(jobId) < (last.get(lane) ?? 0))
      disorder.push(`order: ${names.join()} comes behind a later one of ${lane}`);
    last.set(lane, Number(jobId));
    for (const name of names) handled.add(name);
  };
  const clock: Clock = { now: () => systemClock.now() + DAY_MS, setTimer: systemClock.setTimer };
  const receiver = createReceiver({
    secret: SECRET,
    inbox: sqliteInbox(file, { keepDoneDays: 1_000 }),
    log: false,
    clock,
  })
    .on("email", (event, ctx) => record([nameIn(event)], `mail ${event.accountId} ${event.id}`, ctx.jobId), {
      merge: false,
    })
    .on("contact.changes", ({ accountId, changes }, ctx) =>
      record(changes.map(nameIn), `contacts ${accountId}`, ctx.jobId),
    )
    .on("tracking.open", (event, ctx) => record([trackedId(event.id)], `opened ${event.trackingId}`, ctx.jobId));
  try {
    await receiver.start();
    await receiver.idle();
    return { handled, disorder };
  } finally {
    await receiver.close();
  }
}

const DAY_MS = 86_400_000;

function nameIn({ attributes }: Pick<Change, "attributes">): string {
  return attributes?.threadId ?? "";
}

type Scene = FileContents & { readonly before: Evidence };

/** Acknowledged deliveries that are missing; jobs that are done though no handler ended. */
function missing(scene: Scene, { forgets = false }: Expectation): string[] {
  const { bodies, unexpanded, accounts, jobs, before } = scene;
  const wrong: string[] = [];
  const states = new Map(jobs.map(({ name, state }) => [name, state]));
  for (const { name, body, events } of before.sendings) {
    // A delivery is deleted when the last of its jobs is done; a dead job holds it.
    const isOver = forgets && events.every((event) => before.handled.has(event));
    const stored = bodies.get(name);
    if (stored !== undefined && stored !== body) wrong.push(`changed: the body of ${name}`);
    if (stored === undefined && !isOver) wrong.push(`lost: ${name}`);
    for (const event of events) {
      const state = states.get(event);
      if (state === undefined && !unexpanded.has(name) && !isOver) wrong.push(`lost: the job ${event} of ${name}`);
      if (state === "done" && !before.handled.has(event)) wrong.push(`lost: ${event} is done and was never handled`);
      if (state === "dead" && behaviourOf(event) !== "hopeless") wrong.push(`dead: ${event} had no reason to be`);
    }
  }
  if (before.isErased && accounts.has(ERASED_ACCOUNT)) wrong.push("erased, and there again");
  return wrong;
}

/** Files that still hold erased bytes after a receiver has opened and closed the inbox. */
function erasedBytes(folder: string): string[] {
  return readdirSync(folder)
    .filter((name) => readFileSync(join(folder, name)).includes(fillerOf(ERASED_ACCOUNT)))
    .map((name) => `erased, and its bytes are in ${name}`);
}

/** Acknowledged events that are handled neither before nor after the cut, and not dead. */
function neverHandled({ jobs, before }: Scene, handled: ReadonlySet<string>): string[] {
  const dead = new Set(jobs.flatMap(({ name, state }) => (state === "dead" ? name : [])));
  return before.sendings
    .flatMap(({ events }) => events)
    .filter((event) => !before.handled.has(event) && !handled.has(event) && !dead.has(event))
    .map((event) => `lost: ${event} never reaches its handler`);
}

/** Done jobs of a lane whose earlier jobs still wait. */
function outOfOrder(jobs: FileContents["jobs"]): string[] {
  const waiting = new Map<string, string>();
  const wrong: string[] = [];
  for (const { id, consumer, lane, state } of jobs.toSorted((a, b) => Number(a.id) - Number(b.id))) {
    const key = `${consumer} ${lane}`;
    const earlier = waiting.get(key);
    if (state === "waiting" || state === "running") waiting.set(key, id);
    if (state === "done" && earlier !== undefined) wrong.push(`order: job ${id} is done before ${earlier} of ${key}`);
  }
  return wrong;
}
