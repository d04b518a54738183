import assert from "node:assert/strict";
import type { JobOutcome } from "../../../src/inbox/port/claims.ts";
import { rulesOf } from "../inbox/pausing.ts";
import { arrivalOf } from "./arrivals.ts";
import { compareClaims } from "./compare.ts";
import type { Course } from "./model-state.ts";
import type { OutcomeToGive, Step } from "./steps.ts";

const NOTHING = { duplicates: [], conflicts: [] };

type StepOf<D extends Step["do"]> = Extract<Step, { readonly do: D }>;

export async function store(at: Course, { deliveries }: StepOf<"store">): Promise<void> {
  const { plain, bench } = at;
  const arrivals = deliveries.map((each, index) => arrivalOf(each, at.stored + index));
  at.stored += deliveries.length;
  const given = arrivals.map((each, index) => (deliveries[index]?.expanded ? each : { ...each, events: undefined }));
  const stored = await at.inbox.store(given);
  assert.equal(stored.length, given.length, "store answers each delivery");
  for (const [index, { delivery, events }] of arrivals.entries()) {
    const [answer, { account, expanded }] = [stored[index], deliveries[index] ?? { account: 0, expanded: false }];
    if (answer === undefined || answer instanceof Error) throw answer ?? new Error("store gave no answer");
    const parcel = { id: answer.id, delivery, accountId: account, events, cursor: 0 };
    const expected = plain.store(parcel, expanded, { said: answer, now: bench.clock.now() });
    assert.deepEqual(answer, { id: answer.id, ...expected }, `store says something else of delivery ${answer.id}`);
  }
}

export async function expand({ inbox, plain, bench }: Course, { max, part }: StepOf<"expand">): Promise<void> {
  const given = await inbox.unexpanded(max);
  const parcels = plain.unexpanded.slice(0, max);
  assert.deepEqual(
    given.map(({ id, cursor }) => ({ id, cursor })),
    parcels.map(({ id, cursor }) => ({ id, cursor })),
    "unexpanded gives other deliveries than the oldest",
  );
  const counts = parcels.map((parcel, index) => {
    const left = parcel.events.length - parcel.cursor;
    return part && index === parcels.length - 1 ? Math.min(1, left) : left;
  });
  const expansions = parcels.map(({ id, events, cursor }, index) => {
    const end = cursor + (counts[index] ?? 0);
    return { id, events: events.slice(cursor, end), cursor: end < events.length ? end : undefined };
  });
  const seen = await inbox.expand(expansions);
  const expected = parcels.map((parcel, index) =>
    plain.expand(parcel, counts[index] ?? 0, { said: seen[index] ?? NOTHING, now: bench.clock.now() }),
  );
  assert.deepEqual(seen, expected, "expand says something else of duplicates and conflicts");
  const whole = expansions.filter(({ cursor }) => cursor === undefined);
  const nothing = whole.map(() => NOTHING);
  assert.deepEqual(await inbox.expand(whole), nothing, "what is expanded already makes nothing");
}

export async function claim(at: Course, limits: Omit<StepOf<"claim">, "do">): Promise<void> {
  const { max, mergeMax, slots, suspects } = limits;
  const asked = { max, mergeMax, slots, suspects, rules: rulesOf(at.inbox) };
  const claimed = await at.inbox.claim(asked);
  const runs = compareClaims(claimed, at.plain, { limits: asked, now: at.bench.clock.now() });
  for (const [index, each] of claimed.claims.entries())
    at.held.push({ claim: each, run: runs[index] ?? [], stands: true });
}

export async function settle(
  { inbox, plain, bench, held: all }: Course,
  places: readonly number[],
  outcomes: readonly OutcomeToGive[],
): Promise<void> {
  const now = bench.clock.now();
  const inTurn = [...all.filter(({ stands }) => stands), ...all.filter(({ stands }) => !stands).toReversed()];
  const held = places.flatMap((place) => inTurn[place] ?? []);
  const given = outcomes.map((outcome) => outcomeOf(outcome, now));
  const told = await inbox.settle(
    held.map(({ claim: each, run }) => ({ claim: each, outcomes: given.slice(0, run.length) })),
  );
  const expected = held.map((each) => {
    if (!each.stands) return false;
    each.stands = false;
    for (const [index, job] of each.run.entries()) plain.settle(job, given[index] ?? { to: "release" }, now);
    return true;
  });
  plain.remove(({ state }) => state === "done");
  assert.deepEqual(told, expected, "settle is true for a claim that stands, once, and false for a lost one");
}

function outcomeOf(outcome: OutcomeToGive, now: number): JobOutcome {
  const error = { name: "Error", message: `${outcome} at ${now}`, at: now };
  if (typeof outcome === "number")
    return { to: "retry", at: now + outcome, delayMs: outcome, counted: outcome % 2 === 0, error };
  if (outcome === "over") return { to: "dead", error, ofWindow: true };
  return outcome === "dead" ? { to: outcome, error } : { to: outcome };
}
