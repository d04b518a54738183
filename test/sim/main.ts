import { parseArgs } from "node:util";
import sharePostgres from "../support/postgres/shared-server.ts";
import { runSeed as runWithEmulator } from "../emulator/simulation/run-seed.ts";
import { WAYS } from "./broken-inbox/broken-inbox.ts";
import { runBroken } from "./broken-inbox/run-broken.ts";
import { runChildren } from "./child-processes.ts";
import { commandFor, isRepeatable, NOT_REPEATABLE, report } from "./report.ts";
import { runSeed } from "./run-seed.ts";
import { STORES, type StoreName } from "./stores.ts";
import { runMany } from "./worker-threads.ts";

const HELP = `Lives through simulated worlds, one for each seed, and says which rules do not hold.

Usage: npm run test:sim -- [flags]

Flags:
  --seed N     This one alone, with its story.
  --seeds N    So many. Default: 10000.
  --from N     The first of them. Default: 1.
  --inbox I    memory, sqlite, sqlite-thread, or postgres. Default: memory. No two runs of a seed are the same on sqlite-thread,
               which commits on a thread of its own, nor on postgres, a real server: there a seed may have to run again to fail.
  --children   Each process of a world is a real one that works on a file and is killed. Default: 100 seeds.
  --emulator   A world is an emulator of the service and a receiver on its clock, in one process; each 500th is over sockets.
  --broken     A world is a receiver whose inbox breaks in one of twenty ways; each seed has all of them. Default: 100 seeds.
  --help       Print this.
`;

/** After so many broken worlds there is nothing more to learn. */
const ENOUGH = 10;
const SAY_EVERY = 1_000;
/** Of processes that are killed in one world. */
const DEATHS = 5;

const { values } = parseArgs({
  options: {
    seed: { type: "string" },
    seeds: { type: "string" },
    from: { type: "string", default: "1" },
    inbox: { type: "string", default: "memory" },
    children: { type: "boolean", default: false },
    emulator: { type: "boolean", default: false },
    broken: { type: "boolean", default: false },
    help: { type: "boolean", default: false },
  },
});

const store = toStore(values.inbox);
const seeds = values.seeds ?? (values.children || values.broken ? "100" : "10000");

// One server for all threads.
const endServer = store === "postgres" && !values.help ? await sharePostgres() : undefined;
if (values.help) console.log(HELP);
else if (values.broken) await runBrokenInboxes();
else if (values.emulator) await runEmulators();
else if (values.children) await runFamilies();
else if (values.seed === undefined)
  await runRange({ from: toNumber("from", values.from), count: toNumber("seeds", seeds) });
else await runOne(toNumber("seed", values.seed));
await endServer?.();

async function runOne(seed: number): Promise<void> {
  const outcome = await runSeed(seed, store);
  console.log(outcome.trace.join("\n"));
  console.log(`\n${outcome.failure ?? `seed ${seed}: every rule held`}`);
  if (!isRepeatable(store)) console.log(NOT_REPEATABLE);
  if (outcome.failure !== undefined) process.exitCode = 1;
}

async function runRange(range: { readonly from: number; readonly count: number }): Promise<void> {
  const since = performance.now();
  const broken: number[] = [];
  let done = 0;
  let calls = 0;
  await runMany({ ...range, store }, (outcome) => {
    done += 1;
    calls += outcome.calls;
    if (outcome.failure !== undefined) {
      broken.push(outcome.seed);
      console.error(report(outcome, store));
    }
    if (done % SAY_EVERY === 0) console.error(`${done} of ${range.count} worlds`);
    return broken.length < ENOUGH;
  });
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  console.log(`${done} worlds in ${seconds} s, ${calls} calls of handlers, ${broken.length} broken`);
  if (broken.length === 0) return;
  console.log(broken.map((seed) => commandFor(seed, store)).join("\n"));
  if (!isRepeatable(store)) console.log(NOT_REPEATABLE);
  process.exitCode = 1;
}

async function runFamilies(): Promise<void> {
  const [from, count] =
    values.seed === undefined
      ? [toNumber("from", values.from), toNumber("seeds", seeds)]
      : [toNumber("seed", values.seed), 1];
  const total = { broken: 0, killed: 0, acknowledged: 0, calls: 0 };
  for (let seed = from; seed < from + count; seed += 1) {
    const { lines, broken } = await runChildren(seed, DEATHS);
    total.killed += DEATHS;
    for (const { is } of lines) {
      if (is === "acknowledged") total.acknowledged += 1;
      if (is === "call") total.calls += 1;
    }
    if (broken.length === 0) continue;
    total.broken += 1;
    console.error(`seed ${seed}:\n${broken.slice(0, ENOUGH).join("\n")}`);
  }
  console.log(
    `${count} worlds, ${total.killed} processes killed, ${total.acknowledged} deliveries acknowledged, ${total.calls} calls, ${total.broken} worlds broken`,
  );
  if (total.broken > 0) process.exitCode = 1;
}

async function runBrokenInboxes(): Promise<void> {
  const from = toNumber("from", values.seed ?? values.from);
  const count = values.seed === undefined ? toNumber("seeds", seeds) : 1;
  const broken: string[] = [];
  for (let seed = from; seed < from + count && broken.length < ENOUGH; seed += 1)
    for (const way of WAYS) broken.push(...(await runBroken(seed, way)));
  console.log([...broken, `${count * WAYS.length} broken inboxes, ${broken.length} rules that do not hold`].join("\n"));
  if (broken.length > 0) process.exitCode = 1;
}

async function runEmulators(): Promise<void> {
  const since = performance.now();
  const [from, count] =
    values.seed === undefined
      ? [toNumber("from", values.from), toNumber("seeds", seeds)]
      : [toNumber("seed", values.seed), 1];
  const broken: number[] = [];
  let attempts = 0;
  for (let seed = from; seed < from + count && broken.length < ENOUGH; seed += 1) {
    const outcome = await runWithEmulator(seed, seed % 500 === 0);
    attempts += outcome.attempts;
    if (outcome.broken.length === 0) continue;
    broken.push(seed);
    console.error(`seed ${seed}:\n${outcome.broken.slice(0, ENOUGH).join("\n")}`);
  }
  const seconds = ((performance.now() - since) / 1_000).toFixed(1);
  console.log(`${count} worlds in ${seconds} s, ${attempts} attempts to deliver, ${broken.length} broken`);
  if (broken.length > 0) process.exitCode = 1;
}

function toNumber(flag: string, text: string): number {
  if (/^\d{1,9}$/.test(text)) return Number(text);
  throw new RangeError(`--${flag} got "${text}", expected a whole number.`);
}

function toStore(text: string): StoreName {
  const found = STORES.find((name) => name === text);
  if (found !== undefined) return found;
  throw new RangeError(`--inbox got "${text}", expected one of ${STORES.join(", ")}.`);
}
