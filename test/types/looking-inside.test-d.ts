// What a receiver tells: jobs, counters, and what observers hear.
import type { AnyEvent, Job, JobState, Observer, Receiver, Stats, StoredDelivery } from "hookline";
import type { Equal, Expect, Flat } from "./support.ts";

declare const receiver: Receiver;

export type Jobs = [
  Expect<Equal<JobState, "waiting" | "running" | "done" | "skipped" | "dead" | "unhandled">>,
  Expect<
    Equal<
      Flat<Job>,
      {
        readonly id: string;
        readonly state: JobState;
        readonly event: AnyEvent;
        readonly consumer?: string;
        readonly lane?: string;
        readonly attempts?: number;
        readonly lastError?: { readonly name: string; readonly message: string; readonly at: Date };
        readonly receivedAt: Date;
        readonly nextAttemptAt?: Date;
        readonly settledAt?: Date;
        readonly replayOf?: string;
        readonly deliveryId: string;
      }
    >
  >,
  Expect<
    Equal<
      Flat<StoredDelivery>,
      {
        readonly id: string;
        readonly receivedAt: string;
        readonly sentAt: string;
        readonly source?: string;
        readonly signedBy: string;
        readonly headers: Readonly<Record<string, string>>;
        readonly bodyBase64: string;
      }
    >
  >,
];
receiver.onDead((job) => job.lastError?.message).onDead(async ({ event }) => event.type);

// A job is a plain object: it can be copied and stored.
const shelf = new Map<string, Job>();
receiver.onDead((job) => shelf.set(job.id, { ...job, state: "waiting", replayOf: job.id }));

/** Counters made by hand, for a test of what reads them; the extra ones may be left out. */
export const stats: Stats = {
  role: "working",
  answered: { 200: 3 },
  refused: { "signature-wrong": 1 },
  stored: 3,
  duplicates: 0,
  succeeded: 3,
  failed: 0,
  retried: 0,
  skipped: 0,
  dead: 0,
  merged: 0,
  secrets: [{ name: "default", uses: 3 }],
};
export type Counters = [
  Expect<Equal<Stats["role"], "receiving" | "standby" | "working">>,
  Expect<Equal<Stats["secrets"][number]["lastUsedAt"], Date | undefined>>,
  Expect<Equal<ReturnType<Receiver["stats"]>, Stats>>,
];
export const acknowledged = (receiver.stats().answered[200] ?? 0) + (receiver.stats().refused["signature-wrong"] ?? 0);

// Every moment with what it tells; any of them may be missing, and the end is a function without arguments.
interface Moment {
  readonly job: Job;
  readonly error?: unknown;
  readonly durationMs?: number;
}
type Told<E extends keyof Observer> = Flat<Parameters<NonNullable<Observer[E]>>[0]>;
export type Moments = [
  Expect<Equal<keyof Observer, "stored" | "refused" | "answered" | JobMoments | "unsubscribed">>,
  Expect<Equal<Told<"stored">["delivery"], Pick<StoredDelivery, "id" | "source" | "receivedAt">>>,
  Expect<Equal<Told<"refused">, { readonly status: number; readonly code: string }>>,
  Expect<Equal<Told<"answered">, { readonly status: number; readonly code?: string; readonly durationMs: number }>>,
  Expect<Equal<Told<JobMoments>, Flat<Moment>>>,
  Expect<Equal<Told<"unsubscribed">, { readonly subscription: number; readonly reason: string }>>,
  Expect<Equal<Parameters<ReturnType<Receiver["observe"]>>, []>>,
];
type JobMoments = "started" | "succeeded" | "failed" | "retried" | "dead" | "duplicate";
const end: () => void = receiver.observe({
  stored: ({ delivery }) => `${delivery.id} ${delivery.source ?? ""} ${delivery.receivedAt}`,
  refused: ({ status, code }) => `${status} ${code}`,
  started: ({ job }) => job.event.type,
  succeeded: ({ durationMs }) => durationMs?.toFixed(),
  failed: ({ error }) => String(error),
  retried: ({ job }) => job.nextAttemptAt,
  // oxlint-disable-next-line typescript/no-misused-promises -- some will write it so: its rejection is caught
  dead: async ({ job }) => job.lastError,
  duplicate: ({ job }) => job.deliveryId,
  unsubscribed: ({ subscription, reason }) => `${subscription} ${reason}`,
});
end();
receiver.observe({});

class Metrics implements Observer {
  readonly seen: string[] = [];
  readonly refused = ({ code }: { readonly code: string }): void => void this.seen.push(code);
  dead({ job }: Moment): void {
    this.seen.push(job.id);
  }
}
receiver.observe(new Metrics());

// @ts-expect-error -- no such moment
receiver.observe({ finished: () => {} });
// @ts-expect-error -- a delivery that is stored has no jobs yet, where nobody works
receiver.observe({ stored: ({ job }) => job });
// @ts-expect-error -- observers look, they do not read bodies
receiver.observe({ stored: ({ delivery }) => delivery.bodyBase64 });
// @ts-expect-error -- an observer is an object of functions
receiver.observe(() => {});
// @ts-expect-error -- a state that no job has
export const failed = (job: Job): boolean => job.state === "failed";
// @ts-expect-error -- an unknown event may have no account
export const accountOf = (job: Job): number => job.event.accountId;
// @ts-expect-error -- a job is what it was when it was told
receiver.onDead((job) => (job.state = "done"));
// @ts-expect-error -- counters are read
export const reset = (): number => (receiver.stats().stored = 0);
