import type { Expanded, NewEvent } from "../../src/inbox/port/delivery.ts";
import type { StoredJob } from "../../src/inbox/port/jobs.ts";
import type { Arrival, Wire } from "./arrivals.ts";
import { createUniques } from "./dedupe-rules.ts";
import { isSkipped, laneOf, mergeOf, specsFor, type Plan, type Spec } from "./handler-plans.ts";
import { leave, show, type Books, type Entry, type LifeFacts } from "./ledger.ts";

/** What is stored, and the jobs that must come of it. */
export interface Keeping {
  stored(arrival: Arrival, commit: Commit & { readonly id: string; readonly expanded: boolean }): void;
  /** A part of a delivery that was stored before. */
  expanded(id: string, commit: Commit & { readonly cursor: number | undefined }): void;
  /** An unhandled job was replaced by these. */
  reopened(life: LifeFacts, replacement: Replacement): void;
  /** Jobs by hand. */
  replayed(jobs: readonly StoredJob[]): void;
  removed(jobs: readonly StoredJob[]): void;
  erased(account: number): void;
}

/** Events that became jobs in one write. */
interface Commit {
  readonly life: LifeFacts;
  /** Undefined: stored as it is. */
  readonly events: readonly NewEvent[] | undefined;
  readonly seen: Expanded;
}

interface Replacement {
  readonly job: StoredJob;
  readonly consumers: readonly (string | undefined)[];
}

const MOST_EVENTS = 1_000;

