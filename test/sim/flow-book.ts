import type { FlowTarget } from "hookline";
import { show, type Books, type Call, type Entry, type OpenClaim } from "./ledger.ts";
import { isStuck } from "./claim-rules.ts";
import type { Plan } from "./handler-plans.ts";

/** What keeps jobs from starting beside slots, and whose turn it is: held against the rules. */
export interface FlowBook {
  /** Somebody is about to pause. @returns to be called when it holds */
  pausing(what: FlowTarget, until: number | undefined): () => void;
  /** @returns to be called when it holds no more */
  resuming(what: FlowTarget): () => void;
  /** A handler asked that its account waits. */
  delaying(call: Call, laterMs: number): void;
  /** The same; its process knows it by now. */
  delayed(call: Call): void;
  /** A process begins: delays were its predecessor's alone. */
  began(): void;
  /** It may be held now. */
  mayBeHeld(entry: Entry): boolean;
  /** It may have been held at some time. */
  wasHeld(entry: Entry): boolean;
  /** As many as may be claimed of its account and consumer are. */
  isLimited(entry: Entry, plan: Plan): boolean;
  /** A call begins. */
  checkStart(entry: Entry, plan: Plan): void;
  /** Before a claim: accounts of which something could be claimed. */
  able(plan: Plan): ReadonlySet<number | undefined>;
  /** Accounts that could be claimed before it. */
  checkTurns(able: ReadonlySet<number | undefined>, claims: readonly OpenClaim[]): void;
}

interface Held extends FlowTarget {
  readonly until: number;
  /** The same by the time that does not jump: whoever waits for it has a timer. */
  readonly untilMono: number;
  readonly jumps: number;
}

interface Delay {
  readonly owner: string;
  readonly until: number;
  readonly ms: number;
  readonly mono: number;
  readonly jumps: number;
  readonly call: Call;
  isKnown: boolean;
}

const DAY_MS = 86_400_000;
/** A delay is at least this long. */
const SHORTEST_MS = 100;
/** Delays that end within this end together, at the end of it. */
const TOGETHER_MS = 50;

