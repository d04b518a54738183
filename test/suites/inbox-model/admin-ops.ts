import assert from "node:assert/strict";
import type { NewJob } from "../../../src/inbox/port/delivery.ts";
import { jobsOf } from "./arrivals.ts";
import type { Course } from "./model-state.ts";
import type { PlainJob } from "./reference-jobs.ts";

/** What is changed by hand: some jobs by their places, counted from those that it is meant for. */
export async function change(at: Course, how: "replay" | "drop" | "reopen", places: readonly number[]): Promise<void> {
  const { inbox, plain } = at;
  const fitting = plain.jobs.filter(({ state }) => (how === "reopen" ? state === "unhandled" : isSettled(state)));
  const all = new Set([...fitting, ...plain.jobs]);
  const some = new Set([...all].filter((_, place) => places.includes(place)));
  const picked = plain.jobs.filter((job) => some.has(job));
  const ids = picked.map(({ id }) => id ?? "");
  if (how === "replay") return replayed(at, picked, await inbox.jobs.replay({ ids }));
  if (how === "drop") return dropped(at, picked, await inbox.jobs.drop({ ids }));
  // What becomes of a replay that is reopened is not said.
  const open = picked.filter(({ replays }) => replays.length === 0);
  await inbox.jobs.reopen(open.map((job) => ({ id: job.id ?? "", jobs: jobsFor(job) })));
  for (const job of open) if (job.state === "unhandled") plain.reopen(job, jobsFor(job));
}

/** The same for all of some states. */
export async function changeAll(
  at: Course,
  how: "replay all" | "drop all",
  states: readonly ("dead" | "unhandled")[],
): Promise<void> {
  const picked = at.plain.jobs.filter(({ state }) => states.some((each) => each === state));
  if (how === "replay all") return replayed(at, picked, await at.inbox.jobs.replay({ states }));
  dropped(at, picked, await at.inbox.jobs.drop({ states }));
}

export async function erase({ inbox, plain, held }: Course, accountId: number): Promise<void> {
  const ofIt = (each: { readonly accountId: number }): boolean => each.accountId === accountId;
  const lost = held.filter(({ run, stands }) => stands && run.some(ofIt));
  for (const each of lost) each.stands = false;
  const least = plain.jobs.filter(ofIt).length + plain.unexpanded.filter(ofIt).length;
  const { count } = await inbox.jobs.erase(accountId);
  assert.ok(count >= least, `erase says ${count}, expected ${least} or more`);
  // Until then their lanes are closed.
  for (const { claim } of lost) {
    const outcomes = claim.jobs.map(() => ({ to: "done" as const }));
    assert.deepEqual(await inbox.settle([{ claim, outcomes }]), [false], "the settle of an erased claim counts");
  }
  plain.remove(ofIt);
  plain.unexpanded = plain.unexpanded.filter((delivery) => !ofIt(delivery));
}

function replayed({ plain }: Course, picked: readonly PlainJob[], count: number): void {
  const again = picked.filter(({ state, consumer }) => consumer !== undefined && isSettled(state));
  assert.equal(count, again.length, "replay counts something else");
  plain.replay(again);
}

function dropped({ plain }: Course, picked: readonly PlainJob[], count: number): void {
  const gone = picked.filter(({ state }) => state !== "running");
  assert.equal(count, gone.length, "drop counts something else");
  plain.remove((job) => gone.includes(job));
}

function isSettled(state: PlainJob["state"]): boolean {
  return state === "dead" || state === "unhandled";
}

function jobsFor({ accountId }: PlainJob): readonly NewJob[] {
  return jobsOf("two", { lane: "a", merge: "x" }, accountId);
}
