import { PQueue } from "../../support/p-queue.ts";
import { readSizes, sendResult, watchCpu, type MeasureResult } from "./send-result.ts";
import { CONCURRENCY } from "./stored.ts";

const AT_ONCE = 1_000;

// The empty handler as bare p-queue tasks, for comparison: nothing is stored, ordered or retried.
async function run(jobs: number): Promise<MeasureResult> {
  const queue = new PQueue({ concurrency: CONCURRENCY });
  const cpuUs = await watchCpu();
  const startedAt = performance.now();
  for (let done = 0; done < jobs; done += AT_ONCE) {
    for (let task = done; task < Math.min(done + AT_ONCE, jobs); task += 1) void queue.add(() => {});
    await queue.onIdle();
  }
  const ms = performance.now() - startedAt;
  return { jobs, calls: jobs, ms, perSecond: (jobs * 1_000) / ms, cpuUs: cpuUs() / jobs };
}

const [jobs = 0] = readSizes();
await run(20_000);
sendResult(await run(jobs));