export function createKeeping(books: Books): Keeping {
  const uniques = createUniques();
  /** Each lane of the rules with the text that stands for it, both ways. */
  const texts = new Map<string, string>();
  const lanes = new Map<string, string>();

  function add(
    origin: Pick<Entry, "wire" | "source" | "replay">,
    place: string,
    spec: Spec | Entry | "skipped" | "unhandled",
  ): void {
    const isState = typeof spec === "string";
    const entry: Entry = {
      key: `${place}.${isState ? "" : spec.consumer}`,
      number: (books.made += 1),
      wire: origin.wire,
      source: origin.source,
      replay: origin.replay,
      consumer: isState ? undefined : spec.consumer,
      lane: isState ? undefined : "key" in spec ? spec.lane : laneOf(spec, origin.wire),
      merge: isState ? undefined : "key" in spec ? spec.merge : mergeOf(spec, origin.wire, origin.source),
      id: undefined,
      state: isState ? spec : "waiting",
      attempts: 0,
      deaths: 0,
      groupMax: Infinity,
      isDoubtful: false,
      company: undefined,
      firstAt: undefined,
      isFirstAtMarked: false,
      inherited: undefined,
      mayInherit: undefined,
      claim: undefined,
      erred: false,
      retry: undefined,
    };
    books.entries.set(entry.key, entry);
    books.fresh.add(entry);
    if (entry.lane === undefined || entry.state !== "waiting") return;
    const lane = books.lanes.get(entry.lane);
    if (lane === undefined) books.lanes.set(entry.lane, [entry]);
    else lane.push(entry);
  }

  /** Different lanes have different texts, or one would wait for the other; and one lane has one text. */
  function compareLane(expected: string | undefined, text: string | undefined, wire: Wire): void {
    if ((expected === undefined) !== (text === undefined)) books.broken("lane", { wire, expected, text });
    if (expected === undefined || text === undefined) return;
    if ((texts.get(expected) ?? text) !== text || (lanes.get(text) ?? expected) !== expected)
      books.broken("lane", { wire, expected, text });
    texts.set(expected, text);
    lanes.set(text, expected);
  }

  function expand(arrival: Arrival, id: string, { life, events = [], seen }: Commit): void {
    const duplicates: number[] = [];
    const conflicts: number[] = [];
    for (const [index, { entry, jobs }] of events.entries()) {
      const wire = arrival.events[entry];
      if (wire === undefined) return books.broken("entries", { id, entry });
      const verdict = uniques.look(wire.natural, books.now.wall(), verdictOf(seen, index));
      if (verdict === "conflict") conflicts.push(index);
      if (verdict === "duplicate") duplicates.push(index);
      else make(arrival, { id, entry, wire, jobs, plan: life.plan });
    }
    if (String(seen.duplicates) !== String(duplicates) || String(seen.conflicts) !== String(conflicts))
      books.broken("dedupe", { id, seen, duplicates, conflicts });
  }

  function make(
    { source }: Arrival,
    made: { id: string; entry: number; wire: Wire; jobs: NewEvent["jobs"]; plan: Plan },
  ): void {
    const { wire, plan } = made;
    const specs = specsFor(plan, wire);
    const origin = { wire, source, replay: false };
    const place = `${made.id}.${made.entry}`;
    const states = specs.length > 0 ? [] : [isSkipped(plan, wire) ? ("skipped" as const) : ("unhandled" as const)];
    for (const one of [...specs, ...states]) add(origin, place, one);
    const expected = [...specs.map(({ consumer }) => `waiting ${consumer}`), ...states.map((state) => `${state} -`)];
    const got = made.jobs.map(({ state, consumer }) => `${state} ${consumer ?? "-"}`);
    if (expected.toSorted().join() !== got.toSorted().join()) books.broken("jobs", { wire, expected, got });
    for (const spec of specs)
      compareLane(laneOf(spec, wire), made.jobs.find(({ consumer }) => consumer === spec.consumer)?.lane, wire);
  }

  const entryOf = (job: StoredJob): Entry | undefined => {
    const entry = books.entries.get(keyOf(job));
    if (entry?.state !== job.state)
      books.broken("states", { job: keyOf(job), state: job.state, expected: entry?.state });
    return entry;
  };

  return {
    stored(arrival, { id, expanded, ...commit }) {
      if (expanded && (books.backlog.length > 0 || commit.events === undefined))
        books.broken("expansion follows delivery ids", { id, before: books.backlog.map((one) => one.id) });
      if (!expanded) books.backlog.push({ id, arrival, cursor: 0 });
      else if (commit.events?.length === arrival.events.length) expand(arrival, id, commit);
      else books.broken("entries", { id, got: commit.events?.length, expected: arrival.events.length });
    },
    expanded(id, { cursor, ...commit }) {
      const first = books.backlog[0];
      if (first?.id !== id) {
        if (books.backlog.some((one) => one.id === id)) books.broken("expansion follows delivery ids", { id });
        return; // erased meanwhile
      }
      const { arrival } = first;
      const count = commit.events?.length ?? 0;
      if (count === 0 && cursor === first.cursor) return; // whether the inbox takes anything at all
      if (count > MOST_EVENTS || commit.events?.[0]?.entry !== first.cursor)
        books.broken("expanded in parts", { id, count, cursor: first.cursor });
      expand(arrival, id, commit);
      first.cursor += count;
      const whole = first.cursor === arrival.events.length;
      if (whole !== (cursor === undefined)) books.broken("expanded in parts", { id, cursor });
      if (whole) books.backlog.shift();
    },
    reopened(life, { job, consumers }) {
      const entry = entryOf(job);
      if (entry === undefined) return;
      const all = specsFor(life.plan, entry.wire);
      const specs = all.filter(({ consumer }) => (entry.consumer ?? consumer) === consumer);
      const expected = specs.map(({ consumer }) => String(consumer));
      if (expected.toSorted().join() !== consumers.map(String).toSorted().join())
        books.broken("reopened for those who handle it", { job: show(entry), consumers, expected });
      entry.state = "removed";
      for (const spec of specs) add(entry, placeOf(job), spec);
    },
    replayed(jobs) {
      for (const job of jobs) {
        const entry = entryOf(job);
        if (entry?.consumer === undefined) continue;
        entry.state = "removed";
        add({ ...entry, replay: true }, placeOf(job), entry);
      }
    },
    removed(jobs) {
      for (const job of jobs) {
        const entry = entryOf(job);
        if (entry !== undefined) leave(books, entry, "removed");
      }
    },
    erased(account) {
      for (const [claim, { entries }] of books.claims) {
        if (!entries.some(({ wire }) => wire.account === account)) continue;
        books.claims.delete(claim);
        books.closed.set(claim, entries[0]?.lane);
      }
      for (const entry of books.entries.values())
        if (entry.wire.account === account && !["done", "skipped"].includes(entry.state))
          leave(books, entry, "removed");
      books.backlog = books.backlog.filter(({ arrival }) => arrival.events[0]?.account !== account);
    },
  };
}

function verdictOf({ duplicates, conflicts }: Expanded, index: number): "duplicate" | "conflict" | "new" {
  if (duplicates.includes(index)) return "duplicate";
  return conflicts.includes(index) ? "conflict" : "new";
}

function placeOf({ deliveryId, entry }: StoredJob): string {
  return `${deliveryId}.${entry}`;
}

function keyOf(job: StoredJob): string {
  return `${placeOf(job)}.${job.consumer ?? ""}`;
}
