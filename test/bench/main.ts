import { readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { styleText } from "node:util";
import { HELP, parseArguments, type Arguments } from "./arguments.ts";
import { BenchError } from "./arguments.ts";
import { assertWrk, installPeers } from "./external-tools.ts";
import { benchDurable, durableRowsOf } from "./durable/bench.ts";
import type { Paint } from "./format-columns.ts";
import { benchJobs, measuresOf } from "./job-bench.ts";
import { describeMachine, findCores, MOST_BUSY, type Machine } from "./machine.ts";
import { toPageTable } from "./page-table.ts";
import { benchPostgres, postgresRowsOf } from "./postgres/bench.ts";
import { benchRequests, contendersOf } from "./request-bench.ts";

// No colours if the output is no terminal or NO_COLOR is set.
const paint: Paint = (style, text) => styleText(style, text, { stream: process.stdout });

const log = (line: string): void => console.error(line);

async function bench(given: Arguments): Promise<void> {
  const contenders = contendersOf(given.only);
  const durable = durableRowsOf(given.only);
  const measures = measuresOf(given.only);
  const postgres = postgresRowsOf(given.only);
  const needsLoad = contenders.length > 0 || durable.length > 0;
  if (needsLoad) assertWrk();
  const page = given.page === undefined ? undefined : readFileSync(given.page, "utf8");
  if (postgres.length > 0 || [...contenders, ...durable].some(({ kind }) => kind === "peer")) installPeers(log);
  const machine = await describeMachine();
  const cores = findCores();
  describe(machine, cores !== undefined || !needsLoad);

  const requests = contenders.length > 0 ? await benchRequests(contenders, given, { cores, log, paint }) : undefined;
  const disk = durable.length > 0 ? await benchDurable(durable, { quick: given.quick, cores, log, paint }) : undefined;
  const jobs = measures.length > 0 ? await benchJobs(measures, given, { log, paint }) : undefined;
  const queues = postgres.length > 0 ? await benchPostgres(postgres, given, { log, paint }) : undefined;
  const file = given.json ?? join(tmpdir(), `hookline-bench-${Date.now()}.json`);
  const { rounds, quick } = given;
  writeFileSync(
    file,
    `${JSON.stringify({ machine, cores, rounds, quick, ...requests, disk, jobs, queues }, null, 2)}\n`,
  );
  console.log(`\nFigures: ${file}`);
  const parts = [requests, disk, jobs, queues];
  if (page !== undefined)
    console.log(
      `\n${toPageTable(
        page,
        parts.flatMap((part) => part?.reached ?? []),
      ).join("\n")}`,
    );
  const failures = Object.assign({}, ...parts.map((part) => part?.failures)) as Readonly<Record<string, string>>;
  if (Object.keys(failures).length > 0) process.exitCode = 1;
}

function describe({ cpu, cores, node, load, busy }: Machine, pinned: boolean): void {
  console.log(`${cpu}, ${cores} cores, Node ${node}, load ${load.toFixed(2)} at the start.`);
  if (!pinned)
    console.log(
      paint(
        "yellow",
        "Server and client share the cores (taskset or a second core is missing): the ratios are imprecise.",
      ),
    );
  if (busy > MOST_BUSY)
    console.log(
      paint(
        "yellow",
        `Other processes use ${Math.round(busy * 100)} % of the machine: use the CPU ratios, and measure again when it is idle.`,
      ),
    );
}

try {
  const given = parseArguments(process.argv.slice(2));
  if (given.help) console.log(HELP);
  else await bench(given);
} catch (error) {
  if (!(error instanceof BenchError)) throw error;
  log(error.message);
  process.exitCode = 2;
}
