import type { Job, Jobs, Selection } from "../../index.ts";
import type { Terminal } from "../command.ts";
import { grouped } from "../terminal/format.ts";
import { pagesOf } from "./read-jobs.ts";
import { createTable } from "../terminal/table.ts";

/** How many of a kind there are. */
export interface Tallied {
  readonly state: Job["state"];
  readonly type: string;
  readonly count: number;
}

/** What a selection finds, by kind, the most first. */
export async function tallyOf(jobs: Jobs, selection: Selection | { readonly accountId: number }): Promise<Tallied[]> {
  const kinds = new Map<string, { state: Job["state"]; type: string; count: number }>();
  for await (const { state, event } of found(jobs, selection)) {
    const key = `${state} ${event.type}`;
    const kind = kinds.get(key) ?? { state, type: event.type, count: 0 };
    kind.count += 1;
    kinds.set(key, kind);
  }
  return [...kinds.values()].toSorted((a, b) => b.count - a.count);
}

export function tallyLines(tallied: readonly Tallied[], stream: Terminal): readonly string[] {
  if (tallied.length === 0) return [];
  return createTable(["JOBS", "STATE", "TYPE"], stream).lines(
    tallied.map(({ state, type, count }) => [grouped(count), state, type]),
  );
}

async function* found(jobs: Jobs, selection: Selection | { readonly accountId: number }): AsyncGenerator<Job> {
  if (typeof selection === "string" || Array.isArray(selection)) {
    for (const id of new Set([selection].flat() as string[])) {
      const job = await jobs.get(id);
      if (job !== undefined) yield job;
    }
    return;
  }
  for await (const page of pagesOf(jobs, selection as { readonly accountId: number }, Infinity)) yield* page.jobs;
}
