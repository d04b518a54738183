import { isStuck } from "./claim-rules.ts";
import { show, type Call, type Entry } from "./ledger.ts";
import type { Life } from "./process.ts";
import type { World } from "./world.ts";

/** After a failure the inbox is asked again so much later. */
export const AGAIN_MS = 1_000;

/** The store says of itself what the ledger says of it. */
export function assertCounts({ books, store, trace, life }: World): void {
  // What nobody works on cannot tell what runs from what ran when somebody died.
  if (store.storage !== "memory" && life?.started !== true) return;
  // On a server others may work: one that leaves them knows as much as it read last.
  if (store.storage === "network" && life?.closing === true) return;
  const counts = { waiting: 0, running: 0, dead: 0, unhandled: 0, done: 0, skipped: 0, removed: 0 };
  for (const { state } of books.entries.values()) counts[state] += 1;
  const { waiting, running, dead, unhandled, unexpanded } = store.stats();
  const got = [waiting, running, dead, unhandled, unexpanded];
  const expected = [counts.waiting, counts.running, counts.dead, counts.unhandled, books.backlog.length];
  if (String(got) !== String(expected))
    books.broken("waiting, running, dead, unhandled, unexpanded", { got, expected });
  trace.note(`${counts.waiting} wait, ${counts.running} run, ${counts.done} done, ${counts.dead} dead`);
}

const OWN_TROUBLES: readonly string[] = [
  "handler-stuck",
  "on-dead-late",
  "an onDead listener threw",
  "subscription-errored",
];
const OF_THE_INBOX: readonly string[] = [
  "storage-failed",
  "storage-late",
  "inbox-failed",
  "settle-failed",
  "inbox-close-failed",
];

/** An error in the log has its cause in what this world did. */
export function assertLog({ books, life, temper }: World): void {
  // A request that was under way finds the inbox closed.
  const hasTrouble = temper.faults > 0 || life?.closing === true;
  const known = hasTrouble ? [...OWN_TROUBLES, ...OF_THE_INBOX] : OWN_TROUBLES;
  const strange = [...(life?.errors ?? [])].filter((code) => !known.includes(code));
  if (strange.length > 0) books.broken("no error without a cause", strange);
}

/** Whoever may run does: nothing waits for a wake-up that never comes. */
export async function assertProgress(world: World): Promise<void> {
  let still = stalled(world);
  // A long backlog takes its time: jobs without a handler leave it with no call.
  for (let waiting = Infinity; still.length > 0 && world.store.stats().waiting < waiting; still = stalled(world)) {
    ({ waiting } = world.store.stats());
    await world.turns(20);
  }
  if (still.length > 0) world.books.broken("what may run runs", still.slice(0, 3));
}

function stalled(world: World): readonly string[] {
  const { books, life } = world;
  if (life === undefined || !life.started || life.closing || world.faults.slow > 0) return [];
  if (books.now.mono() - world.faults.failedAt <= AGAIN_MS) return [];
  if (books.backlog.length > 0) return books.backlog.map(({ id }) => `delivery ${id}`);
  const calls = [...books.calls].filter((call) => call.life === life);
  // Without grace a handler is stuck at once, but for the timer that says so.
  if (calls.some(({ abortedAt }) => abortedAt === books.now.mono())) return [];
  const stuck = calls.filter((call) => isStuck(call, books)).length;
  const ahead = [...books.claims.values()].filter(({ call }) => call === undefined || call.end !== undefined).length;
  if (stuck > books.limits.maxStuck || calls.length + ahead - stuck >= books.limits.concurrency) return [];
  // Suspects went while the others waited for them: it is noticed when nothing runs.
  if (books.claims.size + calls.length === 0) books.suspectsLeft = false;
  if (books.suspectsLeft) return [];
  const waiting = [...books.entries.values()].filter(({ state }) => state === "waiting");
  const suspects = [...books.claims.values()].some(({ entries: [head] }) => (head?.deaths ?? 0) >= 2);
  if (suspects || waiting.some(({ deaths }) => deaths >= 2)) return [];
  const mayRun = waiting.filter(
    (entry) => isHead(entry, world) && isOverdue(entry, world) && !isKept(entry, world, life),
  );
  return mayRun.map(show);
}

/** Something else than lanes and slots keeps it. */
function isKept(entry: Entry, { flow }: World, life: Life): boolean {
  return flow.mayBeHeld(entry) || flow.isLimited(entry, life.plan);
}

function isClaimed({ entries }: Call, { books }: World): boolean {
  return entries.some(({ claim }) => claim !== undefined && books.claims.has(claim.claim));
}

function isHead(entry: Entry, { books }: World): boolean {
  if (entry.lane === undefined) return true;
  return books.lanes.get(entry.lane)?.[0] === entry && ![...books.closed.values()].includes(entry.lane);
}

/** A wall clock that jumped back once may double its delay. */
function isOverdue({ retry }: Entry, { books: { now } }: World): boolean {
  if (retry === undefined) return true;
  const waited = now.mono() - retry.mono;
  const jumps = now.jumps() - retry.jumps;
  return jumps === 0 ? waited >= retry.delayMs : jumps === 1 && waited > 2 * retry.delayMs;
}

/** `idle()` resolved: nothing due and nothing running. */
export function assertIdle(world: World, life: Life): void {
  const { books } = world;
  if (!life.alive || life.closing || life.settleFailed) return;
  if (books.claims.size > 0) books.broken("idle", { running: books.claims.size });
  const due = [...books.entries.values()].filter(
    ({ state, retry, deaths }) => state === "waiting" && retry === undefined && deaths < 2,
  );
  const heads = due.filter((entry) => isHead(entry, world) && !isKept(entry, world, life));
  if (heads.length > 0) books.broken("idle", { due: heads.slice(0, 3).map(show) });
}

export interface Closing {
  readonly closed: { readonly done: number; readonly released: number; readonly stuck: number };
  readonly before: Tally;
}

/** Jobs by what they were settled to. */
export interface Tally {
  readonly done: number;
  readonly released: number;
}

/** What the close says is what happened meanwhile; what is not stuck is nobody's any more. */
export function assertClosed(world: World, life: Life, { closed, before }: Closing): void {
  const { books } = world;
  if (life.settleFailed || life.erased || world.faults.slow > 0 || books.now.mono() - world.faults.failedAt <= AGAIN_MS)
    return;
  const after = world.tally();
  const erased = [...books.calls].filter((call) => call.life === life && !isClaimed(call, world));
  const stuck = [...[...books.claims.values()].flatMap(({ call }) => call ?? []), ...erased];
  const expected = {
    done: after.done - before.done,
    released: after.released - before.released,
    stuck: stuck.reduce((count, { entries }) => count + entries.length, 0),
  };
  if (JSON.stringify(closed) !== JSON.stringify(expected)) books.broken("close adds up", { closed, expected });
  const left = [...books.claims.values()].filter(({ call }) => call === undefined);
  if (left.length > 0)
    books.broken(
      "nothing is lost at close",
      left.slice(0, 3).map(({ entries }) => entries.map(show)),
    );
}
