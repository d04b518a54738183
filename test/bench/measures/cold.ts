import { setImmediate as turn, setTimeout as sleep } from "node:timers/promises";
import { toQuantile } from "../figures.ts";
import { collectGarbage, readSizes, sendResult } from "./send-result.ts";
import { bodyOf, deliver, fill, openBench, toId } from "./stored.ts";

/** Accounts. */
const [HOT, COLD] = [1, 2];
const COLD_LANES = 1_000;

// One delivery a millisecond, round-robin over the cold lanes, while the hot lane lasts: from receipt to handler, ms.
async function measure(hot: number, cold: number): Promise<readonly number[]> {
  const { receiver, inbox } = openBench();
  const receivedAt = new Map<string, number>();
  const waits: number[] = [];
  let hotLeft = hot;
  receiver.on(
    "email",
    ({ accountId, id }) => {
      if (accountId === HOT) hotLeft -= 1;
      else waits.push(performance.now() - (receivedAt.get(id) ?? Number.NaN));
    },
    { merge: false },
  );
  await fill(receiver, { jobs: hot, lanes: 1, accountId: HOT });
  await collectGarbage();
  await receiver.start();
  // Older deliveries are expanded first: wait for that, it is not measured.
  while ((hotLeft === hot && hot > 0) || inbox.stats().unexpanded > 0) await turn();

  const sent: Promise<void>[] = [];
  const startedAt = performance.now();
  for (let count = 0; count < cold && (hotLeft > 0 || hot === 0); count += 1) {
    const early = startedAt + count - performance.now();
    if (early > 0) await sleep(early);
    const record = count % COLD_LANES;
    receivedAt.set(toId(record), performance.now());
    sent.push(deliver(receiver, bodyOf([record], COLD)));
  }
  await Promise.all(sent);
  while (waits.length < sent.length) await sleep(1);
  // The rest of the hot lane is not measured.
  await receiver.close({ drainMs: 0 });
  if (waits.length < cold / 2)
    throw new Error(`the hot lane was done after ${waits.length} cold jobs, expected ${cold / 2}`);
  return waits;
}

const [hot = 0, cold = 0] = readSizes();
await measure(hot / 10, cold / 10);
const waits = await measure(hot, cold);
sendResult({
  jobs: waits.length,
  p50Ms: toQuantile(waits, 0.5),
  p99Ms: toQuantile(waits, 0.99),
  maxMs: toQuantile(waits, 1),
});
