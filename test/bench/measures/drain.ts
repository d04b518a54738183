import { readSizes, sendResult, watchCpu, type MeasureResult } from "./send-result.ts";
import { fill, openBench, type Backlog } from "./stored.ts";

// Everything is stored before the start, so the figures exclude receiving: expand, claim, run, settle.
async function drain(filling: Backlog): Promise<MeasureResult> {
  const { receiver } = openBench();
  let calls = 0;
  let firstAt = 0;
  receiver.on(
    "email",
    () => {
      if (calls === 0) firstAt = performance.now();
      calls += 1;
    },
    { merge: false },
  );
  await fill(receiver, filling);
  const cpuUs = await watchCpu();
  const startedAt = performance.now();
  await receiver.start();
  await receiver.idle();
  const endedAt = performance.now();
  const spentUs = cpuUs();
  const { succeeded } = receiver.stats();
  await receiver.close();
  const { jobs } = filling;
  if (succeeded !== jobs) throw new Error(`${succeeded} jobs were done, expected ${jobs}.`);
  return {
    jobs,
    calls,
    ms: endedAt - startedAt,
    perSecond: (jobs * 1_000) / (endedAt - startedAt),
    cpuUs: spentUs / jobs,
    // The backlog is expanded before the first claim.
    expandUs: ((firstAt - startedAt) * 1_000) / jobs,
    runUs: ((endedAt - firstAt) * 1_000) / jobs,
  };
}

const [jobs = 0, lanes = 0] = readSizes();
await drain({ jobs: Math.min(jobs, 20_000), lanes });
sendResult(await drain({ jobs, lanes }));
