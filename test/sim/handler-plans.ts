import type { Wire } from "./arrivals.ts";
import type { Dice } from "./random.ts";

/** One `on` of a deploy. */
export interface Spec {
  readonly names: readonly string[];
  readonly consumer: string;
  readonly lane: Lane | undefined;
  readonly merge: boolean;
  readonly attempts: number;
  readonly retryForMs: number;
  readonly timeoutMs: number;
  readonly perAccount: number | undefined;
}

/** `by-id` and `broken` are functions of the event; the second throws for one record. */
type Lane = "record" | "resource" | "account" | "none" | "by-id" | "broken";

/** What one deploy registers. */
export type Plan = readonly Spec[];

export const CONSUMERS = ["default", "search", "audit"] as const;
const NAMES: readonly (readonly string[])[] = [
  ["email"],
  ["email.created", "email.updated"],
  ["email.deleted"],
  ["email.changes"],
  ["email.signal"],
  ["calendarEvent"],
  ["calendarEvent.changes"],
  ["calendarEvent.updated", "calendarEvent.signal"],
  ["contact"],
  ["contact.changes"],
  ["contact", "booking"],
  ["tracking"],
  ["tracking.open"],
  ["booking"],
  ["lifecycle"],
  ["lifecycle.error"],
  ["unknown"],
  ["*"],
];

/** The handlers of a deploy. */
export function makePlan(dice: Dice): Plan {
  const plan: Spec[] = [];
  for (const consumer of CONSUMERS.slice(0, dice.int(1, CONSUMERS.length))) {
    for (let tries = dice.int(1, 8); tries > 0; tries -= 1) {
      const names = dice.pick(NAMES);
      if (!fits(plan, consumer, names)) continue;
      plan.push({
        names,
        consumer,
        lane: dice.weighted({ "": 5, record: 1, resource: 2, account: 2, none: 1, "by-id": 1, broken: 1 }) || undefined,
        merge: dice.chance(0.8),
        attempts: dice.pick([1, 2, 3, 5, Infinity, Infinity, Infinity]),
        retryForMs: dice.pick([0, 5_000, 600_000, 86_400_000, 86_400_000, 86_400_000]),
        timeoutMs: dice.pick([0, 1_000, 30_000, 30_000, 1_200_000]),
        perAccount: dice.pick([undefined, undefined, undefined, undefined, 1, 2]),
      });
    }
  }
  return plan;
}

/** Some handlers go, some come, and some change their options. */
export function changePlan(dice: Dice, plan: Plan): Plan {
  const next: Spec[] = plan.filter(() => dice.chance(0.7));
  for (const spec of makePlan(dice)) if (fits(next, spec.consumer, spec.names)) next.push(spec);
  return next.map((spec) => (dice.chance(0.2) ? withLane(spec, dice.pick(["record", "account", "none"])) : spec));
}

function withLane(spec: Spec, lane: Lane): Spec {
  return { ...spec, lane };
}

/** One handler per event and consumer; `.changes` has its family to itself. */
function fits(plan: Plan, consumer: string, names: readonly string[]): boolean {
  const taken = plan.filter((spec) => spec.consumer === consumer).flatMap((spec) => spec.names);
  return names.every((name) => {
    const family = name.split(".")[0];
    const beside = taken.filter((other) => other.split(".")[0] === family);
    return !taken.includes(name) && !(isBatch([name]) ? beside.length > 0 : beside.some((other) => isBatch([other])));
  });
}

export function isBatch(names: readonly string[]): boolean {
  return names.some((name) => name.endsWith(".changes"));
}

/** Who of a consumer handles such an event: the most specific. */
export function specFor(plan: Plan, consumer: string | undefined, { type, family }: Wire): Spec | undefined {
  const own = plan.filter((spec) => spec.consumer === consumer);
  const named = (name: string): Spec | undefined => own.find(({ names }) => names.includes(name));
  if (type === "unknown") return named("unknown");
  return (
    named(type) ?? named(`${family}.changes`) ?? (type.endsWith(".signal") ? undefined : named(family)) ?? named("*")
  );
}

/** Who handles such an event, each consumer for itself. */
export function specsFor(plan: Plan, wire: Wire): readonly Spec[] {
  const consumers = new Set(plan.map(({ consumer }) => consumer));
  return [...consumers].flatMap((consumer) => specFor(plan, consumer, wire) ?? []);
}

/** A change for which there is no handler, beside one of its family. */
export function isSkipped(plan: Plan, { type, family }: Wire): boolean {
  const isChange = /\.(?:created|updated|deleted)$/.test(type);
  return isChange && plan.some(({ names }) => names.some((name) => name.split(".")[0] === family));
}

/** What a job may not overlap with. */
export function laneOf(spec: Spec, wire: Wire): string | undefined {
  const { consumer } = spec;
  const kind = spec.lane ?? (isBatch(spec.names) ? "resource" : "record");
  if (kind === "by-id" || (kind === "broken" && wire.id !== "r1")) return key(consumer, "=", laneText(spec, wire.id));
  if (kind === "none" || wire.account === undefined) return undefined;
  if (kind === "account") return key(consumer, wire.account, wire.family);
  if (kind === "resource" || wire.record === undefined) return key(consumer, wire.account, wire.resource);
  return key(consumer, wire.account, wire.resource, wire.record);
}

/** The text that the lane's function gives. */
export function laneText({ names }: Spec, id: string | undefined): string {
  return isBatch(names) ? "batch" : String(id);
}

/** What may come along in one call. */
export function mergeOf(spec: Spec, wire: Wire, source: string | undefined): string | undefined {
  const batch = isBatch(spec.names);
  const isChange = /\.(?:created|updated|deleted)$/.test(wire.type);
  if (!spec.merge || !(isChange || (batch && wire.type.endsWith(".signal")))) return undefined;
  return key(spec.names.join("+"), source ?? null, wire.account, wire.resource, batch ? null : wire.record);
}

function key(...parts: readonly unknown[]): string {
  return JSON.stringify(parts);
}
