import type { InboxHost, WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { inDatabases } from "../adapters/inbox/in-database.ts";
import { until } from "../support/event-loop.ts";
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
      bare = await databases.crash(bare);
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
    async close() {
      isOver = true;
      await inbox.close();
    },
  };

  return {
    inbox: told,
    pending,
    async look() {
      const due = often();
      for (const timer of due) timers.delete(timer);
      for (const { run } of due) run();
      const end = performance.now() + PATIENCE_MS;
      // Each sets itself again when it has done its work.
      await until(() => isOver || often().length >= due.length || performance.now() > end);
      if (performance.now() > end)
        throw new Error(`A timer of the inbox did not end its work within ${PATIENCE_MS} ms.`);
    },
    /** Nothing of it runs any more. */
    die() {
      isOver = true;
      timers.clear();
    },
  };
}
