import type { MeasureResult } from "../measures/send-result.ts";
import type { QueueRig } from "./measures.ts";
import { startQueueServer } from "./queue-server.ts";
import type { QueueContender } from "./queue.ts";
import type { PostgresRow } from "./rows.ts";

/** By row, then by contender. */
export type PostgresRound = ReadonlyMap<string, ReadonlyMap<string, MeasureResult>>;

export interface PostgresPlan {
  readonly rows: readonly PostgresRow[];
  readonly contenders: readonly QueueContender[];
  readonly rounds: number;
  readonly quick: boolean;
  readonly log: (line: string) => void;
}

export interface PostgresMeasured {
  readonly rounds: readonly PostgresRound[];
  /** By row and contender, why there are no figures. */
  readonly failures: ReadonlyMap<string, string>;
}

/** For one drain. */
const LIMIT_MS = { quick: 30_000, full: 300_000 };

/** In each round all contenders take turns at a row, in every other one in reverse, each on a server of its own and in a new data folder. */
export async function measurePostgres({
  rows,
  contenders,
  rounds,
  quick,
  log,
}: PostgresPlan): Promise<PostgresMeasured> {
  const measured: Map<string, Map<string, MeasureResult>>[] = [];
  const failures = new Map<string, string>();
  for (let round = 1; round <= rounds; round += 1) {
    const results = new Map<string, Map<string, MeasureResult>>();
    const inTurn = round % 2 === 1 ? contenders : contenders.toReversed();
    measured.push(results);
    const alone = rows.filter((row) => row.alone);
    for (const group of [rows.filter((row) => !row.alone), round === 1 ? alone : []]) {
      const rigs = new Map<string, QueueRig>();
      try {
        for (const row of group)
          for (const contender of inTurn.filter((one) => row.contenders.includes(one.name))) {
            const key = `${row.name} of ${contender.name}`;
            if (failures.has(key)) continue;
            log(`PostgreSQL, round ${round} of ${rounds}: ${row.title}, ${contender.title}.`);
            const { name } = contender;
            try {
              if (!rigs.has(name))
                rigs.set(name, {
                  contender,
                  server: await startQueueServer(contender.server),
                  next: 0,
                  limitMs: quick ? LIMIT_MS.quick : LIMIT_MS.full,
                  hasTables: false,
                });
              const result = await row.measure(rigs.get(name)!, quick);
              results.set(row.name, (results.get(row.name) ?? new Map()).set(contender.name, result));
              if (row.leavesWork !== true) continue;
            } catch (error) {
              failures.set(key, (error as Error).message);
            }
            await rigs.get(name)?.server.remove();
            rigs.delete(name);
          }
      } finally {
        await Promise.all(Array.from(rigs.values(), ({ server }) => server.remove()));
      }
    }
  }
  return { rounds: measured, failures };
}
