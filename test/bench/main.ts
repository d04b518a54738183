import { writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { HELP, parseArguments, type Arguments } from "./arguments.ts";
import { assertWrk, installPeers } from "./commands.ts";
import { BASELINE, CONTENDERS, type Contender } from "./contenders.ts";
import { toRow } from "./figures.ts";
import { GOALS, reachedOf } from "./goals.ts";
import { describeMachine, findCores, MOST_BUSY, type Machine } from "./machine.ts";
import { Problem } from "./problem.ts";
import { measureRounds } from "./rounds.ts";
import { toTable, type Paint } from "./table.ts";

// Plain where the output is no terminal, and where NO_COLOR is set.
const paint: Paint = (style, text) => styleText(style, text, { stream: process.stdout });

const say = (line: string): void => console.error(line);

async function bench(given: Arguments): Promise<void> {
  assertWrk();
  const contenders = contendersOf(given.only);
  if (contenders.some(({ kind }) => kind === "peer")) installPeers(say);
  const machine = await describeMachine();
  const cores = findCores();
  describe(machine, cores !== undefined);

  const [warmUpSeconds, seconds] = given.quick ? [0.4, 0.7] : [1.5, 4];
  const { rounds } = given;
  const plan = { contenders, rounds, warmUpSeconds, seconds, fresh: !given.quick, cores, say };
  const { samples, failures } = await measureRounds(plan);

  const baseline = samples.get(BASELINE) ?? [];
  const rows = contenders.flatMap((contender) => {
    const own = samples.get(contender.name);
    return own === undefined ? [] : [toRow(contender, own, baseline)];
  });
  const reached = reachedOf(samples);
  console.log(`\n${toTable({ rows, failures, reached }, paint)}`);
  const file = given.json ?? join(tmpdir(), `hookline-bench-${Date.now()}.json`);
  const facts = {
    machine,
    cores,
    rounds,
    warmUpSeconds,
    seconds,
    rows,
    failures: Object.fromEntries(failures),
    reached,
  };
  writeFileSync(file, `${JSON.stringify(facts, null, 2)}\n`);
  console.log(`\nFigures: ${file}`);
  if (failures.size > 0) process.exitCode = 1;
}

/** Those asked for, with what they are compared with. */
function contendersOf(only: readonly string[] | undefined): readonly Contender[] {
  if (only === undefined) return CONTENDERS;
  const others = GOALS.flatMap(({ name, of }) => (only.includes(name) ? of : []));
  const names = new Set([BASELINE, ...only, ...others]);
  return CONTENDERS.filter(({ name }) => names.has(name));
}

function describe({ cpu, cores, node, load, busy }: Machine, pinned: boolean): void {
  console.log(`${cpu}, ${cores} cores, Node ${node}, load ${load.toFixed(2)} at the start.`);
  if (!pinned)
    console.log(
      paint(
        "yellow",
        "Server and client share the cores here (taskset and two cores are wanted): the ratios are rough.",
      ),
    );
  if (busy > MOST_BUSY)
    console.log(
      paint(
        "yellow",
        `Others use ${Math.round(busy * 100)} % of the machine: go by the CPU ratios, and measure again when it rests.`,
      ),
    );
}

try {
  const given = parseArguments(process.argv.slice(2));
  if (given.help) console.log(HELP);
  else await bench(given);
} catch (error) {
  if (!(error instanceof Problem)) throw error;
  say(error.message);
  process.exitCode = 2;
}
