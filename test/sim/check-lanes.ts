import type { Wire } from "./arrivals.ts";
import type { Dated } from "./event-log.ts";
import { laneOf, specFor, type Plan } from "./handler-plans.ts";
import type { FoundJob } from "./read-file.ts";

/** A call as the lines tell it. */
interface Told {
  readonly life: number;
  readonly jobs: readonly FoundJob[];
  readonly attempt: number;
  end: { readonly ok: boolean; readonly later: boolean } | undefined;
}

interface Given {
  readonly plan: Plan;
  readonly jobs: readonly FoundJob[];
  readonly wires: ReadonlyMap<FoundJob, Wire>;
}

/** Holds the calls against the lanes of the jobs. @returns the rules that do not hold */
export function holdLanes(lines: readonly Dated[], { plan, jobs, wires }: Given): string[] {
  const broken: string[] = [];
  const byId = new Map(jobs.map((job) => [job.id, job]));
  const lanes = new Map<string, FoundJob[]>();
  const announced = new Set<string>();
  const last = new Map<FoundJob, Told>();
  const handled = new Set<FoundJob>();
  const heads = new Map<string, number>();
  let open = new Map<number, Told>();
  let life = 0;

  const laneNameOf = (job: FoundJob): string => {
    const wire = wires.get(job);
    const spec = wire && specFor(plan, job.consumer, wire);
    return (spec && wire && laneOf(spec, wire)) ?? job.id;
  };
  for (const job of jobs) {
    const lane = lanes.get(laneNameOf(job));
    if (lane === undefined) lanes.set(laneNameOf(job), [job]);
    else lane.push(job);
  }

  function begin(line: Dated & { readonly is: "call" }): void {
    const newest = byId.get(line.job);
    if (newest === undefined) return void broken.push(`no job from nowhere: ${line.job}`);
    const name = laneNameOf(newest);
    const lane = lanes.get(name) ?? [];
    const end = lane.indexOf(newest) + 1;
    const first = end - line.merged;
    const call: Told = { life, jobs: lane.slice(first, end), attempt: line.attempt, end: undefined };
    const twin = [...open.values()].find(({ jobs: [one] }) => one !== undefined && laneNameOf(one) === name);
    if (twin !== undefined) broken.push(`never two at once in a lane: ${line.job}`);
    // Whoever begins says that all before it has its end.
    if (first < (heads.get(name) ?? 0)) broken.push(`never again after its next: ${line.job} in ${name}`);
    heads.set(name, first);
    const [head] = call.jobs as [FoundJob];
    const before = last.get(head);
    if (before?.end?.ok === true && before.life === life) broken.push(`never twice: ${head.id}`);
    // A merged call tells its oldest job's count: the others have their own.
    const counted = before?.jobs[0] === head ? before : undefined;
    if (counted !== undefined && line.attempt < counted.attempt + (counted.end?.later === true ? 0 : 1))
      broken.push(`attempts: ${head.id} had ${counted.attempt}, then ${line.attempt}`);
    for (const job of call.jobs) last.set(job, call);
    open.set(line.call, call);
  }

  function finish(line: Dated & { readonly is: "end" }): void {
    const call = open.get(line.call);
    open.delete(line.call);
    if (call === undefined) return;
    call.end = line;
    if (line.ok) for (const job of call.jobs) handled.add(job);
  }

  function die(): void {
    // It may have been dying of one of these: only who was alone has its third death so.
    if (open.size > 1)
      for (const { jobs: all } of open.values()) for (const job of all) crowded.set(job, (crowded.get(job) ?? 0) + 1);
    if (open.size === 1) for (const { jobs: all } of open.values()) for (const job of all) alone.add(job);
    if (open.size === 0) quietest = life;
    open = new Map();
  }
  const crowded = new Map<FoundJob, number>();
  const alone = new Set<FoundJob>();
  // The last life that ended while nothing ran: whoever was claimed alone then had not begun.
  let quietest = 0;

  for (const line of lines) {
    if (line.is === "life") {
      die();
      life = line.number;
    }
    if (line.is === "call") begin(line);
    if (line.is === "end") finish(line);
    if (line.is === "dead") announced.add(line.job);
  }
  for (const [name, lane] of lanes) {
    const began = lane.findIndex((job) => !last.has(job) && job.state === "done");
    if (began !== -1) broken.push(`no job is done without a call: ${lane[began]?.id} in ${name}`);
  }
  for (const job of jobs) {
    if (job.state === "done" && !handled.has(job)) broken.push(`done is handled: ${job.id}`);
    if (job.state !== "dead") continue;
    if (!announced.has(job.id)) broken.push(`onDead before it is dead: ${job.id}`);
    const latest = last.get(job);
    const died = latest?.end === undefined;
    if (died && !alone.has(job) && quietest <= (latest?.life ?? 0))
      broken.push(`only who was alone dies of it: ${job.id}, ${crowded.get(job) ?? 0} times not`);
  }
  return broken;
}
