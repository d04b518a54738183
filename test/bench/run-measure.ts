import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { MeasureResult } from "./measures/send-result.ts";

/** Enough for a million jobs with their deliveries. */
const HEAP_MB = 6_144;

/** Runs a measure once, in a new process. @throws Error with its stderr if it sent no result */
export async function runMeasure(
  file: string,
  sizes: readonly number[],
  inbox: "memory" | "sqlite" = "memory",
): Promise<MeasureResult> {
  const script = fileURLToPath(new URL(`measures/${file}`, import.meta.url));
  const flags = ["--expose-gc", `--max-old-space-size=${HEAP_MB}`];
  const child = spawn(process.execPath, [...flags, script, ...sizes.map(String)], {
    env: { ...process.env, HOOKLINE_BENCH_INBOX: inbox },
    stdio: ["ignore", "ignore", "pipe", "ipc"],
  });
  let result: MeasureResult | undefined;
  child.on("message", (message) => {
    result = message as MeasureResult;
  });
  let stderr = "";
  child.stderr?.on("data", (text: Buffer) => (stderr += text.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  if (result === undefined || code !== 0)
    throw new Error(`its process ended with ${String(code)}: ${stderr.slice(-2_000)}`);
  return result;
}
