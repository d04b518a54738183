import { StorageError, type Delivery, type Progress } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { toDelivery, type DeliveryRow } from "../delivery-row.ts";
import type { Lanes, Plan, Row } from "./lanes.ts";

/** One row of `writer`: who, how many commits, first and last id of the last one. */
export type Mark = readonly [writer: number, seq: number, firstId: number, lastId: number];

/** What a worker hears at each step. */
export interface StepReply {
  readonly vector: readonly Mark[];
  /** That are this worker's. */
  readonly shards: readonly number[];
  /** The last removal by hand. */
  readonly removal: number | null;
  /** Whether deliveries wait to be expanded. */
  readonly unexpanded: boolean;
}

type StepRow = DeliveryRow & {
  readonly head:
    | { readonly alive: false }
    | (StepReply & {
        readonly alive: true;
        /** Of those to be marked. */
        readonly gone: readonly number[];
        readonly left: readonly number[];
        readonly held: readonly number[];
        readonly passed: readonly (readonly [id: number, heir: number])[];
      })
    | null;
};

/** The steps of one worker: one in flight, in which all goes that came while the last one was. */
export interface WorkSteps {
  /** Marks runs as running. Gives the deliveries that were asked for, and the jobs that are gone. @throws StorageError when fenced or failed */
  mark(runs: readonly (readonly Row[])[], wanted: readonly Row[]): Promise<Marked>;
  /** Resolves when it holds. Tried again while the server is away, as long as this worker lives. */
  settle(
    plan: Plan,
    options?: { /** Rows may be gone: a transaction of the application has ended them. */ readonly isUnsure: boolean },
  ): Promise<Held>;
  /** A heartbeat. */
  beat(): Promise<void>;
  /** This worker is over: what waits is refused. */
  end(): void;
}

interface Held {
  /** False where the jobs were gone. */
  readonly holds: boolean;
  /** Worker that has a handler for each unhandled job that is left to it: the job waits as before. */
  readonly passed: ReadonlyMap<number, number>;
}

interface Marked {
  readonly gone: ReadonlySet<number>;
  readonly deliveries: ReadonlyMap<number, Delivery>;
}

export interface WorkStepsDeps {
  readonly ident: () => string;
  /** One connection. */
  readonly pool: Pool;
  readonly worker: number;
  readonly lanes: Lanes;
  /** The shards to be given up of which nothing runs, each with who is to have it; undefined: any. Asked for at each step: one that was given up must not be so again, once it came back. */
  readonly leaving: () => ReadonlyMap<number, number | undefined>;
  /** A step holds; it was sent at that time of the monotonic clock. */
  readonly confirmed: (reply: StepReply, sentAt: number) => void;
  /** Another process has taken over. */
  readonly fenced: () => void;
  readonly failed: (error: StorageError) => void;
  /** Waits a while before the next try. */
  readonly pause: () => Promise<void>;
}

interface Settling {
  readonly plan: Plan;
  /** Rows of which it is not known that it holds. */
  left: readonly Row[];
  /** It was sent, and no answer came: a row that is gone may be its doing. */
  isUnsure: boolean;
  readonly passed: Map<number, number>;
  resolve(held: Held): void;
  reject(error: StorageError): void;
}

interface Marking {
  readonly rows: readonly Row[];
  readonly wanted: readonly Row[];
  resolve(marked: Marked): void;
  reject(error: StorageError): void;
}

