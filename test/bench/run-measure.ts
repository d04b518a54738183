import { spawn } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { MeasureResult } from "./measures/send-result.ts";

/** A million jobs with their deliveries, and room to breathe. */
const HEAP_MB = 6_144;

/** Measures once, in a new process. @throws Error with what it said when it told nothing */
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
  let told: MeasureResult | undefined;
  child.on("message", (message) => {
    told = message as MeasureResult;
  });
  let said = "";
  child.stderr?.on("data", (text: Buffer) => (said += text.toString()));
  const [code] = (await once(child, "close")) as [number | null];
  if (told === undefined || code !== 0)
    throw new Error(`its process ended with ${String(code)}: ${said.slice(-2_000)}`);
  return told;
}
