import { openSession, type Route, type Session } from "./pool.ts";

/** An advisory lock for as long as this process's own connection lives. */
export interface Presence {
  /** Takes the lock, unless it has it. @returns whether it has: an accelerator is nothing to fail for */
  hold(worker: number): Promise<boolean>;
  /** Whether it has it, as far as is known here. */
  isHeld(worker: number): boolean;
  /** Whether nobody holds a worker's lock; false where that is unknown. */
  isGone(worker: number): Promise<boolean>;
  drop(): Promise<void>;
}

/** Of the advisory locks by which workers say that they are there. */
const SPACE = 0x486f_6f6b;
/** A worker does not wait longer for it: without it, its death is noticed later. */
const PATIENCE_MS = 1_000;
/** After it could not be had. */
const TRY_AGAIN_MS = 5_000;
/** Behind a pooler: a lock there is another process's next. */
const NEVER = Infinity;

/** @param connection that keeps its session; behind a pooler there are no locks */
export function createPresence(
  connection: Readonly<Record<string, unknown>>,
  ident: () => string,
  route?: Route,
): Presence {
  let session: Session | undefined;
  let held: number | undefined;
  let opening: Promise<void> | undefined;
  let notBefore = 0;
  let drops = 0;
  const keyOf = (worker: number): string => `hashtext('${ident().replaceAll("'", "''")}') # ${worker}`;
  const isHeld = (worker: number): boolean => held === worker && session?.isOpen() === true;

  async function close(): Promise<void> {
    const closing = session;
    [session, held] = [undefined, undefined];
    await closing?.close();
  }

  async function open(worker: number): Promise<void> {
    const mine = drops;
    if (session?.isOpen() !== true) {
      await close();
      const opened = await openSession({
        connection,
        applicationName: "hookline presence",
        connectMs: TRY_AGAIN_MS,
        answerMs: TRY_AGAIN_MS,
        ...(route && { route }),
      });
      if (mine !== drops) return opened.close();
      session = opened;
    }
    const [row] = await session.query<{ pid: number; standby: boolean }>(
      `select pg_backend_pid() as pid, pg_is_in_recovery() as standby`,
    );
    // A standby's locks say nothing of its primary's.
    if (row?.pid !== session.processId || row.standby) {
      notBefore = row?.standby === true ? performance.now() + TRY_AGAIN_MS : NEVER;
      return close();
    }
    await session.query(`select pg_advisory_unlock_all()`);
    await session.query(`select pg_advisory_lock_shared(${SPACE}, ${keyOf(worker)})`);
    held = worker;
  }

  return {
    async hold(worker) {
      if (isHeld(worker)) return true;
      if (opening !== undefined || performance.now() < notBefore) return false;
      opening = open(worker)
        .catch(() => {
          notBefore = performance.now() + TRY_AGAIN_MS;
          return close();
        })
        .finally(() => (opening = undefined));
      let timer: NodeJS.Timeout | undefined;
      const late = new Promise<void>((resolve) => (timer = setTimeout(resolve, PATIENCE_MS)));
      await Promise.race([opening, late]);
      clearTimeout(timer);
      return isHeld(worker);
    },
    isHeld,
    async isGone(worker) {
      if (session?.isOpen() !== true) return false;
      const asked = session.query<{ free: boolean }>(
        `select not pg_is_in_recovery() and pg_try_advisory_xact_lock(${SPACE}, ${keyOf(worker)}) as free`,
      );
      const [row] = await asked.catch(() => []);
      return row?.free === true;
    },
    async drop() {
      drops += 1;
      notBefore = 0;
      await close();
    },
  };
}
