import { readSizes, sendResult, watchCpu, type MeasureResult } from "./send-result.ts";
import { fill, openBench } from "./stored.ts";

// After a downtime: changes of one resource of one account wait, and are merged into as few calls as possible.
async function merge(jobs: number): Promise<MeasureResult> {
  const { receiver } = openBench();
  let calls = 0;
  let changes = 0;
  receiver.on("email.changes", (event) => {
    calls += 1;
    changes += event.changes.length;
  });
  await fill(receiver, { jobs, lanes: jobs });
  const cpuUs = await watchCpu();
  const startedAt = performance.now();
  await receiver.start();
  await receiver.idle();
  const ms = performance.now() - startedAt;
  const spentUs = cpuUs();
  await receiver.close();
  if (changes !== jobs) throw new Error(`${changes} changes came, expected ${jobs}.`);
  return { jobs, calls, ms, perSecond: (jobs * 1_000) / ms, cpuUs: spentUs / jobs };
}

const [jobs = 0] = readSizes();
await merge(Math.min(jobs, 20_000));
sendResult(await merge(jobs));
