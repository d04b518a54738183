import { nameOf, type Arrival, type Wire } from "./arrivals.ts";
import { holdLanes } from "./check-lanes.ts";
import type { Dated } from "./event-log.ts";
import { isSkipped, makePlan, specsFor, type Plan } from "./handler-plans.ts";
import { createDice } from "./random.ts";
import type { Findings, FoundJob } from "./read-file.ts";
import { makeTemper } from "./world-options.ts";

/** Holds what killed processes said against what is in their file. @returns the rules that do not hold */
export function hold(lines: readonly Dated[], { seed, found }: { seed: number; found: Findings }): string[] {
  const plan = planOf(seed);
  const broken: string[] = [];
  const { jobs, integrity } = found;
  if (integrity !== "ok") broken.push(`integrity: ${String(integrity)}`);
  const sent = new Map<string, { readonly arrival: Arrival; sent: number; acknowledged: number }>();
  for (const line of lines) {
    if (line.is === "sent") {
      const known = sent.get(nameOf(line.arrival)) ?? { arrival: line.arrival, sent: 0, acknowledged: 0 };
      known.sent += 1;
      sent.set(nameOf(line.arrival), known);
    }
    if (line.is === "acknowledged") (sent.get(nameOf(line)) as { acknowledged: number }).acknowledged += 1;
  }
  const made = new Map<string, FoundJob[]>();
  const wires = new Map<FoundJob, Wire>();
  for (const job of jobs) {
    const wire = sent.get(nameOf(job))?.arrival.events[job.entry];
    if (wire === undefined) broken.push(`bodies byte for byte: ${job.id} ${job.body}`);
    else {
      wires.set(job, wire);
      const key = keyOf(wire, nameOf(job), { entry: job.entry, consumer: job.consumer });
      made.set(key, [...(made.get(key) ?? []), job]);
    }
  }
  for (const [name, { arrival, ...times }] of sent) {
    for (const [entry, wire] of arrival.events.entries()) {
      for (const { consumer, states } of expectedOf(plan, wire)) {
        const own = made.get(keyOf(wire, name, { entry, consumer })) ?? [];
        const least = wire.natural === undefined ? times.acknowledged : Math.min(times.acknowledged, 1);
        const most = wire.natural === undefined ? times.sent : 1;
        if (own.length < least) broken.push(`nothing is lost: ${name} ${entry} ${consumer}: ${own.length} of ${least}`);
        if (own.length > most) broken.push(`no job too many: ${name} ${entry} ${consumer}: ${own.length} of ${most}`);
        for (const { id, state } of own)
          if (!states.includes(state)) broken.push(`every job has an end: ${id} ${wire.type} ${state}`);
      }
    }
  }
  return [...broken, ...holdLanes(lines, { plan, jobs, wires })];
}

/** The same for all lives of a world: as a child makes it. */
function planOf(seed: number): Plan {
  const dice = createDice(seed);
  makeTemper(dice);
  return makePlan(dice);
}

function expectedOf(plan: Plan, wire: Wire): { consumer: string | undefined; states: readonly string[] }[] {
  const specs = specsFor(plan, wire).map(({ consumer }) => ({ consumer, states: ["done", "dead"] }));
  return specs.length > 0
    ? specs
    : [{ consumer: undefined, states: [isSkipped(plan, wire) ? "skipped" : "unhandled"] }];
}

/** One job for what is told once, however often it comes. */
function keyOf(
  { natural }: Wire,
  name: string,
  { entry, consumer }: { readonly entry: number; readonly consumer: string | undefined },
): string {
  return JSON.stringify([natural === undefined ? [name, entry] : [natural.key, natural.content], consumer ?? null]);
}
