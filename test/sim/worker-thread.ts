import { parentPort, workerData } from "node:worker_threads";
import type { ThreadRange, Word } from "./worker-threads.ts";
import { runSeed } from "./run-seed.ts";

const { from, to, step, store } = workerData as ThreadRange;
const say = (word: Word): void => parentPort?.postMessage(word);

for (let seed = from; seed < to; seed += step) {
  say({ began: seed });
  const outcome = await runSeed(seed, store);
  say({ ended: outcome.failure === undefined ? { ...outcome, trace: [] } : outcome });
}
