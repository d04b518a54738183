// The hands that change jobs: what may be selected, and what must not slip through.
import type { EventName, Job, JobFilter, Jobs, JobState, Receiver, Selection, StoredDelivery } from "hookline";
import type { Equal, Expect, Fits, Flat } from "./support.ts";

declare const receiver: Receiver;
declare const state: JobState | undefined;
const { jobs } = receiver;

export type Face = [
  Expect<Equal<typeof jobs, Jobs>>,
  Expect<Equal<keyof Jobs, "list" | "summary" | "get" | "replay" | "drop" | "erase">>,
  Expect<
    Equal<
      Flat<JobFilter>,
      {
        type?: EventName | undefined;
        accountId?: number | undefined;
        subscription?: number | undefined;
        consumer?: string | undefined;
        error?: string | undefined;
        receivedAfter?: Date | undefined;
        receivedBefore?: Date | undefined;
      }
    >
  >,
  Expect<Fits<string | readonly string[], Selection>>,
  Expect<Equal<Fits<JobFilter, Selection>, false>>,
];

// Looking: a filter may be empty, and its fields may be undefined, as they come from a query string.
await jobs.list();
await jobs.list({});
await jobs.list({ state: "dead" });
await jobs.list({ state: ["dead", "unhandled"], type: "email", limit: 10, after: "7" });
await jobs.list({ state, type: undefined, limit: undefined, after: undefined });
export type Listed = Expect<
  Equal<Awaited<ReturnType<Jobs["list"]>>, { readonly jobs: readonly Job[]; readonly next?: string }>
>;
export async function everyDead(): Promise<Job[]> {
  const all: Job[] = [];
  let after: string | undefined;
  do {
    const page = await jobs.list({ state: "dead", after });
    all.push(...page.jobs);
    after = page.next;
  } while (after !== undefined);
  return all;
}

// One job brings the delivery, which goes to `handle` as it is. `keepBodies` may have deleted it.
const found = await jobs.get("7");
export type Found = Expect<Equal<typeof found, (Job & { readonly delivery?: StoredDelivery }) | undefined>>;
if (found?.delivery !== undefined) await receiver.handle(found.delivery);

// Changing: by ids, or by a filter that names its state.
await jobs.replay("7");
await jobs.replay(everyId(), { perSecond: 5 });
await jobs.replay({ state: "dead" }, { perSecond: undefined, dryRun: undefined });
await jobs.replay({ state: ["dead", "done"], type: "calendarEvent.changes", receivedAfter: new Date() }, {});
await jobs.drop(["7", "8"], { dryRun: true });
await jobs.drop({ state: "waiting", accountId: 2002, subscription: 1001, consumer: "search" });
const { count } = await jobs.erase(2002);
count satisfies number;
function everyId(): readonly string[] {
  return [];
}

// @ts-expect-error -- an empty filter cannot mean "all"
await jobs.replay({});
// @ts-expect-error -- nor for taking away
await jobs.drop({});
// @ts-expect-error -- a filter names its state
await jobs.replay({ type: "email" });
// @ts-expect-error -- nor is an undefined one a name
await jobs.drop({ state, accountId: 2002 });
// @ts-expect-error -- nothing is no selection
await jobs.replay();
// @ts-expect-error -- nor is what may be missing
await jobs.drop(undefined);
// @ts-expect-error -- ids of jobs are texts
await jobs.replay(7);
// @ts-expect-error -- in a list too
await jobs.replay([7]);
// @ts-expect-error -- ids in a list, not in a Set
await jobs.drop(new Set(["7"]));
// @ts-expect-error -- a state that no job has
await jobs.replay({ state: "failed" });
// @ts-expect-error -- no such event
await jobs.list({ type: "email.moved" });
// @ts-expect-error -- ids of accounts are numbers
await jobs.list({ accountId: "2002" });
// @ts-expect-error -- moments are Dates
await jobs.list({ receivedAfter: "2026-05-06" });
// @ts-expect-error -- a mistyped field
await jobs.drop({ state: "dead", account: 2002 });
// @ts-expect-error -- a drop has no rate
await jobs.drop("7", { perSecond: 5 });
// @ts-expect-error -- the option is called `dryRun`
await jobs.replay("7", { dry: true });
// @ts-expect-error -- one account at a time, by its number
await jobs.erase([2002]);
// @ts-expect-error -- a selection is no page
await jobs.replay({ state: "dead", limit: 10 });
// @ts-expect-error -- what was listed is read
(await jobs.list()).jobs.push();
// @ts-expect-error -- the hands of a receiver stay
receiver.jobs = jobs;
