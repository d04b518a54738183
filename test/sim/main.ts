import { parseArgs } from "node:util";
import { runMany, type Range } from "./crew.ts";
import { commandFor, report } from "./report.ts";
import { runSeed } from "./run.ts";

const HELP = `Lives through simulated worlds, one for each seed, and says which rules do not hold.

Usage: npm run test:sim -- [flags]

Flags:
  --seed N     This one alone, with its story.
  --seeds N    So many. Default: 10000.
  --from N     The first of them. Default: 1.
  --help       Print this.
`;

/** After so many broken worlds there is nothing more to learn. */
const ENOUGH = 10;
const SAY_EVERY = 1_000;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string", default: "10000" },
    from: { type: "string", default: "1" },
    help: { type: "boolean", default: false },
  },
});

if (values.help) console.log(HELP);
else if (values.seed === undefined) await runRange({ from: toNumber("from"), count: toNumber("seeds") });
else await runOne(toNumber("seed"));

async function runOne(seed: number): Promise<void> {
  const outcome = await runSeed(seed);
  console.log(outcome.trace.join("\n"));
  console.log(`\n${outcome.failure ?? `seed ${seed}: every rule held`}`);
  if (outcome.failure !== undefined) process.exitCode = 1;
}

async function runRange(range: Range): Promise<void> {
  const since = performance.now();
  const broken: number[] = [];
  let done = 0;
  let calls = 0;
  await runMany(range, (outcome) => {
    done += 1;
    calls += outcome.calls;
    if (outcome.failure !== undefined) {
      broken.push(outcome.seed);
      console.error(report(outcome));
    }
    if (done % SAY_EVERY === 0) console.error(`${done} of ${range.count} worlds`);
    return broken.length < ENOUGH;
  });
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  console.log(`${done} worlds in ${seconds} s, ${calls} calls of handlers, ${broken.length} broken`);
  if (broken.length === 0) return;
  console.log(broken.map(commandFor).join("\n"));
  process.exitCode = 1;
}

function toNumber(flag: "seed" | "seeds" | "from"): number {
  const text = values[flag] ?? "";
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new RangeError(`--${flag} got "${text}", expected a whole number.`);
}
