import { parentPort, workerData } from "node:worker_threads";
import type { Word } from "./crew.ts";
import { runSeed } from "./run.ts";

const { from, to, step } = workerData as { readonly from: number; readonly to: number; readonly step: number };
const say = (word: Word): void => parentPort?.postMessage(word);

for (let seed = from; seed < to; seed += step) {
  say({ began: seed });
  const outcome = await runSeed(seed);
  say({ ended: outcome.failure === undefined ? { ...outcome, trace: [] } : outcome });
}
