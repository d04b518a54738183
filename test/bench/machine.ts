import { readFileSync } from "node:fs";
import { availableParallelism, cpus, loadavg } from "node:os";
import { setTimeout as sleep } from "node:timers/promises";
import { isInstalled } from "./external-tools.ts";

/** The machine of the measurement. */
export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly node: string;
  /** Load average of the last minute, at the start. */
  readonly load: number;
  /** The share of CPU time that other processes used at the start, from 0 to 1. */
  readonly busy: number;
}

/** The core numbers of server and client. */
export interface Cores {
  readonly server: number;
  readonly client: number;
}

/** Above this share other processes distort the figures. */
export const MOST_BUSY = 0.05;

const LOOK_MS = 500;

export async function describeMachine(): Promise<Machine> {
  const before = times();
  await sleep(LOOK_MS);
  const after = times();
  return {
    cpu: cpus()[0]?.model.trim() ?? "unknown",
    cores: availableParallelism(),
    node: process.version,
    load: loadavg()[0] ?? 0,
    busy: 1 - (after.idle - before.idle) / (after.all - before.all),
  };
}

/** Undefined if processes cannot be pinned to a core, or there is only one core. */
export function findCores(): Cores | undefined {
  if (!isInstalled("taskset", ["--version"])) return undefined;
  const [server, client] = toCores(
    /^Cpus_allowed_list:\s*(\S+)$/m.exec(readFileSync("/proc/self/status", "utf8"))?.[1],
  );
  return server === undefined || client === undefined ? undefined : { server, client };
}

/** The numbers in a list such as `0-3,8`. */
export function toCores(list = ""): readonly number[] {
  return list
    .split(",")
    .filter((part) => part !== "")
    .flatMap((part) => {
      const [first = 0, last = first] = part.split("-").map(Number);
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

function times(): { readonly idle: number; readonly all: number } {
  const all = cpus().map(({ times: one }) => one);
  return {
    idle: all.reduce((sum, one) => sum + one.idle, 0),
    all: all.reduce((sum, { user, nice, sys, idle, irq }) => sum + user + nice + sys + idle + irq, 0),
  };
}
