import * as metrics from "@opentelemetry/sdk-metrics";
import * as traces from "@opentelemetry/sdk-trace";
import { toSdk } from "./sdk.ts";

export const sdk3 = toSdk(
  traces as never,
  metrics,
  (exporter, sampler) =>
    new traces.TracerProvider({
      spanProcessors: [new traces.SimpleSpanProcessor({ exporter: exporter as never })],
      sampler: sampler as never,
    }),
);
