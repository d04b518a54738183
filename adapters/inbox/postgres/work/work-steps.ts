import { StorageError, type Progress } from "../../../../src/adapter.ts";
import type { Pool } from "../connection/pool.ts";
import { isBroken, isLockTimeout, isOfDisk, isOfStatement, isRefusal } from "../connection/classify-error.ts";
import {
  stepOf,
  toArray,
  toBound,
  toRead,
  toSettle,
  type StepLimit,
  type StepReply,
  type StepRow,
} from "./encode-step.ts";
import type { Lanes, Row } from "./lanes.ts";
import type { Over } from "./worker-log.ts";
import {
  createParts,
  halvesOf,
  NOTHING,
  ofMark,
  ofSettles,
  refuse,
  takeFitting,
  type Batch,
  type Marked,
  type Marking,
} from "./step-batch.ts";
import {
  apart,
  createLockedEnds,
  endOtherwise,
  needsMore,
  toSettling,
  type Ending,
  type Refusal,
  type Settling,
} from "./refused-settles.ts";

/** The steps of one worker: one in flight, in which all goes that came while the last one was. */
export interface WorkSteps {
  /**
   * Marks jobs as running. Gives the deliveries that were asked for, as far as the limit lets them through, and the jobs that are gone.
   * @throws StorageError when fenced or failed; a refusal is of these jobs alone
   */
  mark(rows: readonly Row[], wanted: readonly Row[], limit: StepLimit): Promise<Marked>;
  /** Resolves when it holds. Tried again while the server is away, as long as this worker lives. A job whose end the server refuses is dead. */
  settle(
    ending: Ending,
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
  /** As it was written: of each row that is not done. */
  readonly progress: ReadonlyMap<Row, Progress>;
}

export interface WorkStepsDeps extends Pick<Refusal, "now" | "refused"> {
  readonly ident: () => string;
  /** One connection. */
  readonly pool: Pool;
  readonly worker: number;
  /** When the server started that it is registered on: a step changes nothing on another one. */
  readonly server: number;
  readonly lanes: Lanes;
  /** The shards to be given up of which nothing runs, each with who is to have it; undefined: any. Asked for at each step: one that was given up must not be so again, once it came back. */
  readonly leaving: () => ReadonlyMap<number, number | undefined>;
  /** A step holds; it was sent at that time of the monotonic clock. */
  readonly confirmed: (reply: StepReply, sentAt: number) => void;
  /** Another process has taken over; or the server forgot what held. */
  readonly over: (why: Over) => void;
  readonly failed: (error: StorageError) => void;
  /** Waits a while before the next try. */
  readonly pause: () => Promise<void>;
}

export function createWorkSteps(deps: WorkStepsDeps): WorkSteps {
  const { ident, pool, worker, server, lanes, leaving, confirmed, over, failed, pause } = deps;
  let settling: Settling[] = [];
  let marking: Marking[] = [];
  let beats: (() => void)[] = [];
  const parts = createParts();
  /** Rows whose end it refused alone: the next try is alone at once. */
  const refusedAlone = new WeakSet<Row>();
  /** The last step with all that waits failed. */
  let hasFailed = false;
  const locked = createLockedEnds();
  /** Rows whose end is written, though not that of all of their claim. */
  const ended = new WeakSet<Row>();
  /** Steps hold in their order: one whose connection broke may still be under way on the server. */
  let number = 0;
  let heldNumber = 0;
  let isRunning = false;
  let isOver = false;

  async function run(): Promise<void> {
    // What comes in this turn goes together.
    await new Promise<void>((resolve) => void setImmediate(resolve));
    while (!isOver && (hasOther() || !parts.isEmpty())) await step();
    isRunning = false;
  }

  function wake(): void {
    if (isRunning || isOver) return;
    isRunning = true;
    void run();
  }

  const hasOther = (): boolean => settling.length + marking.length + beats.length > 0;

  /** What waits, but for the parts. */
  function together(): Batch {
    const batch = { settles: takeFitting(settling), marks: marking, waiting: beats };
    [marking, beats] = [[], []];
    return batch;
  }

  async function step(): Promise<void> {
    const part = parts.next(hasOther());
    const isPart = part !== undefined;
    const next = part ?? together();
    const batch = { ...next, settles: locked.without(next.settles) };
    const error = await send(batch);
    if (error === undefined || isOver) return void (hasFailed &&= isPart);
    const { settles, marks } = batch;
    // What fails again and again may be at fault, though by its code the server is: such as a row that takes longer than a statement may.
    const isAgain = (isPart || hasFailed) && !isBroken(error);
    hasFailed ||= !isPart;
    const rest = isOfStatement(error) || isAgain ? await takeApart(batch, error) : undefined;
    if (isOver) return refuse(settles, marks);
    if (rest !== undefined) return parts.add(rest);
    for (const one of settles) one.isUnsure = true;
    settling = [...settles, ...settling];
    // Who gets a refusal takes it for one of these runs.
    const ofNone = isRefusal(error) || isOfDisk(error) ? new StorageError(error.code, error.message) : error;
    for (const one of marks) one.reject(ofNone);
    failed(error);
    await pause();
  }

  /** @returns why it does not hold */
  async function send({ settles, marks, waiting }: Batch): Promise<StorageError | undefined> {
    const ending = new Set(settles.flatMap(({ left }) => left));
    const running = lanes.running().filter((row) => !ending.has(row) && !ended.has(row));
    const sentAt = performance.now();
    try {
      const { done, ...settle } = toSettle(settles, leaving());
      const sent = (number += 1);
      const marked = marks.flatMap(({ rows: given }) => given);
      const wanted = marks.flatMap((one) => one.wanted);
      const ids = [...new Set(wanted.map(({ delivery }) => delivery))];
      const bound = toBound(
        ids.length,
        marks.map(({ limit }) => limit),
      );
      const rows = await pool.query<StepRow>(stepOf(ident(), bound.length > 0), [
        worker,
        sent,
        toArray(running.map(({ id }) => id)),
        toArray(running.map(({ progress }) => progress.firstAttemptAt)),
        toArray(done.map(({ shard }) => shard)),
        toArray(done.map(({ id }) => id)),
        JSON.stringify({ ...settle, after: heldNumber, server }),
        toArray(marked.map(({ shard }) => shard)),
        toArray(marked.map(({ id }) => id)),
        toArray(wanted.map(({ day }) => day)),
        toArray(ids),
        ...bound,
      ]);
      const head = rows[0]?.head;
      if (!head?.alive) {
        refuse(settles, marks);
        if (!isOver) over(head?.alive === false && head.forgot ? "forgot" : "taken-over");
        return undefined;
      }
      if (isOver) {
        finish(settles, head);
        refuse(settling.splice(0), marks);
        return undefined;
      }
      heldNumber = sent;
      confirmed(head, sentAt);
      finish(settles, head);
      const answer = { gone: new Set(head.gone), ...toRead(rows.slice(1)) };
      for (const one of marks) one.resolve(answer);
      return undefined;
    } catch (error) {
      if (isOver) refuse(settles, marks);
      return error as StorageError;
    } finally {
      for (const beat of waiting) beat();
    }
  }

  /** What is to be tried instead of what the server refused: nothing of it holds. Undefined where it is not at fault, or there is nothing else. */
  async function takeApart({ settles, marks }: Batch, first: StorageError): Promise<readonly Batch[] | undefined> {
    if (!isOfStatement(first) && (await send(NOTHING)) !== undefined) return undefined;
    const isLocked = isLockTimeout(first);
    const byLocks = (): readonly Batch[] => [...apart(settles).map(ofSettles), ...marks.map(ofMark)];
    const pieces = isLocked ? byLocks() : halvesOf({ settles, marks });
    if (pieces.length > 1) return pieces;
    const [one] = settles;
    // It says nothing new: others need not wait while that is made sure of.
    if (one?.wasRefused === true && !isLocked) return blame(settles, marks, first);
    // Without it, a step must hold.
    if (pieces.length === 0 || (await send(NOTHING)) !== undefined || isOver) return undefined;
    if (one !== undefined && isLocked) return needsMore(one) ? locked.refuse(settles, first) : tryLater(one);
    // And with it must not: the server may have been mended since.
    const error = await send({ ...NOTHING, settles, marks });
    if (error === undefined) return [];
    const otherwise = one !== undefined && isRefusal(error) ? endOtherwise(one, { ...deps, error }) : undefined;
    if (otherwise !== undefined) return otherwise.map((each) => ofSettles([each]));
    return isBroken(error) ? undefined : blame(settles, marks, error);
  }

  /** Who settles tries again, and says so. */
  function blame(settles: readonly Settling[], marks: readonly Marking[], error: StorageError): readonly [] {
    for (const row of settles.flatMap(({ left }) => left)) refusedAlone.add(row);
    for (const refused of [...settles, ...marks]) refused.reject(error);
    return [];
  }

  /** Others hold what it needs: its next try comes after a pause, and is alone again. */
  function tryLater(one: Settling): readonly Batch[] {
    void later(() => parts.add([ofSettles([one])]), [one]);
    return [];
  }

  function finish(
    settles: readonly Settling[],
    head: Extract<NonNullable<StepRow["head"]>, { readonly alive: true }>,
  ): void {
    const [left, held, heirs] = [new Set(head.left), new Set(head.held), new Map(head.passed)];
    const waiting: Settling[] = [];
    for (const one of settles) {
      const isGone = one.left.some(({ id }) => left.has(id) && !held.has(id)) && !one.isUnsure;
      for (const { id } of one.left) {
        const heir = heirs.get(id);
        if (heir !== undefined) one.passed.set(id, heir);
      }
      for (const row of one.left) if (!held.has(row.id)) ended.add(row);
      one.left = one.left.filter(({ id }) => held.has(id));
      if (one.left.length === 0) one.resolve(!isGone);
      else waiting.push(one);
    }
    // A transaction of the application holds a row: it may for a while.
    if (waiting.length > 0) void later(() => settling.push(...waiting), waiting);
  }

  async function later(again: () => unknown, settles: readonly Settling[]): Promise<void> {
    if (!isOver) await pause();
    if (isOver) return refuse(settles, []);
    again();
    wake();
  }

  return {
    mark: (rows, wanted, { bytes, largest }) =>
      new Promise((resolve, reject) => {
        for (const row of rows) ended.delete(row);
        marking.push({ rows, wanted, limit: { bytes, largest }, resolve, reject });
        if (isOver) refuse([], marking.splice(0));
        wake();
      }),
    settle: (ending, { isUnsure } = { isUnsure: false }) =>
      new Promise((resolve, reject) => {
        const one = toSettling(ending);
        const { progress, passed } = one;
        const wasRefused = ending.rows.filter((row) => refusedAlone.delete(row)).length > 0;
        const end = (holds: boolean): void => resolve({ holds, passed, progress });
        const given = { ...one, isUnsure, wasRefused, resolve: end, reject };
        if (isOver) return refuse([given], []);
        if (wasRefused) parts.add([ofSettles([given])]);
        else settling.push(given);
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
      for (const { settles, marks } of parts.removeAll()) refuse(settles, marks);
      refuse(settling.splice(0), marking.splice(0));
      for (const beat of beats.splice(0)) beat();
    },
  };
}
