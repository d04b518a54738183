import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { BenchError } from "./arguments.ts";
import { checkAnswers } from "./check-answers.ts";
import { BASELINE, type Contender } from "./contenders.ts";
import { toSample, type Sample } from "./figures.ts";
import { runLoad } from "./load.ts";
import type { Cores } from "./machine.ts";
import { createScripts } from "./requests.ts";
import { startServer, type Server } from "./server.ts";

export interface Plan {
  readonly contenders: readonly Contender[];
  readonly rounds: number;
  readonly warmUpSeconds: number;
  readonly seconds: number;
  /** A new process for every round; else one for all rounds, warmed up once. */
  readonly fresh: boolean;
  readonly cores: Cores | undefined;
  readonly log: (line: string) => void;
}

export interface Measured {
  /** By the contender's name, one sample for each round. */
  readonly samples: ReadonlyMap<string, readonly Sample[]>;
  /** By the contender's name, the reason. */
  readonly failures: ReadonlyMap<string, string>;
}

/** Handlers with a larger backlog do not keep up: some 50 ms of the load. */
const MOST_BACKLOG = 1_000;

/** Measures all contenders, round by round. A failed one is left out from then on. @throws BenchError if the baseline fails */
export async function measureRounds(plan: Plan): Promise<Measured> {
  const folder = mkdtempSync(join(tmpdir(), "hookline-bench-"));
  const scriptOf = createScripts(folder);
  const running = new Map<string, Server>();
  const samples = new Map<string, Sample[]>(plan.contenders.map(({ name }) => [name, []]));
  const failures = new Map<string, string>();

  async function measure(contender: Contender): Promise<Sample> {
    const { name, signing } = contender;
    const core = plan.cores?.client;
    let server = running.get(name);
    if (server === undefined) {
      server = await startServer(contender, { core: plan.cores?.server });
      running.set(name, server);
      await checkAnswers(contender, server.port);
      await runLoad({ port: server.port, script: scriptOf(signing), seconds: plan.warmUpSeconds, core });
    }
    const script = scriptOf(signing);
    const before = await server.usage();
    const load = await runLoad({ port: server.port, script, seconds: plan.seconds, core });
    const after = await server.usage();
    const { backlog = 0 } = after;
    if (backlog > MOST_BACKLOG) throw new Error(`its handlers do not keep up: ${backlog} deliveries behind`);
    return toSample(load, before, after);
  }

  async function stop(name: string): Promise<void> {
    await running.get(name)?.stop();
    running.delete(name);
  }

  async function runRound(): Promise<void> {
    for (const contender of plan.contenders) {
      const { name } = contender;
      if (failures.has(name)) continue;
      try {
        samples.get(name)?.push(await measure(contender));
      } catch (error) {
        if (name === BASELINE) throw new BenchError(`${name}, the baseline, failed: ${String(error)}`);
        failures.set(name, (error as Error).message);
        samples.delete(name);
      }
      if (plan.fresh || failures.has(name)) await stop(name);
    }
  }

  try {
    for (let round = 1; round <= plan.rounds; round += 1) {
      plan.log(`Round ${round} of ${plan.rounds}.`);
      await runRound();
    }
    return { samples, failures };
  } finally {
    for (const name of running.keys()) await stop(name);
    rmSync(folder, { recursive: true });
  }
}
