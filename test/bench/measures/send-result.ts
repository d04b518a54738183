import { setImmediate as turn } from "node:timers/promises";

/** The figures of a measure, by name. */
export type MeasureResult = Readonly<Record<string, number>>;

/** Sends the result to the bench; prints it if there is no parent process. */
export function sendResult(result: MeasureResult): void {
  if (process.send === undefined) console.log(result);
  else process.send(result);
}

/** The numeric arguments of a measure. @throws Error if one is not a number */
export function readSizes(): readonly number[] {
  const given = process.argv.slice(2).map(Number);
  if (given.every((number) => number >= 0)) return given;
  throw new Error(`Got ${process.argv.slice(2).join(" ")}, expected numbers.`);
}

/** CPU time of the process from now on, all threads, microseconds. Collects garbage first. */
export async function watchCpu(): Promise<() => number> {
  await collectGarbage();
  const before = process.cpuUsage();
  return () => {
    const { user, system } = process.cpuUsage(before);
    return user + system;
  };
}

/** Used memory, bytes: the heap and external buffers. */
export async function usedBytes(): Promise<number> {
  await collectGarbage();
  const { heapUsed, external } = process.memoryUsage();
  return heapUsed + external;
}

/** Collects garbage twice: buffers are freed one collection after the objects that held them. */
export async function collectGarbage(): Promise<void> {
  if (globalThis.gc === undefined) throw new Error("Start it with --expose-gc.");
  for (let time = 0; time < 2; time += 1) {
    await turn();
    globalThis.gc();
  }
}
