import type { Arguments } from "./arguments.ts";
import { BASELINE, CONTENDERS, MOUNTS, type Contender } from "./contenders.ts";
import { toRow } from "./figures.ts";
import type { Paint } from "./format-columns.ts";
import { GOALS, requestGoalResultsOf } from "./goals.ts";
import type { Cores } from "./machine.ts";
import { measureRounds } from "./rounds.ts";
import { toTable } from "./table.ts";

/** The chosen contenders, with their baselines. */
export function contendersOf(only: readonly string[] | undefined): readonly Contender[] {
  const all = [...CONTENDERS, ...MOUNTS];
  if (only === undefined) return all;
  const asked = all.filter(({ name }) => only.includes(name));
  if (asked.length === 0) return [];
  const others = GOALS.flatMap(({ name, of }) => (only.includes(name) ? of : []));
  const names = new Set([BASELINE, ...only, ...others]);
  return all.filter(({ name }) => names.has(name));
}

/** Measures requests/s, and prints the results. */
export async function benchRequests(
  contenders: readonly Contender[],
  { rounds, quick }: Pick<Arguments, "rounds" | "quick">,
  {
    cores,
    log,
    paint,
  }: { readonly cores: Cores | undefined; readonly log: (line: string) => void; readonly paint: Paint },
) {
  const [warmUpSeconds, seconds] = quick ? [0.4, 0.7] : [1.5, 4];
  const plan = { contenders, rounds, warmUpSeconds, seconds, fresh: !quick, cores, log };
  const { samples, failures } = await measureRounds(plan);

  const baseline = samples.get(BASELINE) ?? [];
  const rows = contenders.flatMap((contender) => {
    const own = samples.get(contender.name);
    return own === undefined ? [] : [toRow(contender, own, baseline)];
  });
  const reached = requestGoalResultsOf(samples);
  console.log(`\n${toTable({ rows, failures, reached }, paint)}`);
  return { warmUpSeconds, seconds, rows, failures: Object.fromEntries(failures), reached };
}
