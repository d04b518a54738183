import { prometheusMetrics } from "../../../adapters/observe/prometheus.ts";
import { readSizes, sendResult } from "./send-result.ts";
import { openBench } from "./stored.ts";

const CONSUMERS = ["one", "two"];

// The text for one scrape, of a receiver with a handler for every event and two consumers.
const [times = 0] = readSizes();
const { receiver } = openBench();
const metrics = prometheusMetrics(receiver);
for (const consumer of CONSUMERS) receiver.on(["*", "unknown"], () => {}, { consumer });
await receiver.start();
const took: number[] = [];
let text = "";
for (let time = 0; time < times; time += 1) {
  const startedAt = performance.now();
  text = await metrics.text();
  took.push(performance.now() - startedAt);
}
await receiver.close();
const [ms = Number.NaN] = took.toSorted((a, b) => a - b).slice(times / 2);
sendResult({ ms, kilobytes: text.length / 1_000 });