export function createWorkSteps(deps: WorkStepsDeps): WorkSteps {
  const { ident, pool, worker, lanes, leaving, confirmed, fenced, failed, pause } = deps;
  let settling: Settling[] = [];
  let marking: Marking[] = [];
  let beats: (() => void)[] = [];
  /** Steps hold in their order: one whose connection broke may still be under way on the server. */
  let number = 0;
  let isRunning = false;
  let isOver = false;

  async function run(): Promise<void> {
    // What comes in this turn goes together.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    while (!isOver && settling.length + marking.length + beats.length > 0) await step();
    isRunning = false;
  }

  function wake(): void {
    if (isRunning || isOver) return;
    isRunning = true;
    void run();
  }

  async function step(): Promise<void> {
    const [settles, marks, waiting] = [settling, marking, beats];
    [settling, marking, beats] = [[], [], []];
    const ending = new Set(settles.flatMap(({ plan }) => plan.run.map(({ id }) => id)));
    const running = lanes.running().filter(({ id }) => !ending.has(id));
    const sentAt = performance.now();
    try {
      const { done, ...settle } = toSettle(settles, leaving());
      const marked = marks.flatMap(({ rows: given }) => given);
      const wanted = marks.flatMap((one) => one.wanted);
      const rows = await pool.query<StepRow>(
        `select * from ${ident()}.work($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)`,
        [
          worker,
          (number += 1),
          toArray(running.map(({ id }) => id)),
          toArray(running.map(({ progress }) => progress.firstAttemptAt)),
          toArray(done.map(({ shard }) => shard)),
          toArray(done.map(({ id }) => id)),
          JSON.stringify(settle),
          toArray(marked.map(({ shard }) => shard)),
          toArray(marked.map(({ id }) => id)),
          toArray(wanted.map(({ day }) => day)),
          toArray(wanted.map(({ delivery }) => delivery)),
        ],
      );
      const head = rows[0]?.head;
      for (const beat of waiting) beat();
      if (isOver || !head?.alive) {
        refuse(settles, marks);
        if (!isOver) fenced();
        return;
      }
      confirmed(head, sentAt);
      finish(settles, head);
      const deliveries = new Map(rows.slice(1).map((row) => [row.id, toDelivery(row)]));
      const gone = new Set(head.gone);
      for (const one of marks) one.resolve({ gone, deliveries });
    } catch (error) {
      for (const beat of waiting) beat();
      if (isOver) return refuse(settles, marks);
      for (const one of settles) one.isUnsure = true;
      settling.unshift(...settles);
      for (const one of marks) one.reject(error as StorageError);
      failed(error as StorageError);
      await pause();
    }
  }

  function finish(
    settles: readonly Settling[],
    head: Extract<NonNullable<StepRow["head"]>, { readonly alive: true }>,
  ): void {
    const [left, held, heirs] = [new Set(head.left), new Set(head.held), new Map(head.passed)];
    let isHeld = false;
    for (const one of settles) {
      const isGone = one.left.some(({ id }) => left.has(id) && !held.has(id)) && !one.isUnsure;
      for (const { id } of one.left) {
        const heir = heirs.get(id);
        if (heir !== undefined) one.passed.set(id, heir);
      }
      one.left = one.left.filter(({ id }) => held.has(id));
      if (one.left.length === 0) one.resolve({ holds: !isGone, passed: one.passed });
      else {
        isHeld = true;
        settling.push(one);
      }
    }
    // A transaction of the application holds a row: it may for a while.
    if (isHeld) void pause().then(wake);
  }

  function refuse(settles: readonly Settling[], marks: readonly Marking[]): void {
    const error = new StorageError("epoch-stale", "Another process has taken over the jobs of this one.");
    for (const one of [...settles, ...marks]) one.reject(error);
  }

  return {
    mark: (runs, wanted) =>
      new Promise((resolve, reject) => {
        marking.push({ rows: runs.flat(), wanted, resolve, reject });
        if (isOver) refuse([], marking.splice(0));
        wake();
      }),
    settle: (plan, { isUnsure } = { isUnsure: false }) =>
      new Promise((resolve, reject) => {
        settling.push({ plan, left: plan.run, isUnsure, passed: new Map(), resolve, reject });
        if (isOver) refuse(settling.splice(0), []);
        wake();
      }),
    beat: () =>
      new Promise((resolve) => {
        if (isOver) return resolve();
        beats.push(resolve);
        wake();
      }),
    end() {
      isOver = true;
      refuse(settling.splice(0), marking.splice(0));
      for (const beat of beats.splice(0)) beat();
    },
  };
}

function toSettle(settles: readonly Settling[], leaves: ReadonlyMap<number, number | undefined>) {
  const leave = [...leaves].flatMap(([shard, heir]) => (heir === undefined ? [shard] : []));
  const pass = [...leaves].filter(([, heir]) => heir !== undefined);
  const done: Row[] = [];
  const others: unknown[] = [];
  const windows: unknown[] = [];
  for (const { plan, left } of settles) {
    const lane = plan.run[0]?.lane;
    if (plan.window !== undefined && lane !== undefined)
      windows.push({ s: plan.run[0]?.shard, l: lane, f: plan.window?.since ?? null, u: plan.window?.upTo ?? null });
    for (const row of left) {
      const progress = plan.progress[plan.run.indexOf(row)];
      if (progress === undefined || progress.state === "done") done.push(row);
      else others.push(toOther(row, progress));
    }
  }
  return {
    done,
    ...(others.length > 0 ? { others } : {}),
    ...(windows.length > 0 ? { windows } : {}),
    ...(leave.length > 0 ? { leave } : {}),
    ...(pass.length > 0 ? { pass } : {}),
  };
}

/** The driver takes five times as long for an array of numbers. */
function toArray(numbers: readonly (number | undefined)[]): string {
  return `{${numbers.map((number) => number ?? "NULL").join(",")}}`;
}

function toOther({ shard: s, id: i }: Row, progress: Progress) {
  const {
    state: w,
    attempts: a,
    deaths: d,
    groupMax: g = null,
    firstAttemptAt: f = null,
    runAt: r,
    delayMs: y,
  } = progress;
  const e = progress.error ?? null;
  return { s, i, w, a, d, g, f, r, y, e, z: progress.settledAt ?? null };
}
