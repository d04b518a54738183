import type { Claim } from "../../src/inbox/port/claims.ts";
import type { Arrival, Wire } from "./arrivals.ts";
import type { Plan } from "./handler-plans.ts";

/** A job as the ledger has it. */
export interface Entry {
  readonly key: string;
  /** In the order of their making, from 1. */
  readonly number: number;
  readonly wire: Wire;
  readonly source: string | undefined;
  readonly consumer: string | undefined;
  readonly lane: string | undefined;
  readonly merge: string | undefined;
  readonly replay: boolean;
  /** Known from its first claim on. */
  id: string | undefined;
  state: "waiting" | "running" | "done" | "skipped" | "dead" | "unhandled" | "removed";
  attempts: number;
  deaths: number;
  /** Of a suspect: it was in a group that died, and is in none with more than half as many. */
  groupMax: number;
  /** It was stored by a process that died before it was claimed, and may have been marked for it: a death more may be counted, once. */
  isDoubtful: boolean;
  /** What was beside it when the process died over it for the third time. */
  company: string | undefined;
  firstAt: number | undefined;
  /** The process died in its first attempt: where the commit that made it had marked it, that commit's time is the attempt's until it is settled. */
  isFirstAtMarked: boolean;
  /** When the first attempt was of one before it in its lane that died of its window. */
  inherited: number | undefined;
  /** The same where it came while that was written: it may have inherited it, or not. */
  mayInherit: number | undefined;
  /** The last one. */
  claim: OpenClaim | undefined;
  /** It failed once, or asked for more time. */
  erred: boolean;
  /** Of its retry: when it was settled so, and how often the wall clock had jumped until then. */
  retry: { readonly at: number; readonly delayMs: number; readonly mono: number; readonly jumps: number } | undefined;
}

/** How a handler ended. */
export interface End {
  readonly ok: boolean;
  readonly verdict: "failed" | "give-up" | { readonly laterMs: number; readonly ofAccount: boolean };
  /** Wall-clock time. */
  readonly at: number;
  /** How often that had jumped until then. */
  readonly jumps: number;
}

/** One call of a handler. */
export interface Call {
  readonly entries: readonly Entry[];
  readonly life: LifeFacts;
  readonly suspect: boolean;
  /** Time that does not jump. */
  readonly startedAt: number;
  abortedAt: number | undefined;
  end: End | undefined;
}

/** A claim that stands. */
export interface OpenClaim {
  readonly claim: Claim;
  readonly entries: readonly Entry[];
  readonly life: LifeFacts;
  /** Those of one look at the inbox have the same. */
  readonly look: object;
  call: Call | undefined;
}

/** What the ledger must know of a process. */
export interface LifeFacts {
  readonly number: number;
  readonly plan: Plan;
  readonly alive: boolean;
  readonly closing: boolean;
  /** Its inbox was closed. */
  readonly shut: boolean;
  /** A settle of it was refused or answered wrongly: counts need not add up. */
  settleFailed: boolean;
}

/** What the ledger must know of the world. */
interface Now {
  wall(): number;
  mono(): number;
  jumps(): number;
}

/** A stored delivery that is not wholly expanded. */
interface Unopened {
  readonly id: string;
  readonly arrival: Arrival;
  cursor: number;
}

/** All that was stored, and what became of it. */
export interface Books {
  readonly now: Now;
  readonly limits: Limits;
  /** Jobs until now. */
  made: number;
  readonly entries: Map<string, Entry>;
  readonly byId: Map<string, Entry>;
  /** Unsettled jobs in order of sequence. */
  readonly lanes: Map<string, Entry[]>;
  /** Jobs that this process has made. */
  readonly fresh: Set<Entry>;
  readonly claims: Map<Claim, OpenClaim>;
  readonly calls: Set<Call>;
  /** Lanes of claims that were erased: closed until their handlers have ended. */
  readonly closed: Map<Claim, string | undefined>;
  backlog: Unopened[];
  /** Somebody took a suspect away while it waited. */
  suspectsLeft: boolean;
  /** Ids of jobs that `onDead` was told of. */
  readonly announced: Set<string>;
  readonly tally: { done: number; released: number };
  /** Says that a rule does not hold. */
  broken(rule: string, detail: unknown): void;
}

/** Options of the receivers. */
export interface Limits {
  readonly fairness: "account" | "none";
  readonly concurrency: number;
  readonly maxStuck: number;
  readonly graceMs: number;
}

/** Nothing was stored yet. */
export function createBooks(limits: Limits, rest: Pick<Books, "now" | "broken">): Books {
  return {
    ...rest,
    limits,
    made: 0,
    entries: new Map(),
    byId: new Map(),
    lanes: new Map(),
    fresh: new Set(),
    claims: new Map(),
    calls: new Set(),
    closed: new Map(),
    backlog: [],
    suspectsLeft: false,
    announced: new Set(),
    tally: { done: 0, released: 0 },
  };
}

/** When the time began in which it is tried again: its own, or what it has inherited. */
export function windowStart({ firstAt = Infinity, inherited = Infinity }: Entry): number {
  return Math.min(firstAt, inherited);
}

/** Takes it out of its lane. */
export function leave(books: Books, entry: Entry, state: Entry["state"]): void {
  if (state === "removed" && entry.deaths >= 2) books.suspectsLeft = true;
  entry.state = state;
  if (entry.lane === undefined) return;
  const lane = books.lanes.get(entry.lane) ?? [];
  const place = lane.indexOf(entry);
  if (place !== -1) lane.splice(place, 1);
  if (lane.length === 0) books.lanes.delete(entry.lane);
}

/** For messages. */
export function show(entry: Entry): string {
  return `${entry.key} ${entry.wire.type} ${entry.wire.record ?? ""}`;
}
