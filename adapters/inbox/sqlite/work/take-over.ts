import { StorageError, type Claim, type InboxHost, type InboxStats, type Worker } from "../../../../src/adapter.ts";
import { createWorkerLock, type WorkerLock } from "./worker-lock.ts";

/** Makes this process the active worker: acquires the worker lock, takes over, and goes on standby when another process takes over. */
export interface TakeOver {
  /** Undefined unless this process is active or on standby. */
  readonly worker: Worker | undefined;
  /**
   * Resolves when active or on standby.
   * @throws StorageError when neither can be: nothing is held then
   */
  work(worker: Worker): Promise<void>;
  /** Another process took over: this one goes on standby. */
  fenced(): void;
  /** How often that was, and when last; undefined where it never was. */
  readonly takenOver: { readonly count: number; readonly lastAt: number } | undefined;
  /** The process that works gives no sign of life, and keeps its lock. */
  standstill(): InboxStats["standstill"];
  /** Gives it up, or stops asking; resolves when the file is not being taken over any more. */
  release(): Promise<void>;
}

export interface TakeOverDeps {
  /** Where the file really is. */
  readonly file: () => string;
  readonly host: () => InboxHost;
  /** Takes the work over, and does what is to be done before anything runs. */
  readonly takeOver: () => Promise<void>;
  /** The worker may begin. */
  readonly began: () => void;
  /** The work is another's. @returns the claims that end with it, whose handlers may run on */
  readonly lose: () => readonly Claim[];
  /** This process gave the work up, and none of its handlers runs. */
  readonly left: () => void;
}

/** Between two tries to take the work over. */
const AGAIN_MS = 1_000;
/** A file on which two processes take the work from each other again and again is no file to hurry for. */
const LONGEST_MS = 60_000;
/** So long after the last time it is no more the same trouble. */
const FORGOTTEN_MS = 10 * 60_000;
/** Whose process gives no sign of life for so long does not work. */
const SILENT_MS = 15_000;

export function createTakeOver({ file, host, takeOver, began, lose, left }: TakeOverDeps): TakeOver {
  let worker: Worker | undefined;
  let lock: WorkerLock | undefined;
  /** The present try, or what came of it: whoever has another one is late. */
  let term: object | undefined;
  let taking: Promise<unknown> = Promise.resolve();
  let takenOver: TakeOver["takenOver"];
  /** How often in a row. */
  let streak = 0;
  /** The worker was told why this process cannot work. */
  let isHindered = false;

  async function begin(given: Worker): Promise<void> {
    const mine = {};
    term = mine;
    const taken = takeOver();
    taking = taken.catch(() => {});
    await taken;
    if (term !== mine) return;
    isHindered = false;
    began();
    if (given.begin() !== false) return;
    stepBack();
    worker = undefined;
  }

  /** Nobody waits for it: it is tried until it holds, or the inbox is closed. In between another process may try. */
  async function beginLater(): Promise<void> {
    const begun = worker && begin(worker);
    const mine = term;
    try {
      await begun;
    } catch (error) {
      if (term !== mine) return;
      host().log.error({ err: error, code: "take-over-failed" }, "the work could not be taken over: retrying");
      stepBack();
      waits(error as StorageError);
      acquireIn(AGAIN_MS);
    }
  }

  function acquireIn(ms: number): void {
    lock?.acquireIn(ms, () => void beginLater());
  }

  /** While another process works, that this one does not is no standstill. */
  function waits(error: StorageError | undefined): void {
    if (error === undefined && !isHindered) return;
    isHindered = error !== undefined;
    worker?.end(error);
  }

  function stepBack(): void {
    term = undefined;
    lock?.release();
    left();
  }

  function fenced(): void {
    if (worker === undefined || term === undefined) return;
    const { log, clock } = host();
    const now = clock.now();
    streak = takenOver !== undefined && Math.abs(now - takenOver.lastAt) <= FORGOTTEN_MS ? streak + 1 : 1;
    takenOver = { count: (takenOver?.count ?? 0) + 1, lastAt: now };
    log.error(
      { code: "worker-lock-lost" },
      "another process has taken over the work on this inbox: this one is on standby",
    );
    term = undefined;
    const lost = lose();
    lock?.release();
    if (lost.length > 0) worker.lost(lost);
    worker.end();
    acquireIn(Math.min(AGAIN_MS * 2 ** (streak - 1), LONGEST_MS));
  }

  return {
    get worker() {
      return worker;
    },
    async work(given) {
      worker = given;
      try {
        lock ??= createWorkerLock(file(), host(), { lost: fenced, waits });
        if (lock.acquire(() => void beginLater())) await begin(given);
      } catch (error) {
        if (worker !== given) throw error; // closed meanwhile
        stepBack();
        worker = undefined;
        throw toNotBegun(error, "the work on the inbox was not begun");
      }
    },
    fenced,
    get takenOver() {
      return takenOver;
    },
    standstill() {
      const silentMs = lock?.silentMs() ?? 0;
      if (silentMs < SILENT_MS) return undefined;
      const of = "What is due in this file";
      return { step: "claim", of, seconds: Math.floor(silentMs / 1_000), cause: toSilent(`${file()}-lock`) };
    },
    async release() {
      worker = undefined;
      term = undefined;
      left();
      const given = lock;
      lock = undefined;
      await taking;
      given?.release();
    },
  };
}

function toSilent(path: string): StorageError {
  const text =
    "The process that works on it gives no sign of life: it is suspended, or a handler blocks its event loop.";
  return new StorageError("worker-silent", text, {
    fix: `Find it (\`fuser ${path}\`), and let it go on or end it: another one then takes over. To restart this process does not help.`,
  });
}

/** While it works an inbox goes on by itself once there is room; what was not begun does not. */
export function toNotBegun(error: unknown, what: string): unknown {
  if ((error as Partial<StorageError>).code !== "disk-full") return error;
  return new StorageError("disk-full", `The disk has no room left: ${what}.`, {
    cause: error,
    fix: "Make room, then call `start()` again: this process runs no handlers until then. Stored deliveries are not lost.",
  });
}