export function createFlowBook(books: Books): FlowBook {
  const { now, broken } = books;
  /** Those that hold for sure, and those that may. */
  const [sure, maybe] = [new Map<string, Held>(), new Map<string, Held>()];
  /** Of each, the last one that was asked for: a resume may come before it is told. */
  const asked = new Map<string, Held>();
  let delays: Delay[] = [];
  const touched = new Set<string>();
  /** Claims of each other account since one could be claimed. */
  const passed = new Map<number | undefined, Map<number | undefined, number>>();

  const keyOf = ({ consumer, accountId }: FlowTarget): string => JSON.stringify([consumer ?? null, accountId ?? null]);
  const ownerOf = ({ consumer, wire }: Entry): string => keyOf({ consumer, accountId: wire.account });
  const isOf = ({ consumer, accountId }: FlowTarget, entry: Entry): boolean =>
    (consumer === undefined || consumer === entry.consumer) &&
    (accountId === undefined || accountId === entry.wire.account);
  /** What has ended by itself has ended, though the clock is set back. */
  const holds = ({ until, jumps }: Held): boolean =>
    until === Infinity || (jumps === now.jumps() && until > now.wall());
  const isPaused = (entry: Entry): boolean => [...sure.values()].some((one) => isOf(one, entry) && holds(one));
  const mayBePaused = (entry: Entry): boolean =>
    [...maybe.values()].some(
      (one) =>
        isOf(one, entry) &&
        (one.until > now.wall() || one.untilMono > now.mono() || (one.until < Infinity && one.jumps !== now.jumps())),
    );

  const isOver = ({ until, ms, mono, jumps }: Delay, late = 0): boolean =>
    jumps === now.jumps() ? now.wall() >= until + late : now.mono() - mono > 2 * ms + DAY_MS;

  /** Only where no clock was set: else nobody but the process knows. */
  const isDelayed = (entry: Entry): boolean =>
    delays.some((one) => one.isKnown && one.jumps === now.jumps() && one.owner === ownerOf(entry) && !isOver(one));

  const limitOf = (consumer: string | undefined, plan: Plan): number =>
    Math.min(
      Infinity,
      ...plan.filter((spec) => spec.consumer === consumer).map(({ perAccount = Infinity }) => perAccount),
    );

  const mayBeHeld = (entry: Entry): boolean =>
    mayBePaused(entry) || delays.some((one) => one.owner === ownerOf(entry) && !isOver(one, TOGETHER_MS));

  function isLimited(entry: Entry, plan: Plan): boolean {
    const limit = limitOf(entry.consumer, plan);
    if (limit === Infinity) return false;
    // A claim that is lost counts until its handler ends.
    if (books.closed.size > 0) return true;
    const running = [...books.claims.values()].filter(
      ({ entries: [head] }) => head && ownerOf(head) === ownerOf(entry),
    );
    return running.length >= limit;
  }

  return {
    pausing(what, until = Infinity) {
      const held = { ...what, until, untilMono: now.mono() + until - now.wall(), jumps: now.jumps() };
      touched.add(keyOf(what));
      const before = maybe.get(keyOf(what));
      maybe.set(keyOf(what), {
        ...held,
        until: Math.max(until, before?.until ?? 0),
        untilMono: Math.max(held.untilMono, before?.untilMono ?? 0),
      });
      sure.delete(keyOf(what));
      asked.set(keyOf(what), held);
      return () => {
        if (asked.get(keyOf(what)) !== held) return;
        sure.set(keyOf(what), held);
        maybe.set(keyOf(what), held);
      };
    },
    resuming(what) {
      sure.delete(keyOf(what));
      asked.delete(keyOf(what));
      return () => void maybe.delete(keyOf(what));
    },
    delaying(call, laterMs) {
      const [head] = call.entries;
      if (laterMs === 0 || head === undefined) return;
      const ms = Math.min(Math.max(laterMs, SHORTEST_MS), DAY_MS);
      const at = { until: now.wall() + ms, ms, mono: now.mono(), jumps: now.jumps() };
      delays.push({ owner: ownerOf(head), ...at, call, isKnown: false });
      touched.add(ownerOf(head));
    },
    delayed(call) {
      for (const one of delays) if (one.call === call && call.life.alive && !call.life.closing) one.isKnown = true;
    },
    began() {
      delays = [];
      passed.clear();
    },
    mayBeHeld,
    wasHeld: (entry) =>
      [...touched].some((key) => {
        const [consumer, accountId] = JSON.parse(key) as [string | null, number | null];
        return isOf({ consumer: consumer ?? undefined, accountId: accountId ?? undefined }, entry);
      }),
    isLimited,
    checkStart(entry, plan) {
      if (isPaused(entry)) broken("nothing starts that is paused", show(entry));
      if (isDelayed(entry)) broken("nothing of an account starts before its time", show(entry));
      const limit = limitOf(entry.consumer, plan);
      // One that is stuck may never end.
      const running = [...books.calls].filter((call) => {
        const { entries, end, life } = call;
        const [head] = entries;
        return end === undefined && life.alive && !isStuck(call, books) && head && ownerOf(head) === ownerOf(entry);
      });
      if (running.length + 1 > limit) broken("no more than `perAccount` of an account", { job: show(entry), limit });
    },
    able(plan) {
      const able = new Set<number | undefined>();
      const closed = new Set(books.closed.values());
      for (const entry of books.entries.values()) {
        const { state, lane, retry, deaths, wire, isDoubtful } = entry;
        if (state !== "waiting" || able.has(wire.account) || deaths > 0 || isDoubtful) continue;
        if (lane !== undefined && (books.lanes.get(lane)?.[0] !== entry || closed.has(lane))) continue;
        if (retry !== undefined && (retry.jumps !== now.jumps() || now.wall() < retry.at)) continue;
        if (!mayBeHeld(entry) && !isLimited(entry, plan)) able.add(wire.account);
      }
      for (const account of passed.keys()) if (!able.has(account)) passed.delete(account);
      return able;
    },
    checkTurns(able, claims) {
      const served = new Set<number | undefined>();
      for (const {
        entries: [head],
      } of claims) {
        if (head === undefined) continue;
        const { account } = head.wire;
        served.add(account);
        passed.delete(account);
        for (const other of able) {
          if (served.has(other)) continue;
          const counts = passed.get(other) ?? new Map<number | undefined, number>();
          passed.set(other, counts);
          counts.set(account, (counts.get(account) ?? 0) + 1);
          if ((counts.get(account) ?? 0) > 1)
            broken("who may start starts after one of each other account", { claimed: show(head), waits: other });
        }
      }
    },
  };
}
