import type { InboxHost, WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { inDatabases } from "../adapters/inbox/in-database.ts";
import { turns, until } from "../support/event-loop.ts";
import { inTurn } from "./in-turn.ts";
import { watched } from "./pending-calls.ts";
import type { Store } from "./stores.ts";

/** Of real time, which no process of a world lives for: only those that died are taken over from. */
const LEASE_MS = 3_600_000;
/** What a worker does so often keeps it alive; the rest is retention. */
const OFTEN_MS = 1_000;
const PATIENCE_MS = 20_000;

/** A database of its own on a real server. */
export async function onServer(): Promise<Store> {
  const databases = inDatabases({ leaseMs: LEASE_MS });
  let bare = await databases.make();
  let own = asProcess(bare);

  return {
    get inbox() {
      return own.inbox;
    },
    get pending() {
      return own.pending();
    },
    isApart: true,
    inTurn: inTurn(),
    look: () => own.look(),
    renew() {
      bare = databases.beside(bare);
      own = asProcess(bare);
    },
    async crash() {
      own.die();
      bare = await databases.crash(bare, true);
      own = asProcess(bare);
    },
    async end() {
      own.die();
      bare = await databases.crash(bare);
      await databases.cleanup(bare);
    },
  };
}

interface Timer {
  readonly run: () => void;
  readonly ms: number;
}

/** An inbox whose timers run when they are told to: by the clock of a world there would be a million of them in a day. */
function asProcess(bare: WorkingInbox) {
  const timers = new Set<Timer>();
  const hosts = new WeakMap<InboxHost, InboxHost>();
  let isOver = false;
  let works = false;
  let takingOver = 0;
  let looking: Promise<void> = Promise.resolve();
  const often = (): readonly Timer[] => [...timers].filter(({ ms }) => ms <= OFTEN_MS);

  function withOwnTimers(host: InboxHost): InboxHost {
    const known = hosts.get(host);
    if (known !== undefined) return known;
    const setTimer: InboxHost["clock"]["setTimer"] = (run, ms) => {
      const timer = { run, ms };
      timers.add(timer);
      return { clear: () => void timers.delete(timer) };
    };
    const own = { ...host, clock: { now: () => host.clock.now(), setTimer } };
    hosts.set(host, own);
    return own;
  }

  const { inbox, pending } = watched(bare);
  const told: WorkingInbox = {
    ...inbox,
    open: async (host) => inbox.open(withOwnTimers(host)),
    async work(worker) {
      await inbox.work(worker);
      works = true;
      await takeOver();
    },
    // It gives up its lanes to nobody.
    stopWork() {
      works = false;
      inbox.stopWork?.();
    },
    async close() {
      isOver = true;
      await inbox.close();
    },
  };

  /** One after the other: of two at a time the second would find no timers, and end at once. */
  function lookOnce(): Promise<void> {
    looking = looking.catch(() => {}).then(lookNow);
    return looking;
  }

  async function lookNow(): Promise<void> {
    await turns(1);
    const due = often();
    for (const timer of due) timers.delete(timer);
    for (const { run } of due) run();
    const end = performance.now() + PATIENCE_MS;
    // Each sets itself again when it has done its work.
    await until(() => isOver || often().length >= due.length || performance.now() > end);
    if (performance.now() > end) throw new Error(`A timer of the inbox did not end its work within ${PATIENCE_MS} ms.`);
  }

  /** It works alone: all lanes are its own once it has taken over from the one that died. On a busy machine that takes several looks. */
  async function takeOver(): Promise<void> {
    const end = performance.now() + PATIENCE_MS;
    takingOver += 1;
    try {
      while (works && !isOver && (bare.stats().workers?.share ?? 1) < 1 && performance.now() < end) await lookOnce();
    } finally {
      takingOver -= 1;
    }
  }

  return {
    inbox: told,
    pending: () => pending() + takingOver,
    async look() {
      await lookOnce();
      await takeOver();
    },
    /** Nothing of it runs any more. */
    die() {
      isOver = true;
      timers.clear();
    },
  };
}
