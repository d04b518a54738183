import * as metrics from "opentelemetry-sdk-metrics-2";
import * as traces from "opentelemetry-sdk-trace-2";
import { PROMISES } from "./promises.ts";
import { enableContext, toSdk } from "./sdk.ts";

// Runs with `--import ./use-old-api.ts`: every promise on the older pair of API and SDK. Prints what failed as JSON.
const sdk2 = toSdk(
  traces as never,
  metrics,
  (exporter, sampler) =>
    new traces.BasicTracerProvider({
      spanProcessors: [new traces.SimpleSpanProcessor(exporter as never)],
      sampler: sampler as never,
    }),
);
const failures: Record<string, string> = {};
enableContext();
for (const [name, hold] of Object.entries(PROMISES)) {
  try {
    await hold(sdk2);
  } catch (error) {
    failures[name] = String((error as Error).stack);
  }
}
// It is shared by all copies of the API, which write their version into it.
const shared = Object.getOwnPropertySymbols(globalThis).find((symbol) =>
  String(symbol).includes("opentelemetry.js.api"),
);
const used = (globalThis as unknown as Record<symbol, { readonly version: string }>)[shared ?? Symbol("none")];
console.log(JSON.stringify({ api: used?.version, failures }));
