import { parentPort, workerData } from "node:worker_threads";
import { runSeed } from "./run-seed.ts";
import type { ThreadRange, Word } from "./worker-threads.ts";

const { from, to, step, store } = workerData as ThreadRange;
const say = (word: Word): void => parentPort?.postMessage(word);

for (let seed = from; seed < to; seed += step) {
  say({ began: seed });
  const outcome = await runSeed(seed, store);
  say({ ended: outcome.failure === undefined ? { ...outcome, trace: [] } : outcome });
}
