import { setImmediate as turn } from "node:timers/promises";

/** What was measured, by the names of its figures. */
export type MeasureResult = Readonly<Record<string, number>>;

/** Tells the bench; in a run by hand it is printed. */
export function sendResult(told: MeasureResult): void {
  if (process.send === undefined) console.log(told);
  else process.send(told);
}

/** The numbers that a measure is started with. @throws Error when one is none */
export function readSizes(): readonly number[] {
  const given = process.argv.slice(2).map(Number);
  if (given.every((number) => number >= 0)) return given;
  throw new Error(`Got ${process.argv.slice(2).join(" ")}, expected numbers.`);
}

/** The process's time on the cores from here on, all threads, microseconds. What lies about is taken away first. */
export async function watchCpu(): Promise<() => number> {
  await collectGarbage();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
}

/** What the process holds, bytes: the heap, and buffers beside it. */
export async function usedBytes(): Promise<number> {
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Takes away what lies about. Buffers go a collection later than what held them. */
export async function collectGarbage(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error("Start it with --expose-gc.");
  for (let time = 0; time < 2; time += 1) {
    await turn();
    globalThis.gc();
  }
}
