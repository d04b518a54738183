import type { InboxDisk, InboxStats, Readiness, WorkingInbox, WritingInbox } from "../../inbox/port/inbox.ts";
import type { AccountDelay } from "../../dispatch/claims/flow-rules.ts";
import type { Pause } from "../../inbox/port/pauses.ts";
import type { ErroredSubscription } from "../../inbox/port/subscriptions.ts";
import type { InFlightBytes } from "../../ingest/body-limits.ts";
import type { RefusalCode } from "../../ingest/refusals.ts";
import type { SecretLookup } from "../../ingest/secret-lookup.ts";
import { SIGNATURE_PROBLEMS, type SignatureProblem } from "../../protocol/signature/signature-headers.ts";
import type { ReceiverState, ReceiverStates } from "../lifecycle.ts";
import type { Opening } from "../open-inbox.ts";
import { detailOf, toProblem, toProblems, type Problem, type ProblemCode } from "./problem-catalog.ts";
import type { RecentRefusals } from "./recent-refusals.ts";
import type { UnauthorizedAccount } from "./unauthorized-accounts.ts";

export interface ReceivingState {
  readonly states: Pick<ReceiverStates, "isClosing">;
  readonly secrets: Pick<SecretLookup, "assert">;
  readonly opening: Pick<Opening, "isOpen" | "failure">;
  readonly inbox: Pick<WritingInbox, "ready">;
  readonly inFlightBytes: Pick<InFlightBytes, "isFull">;
}

/** Why the next delivery would get 503; empty when no reason is known. */
export function checkReady({ states, secrets, opening, inbox, inFlightBytes }: ReceivingState): readonly Problem[] {
  // A closing receiver's inbox is closed as well: no need to say so.
  if (states.isClosing) return [toProblem("closing")];
  return [
    ...checkSecret(secrets),
    ...(opening.isOpen() ? checkInbox(inbox) : checkOpening(opening)),
    ...(inFlightBytes.isFull ? [toProblem("intake-full", { detail: "It is so now." })] : []),
  ];
}

function checkSecret(secrets: ReceivingState["secrets"]): readonly Problem[] {
  try {
    secrets.assert();
    return [];
  } catch {
    return [toProblem("secret-missing")];
  }
}

function checkOpening(opening: ReceivingState["opening"]): readonly Problem[] {
  const failure = opening.failure();
  return [failure === undefined ? toProblem("inbox-opening") : toProblem("inbox-unavailable", detailOf(failure.error))];
}

function checkInbox(inbox: ReceivingState["inbox"]): readonly Problem[] {
  try {
    const readiness = inbox.ready();
    return readiness.ready ? [] : [toInboxProblem(readiness)];
  } catch (error) {
    return [toProblem("inbox-not-ready", detailOf(error))];
  }
}

function toInboxProblem({ error, hopeless = false }: Extract<Readiness, { readonly ready: false }>): Problem {
  if (hopeless) return toProblem("inbox-reopen-failing", { detail: detailOf(error).detail });
  if (error.code === "inbox-full") return toProblem("inbox-full");
  return toProblem(DISK_PROBLEMS[error.code] ?? "inbox-not-ready", detailOf(error));
}

/** By the error code of an inbox on a disk. */
const DISK_PROBLEMS: Readonly<Record<string, ProblemCode>> = {
  "disk-low": "disk-low",
  "disk-full": "disk-full",
  "file-corrupt": "inbox-corrupt",
};

/** Refusals that any client can cause are a problem only from this number on. */
const MIN_REPEATS = 5;

const CLOCK: readonly SignatureProblem[] = ["timestamp-stale", "timestamp-future"];
/** Of `answer: "after-handlers"`. */
const UNHANDLED: readonly RefusalCode[] = ["handlers-failed", "handlers-late", "seen-busy"];
const FORGED: readonly RefusalCode[] = [
  ...(Object.keys(SIGNATURE_PROBLEMS) as SignatureProblem[]).filter((code) => !CLOCK.includes(code)),
  "secret-unknown",
];

/** Problems by the refusals that show them; `unless` is a problem that says the same of this moment. */
const REFUSED: readonly {
  readonly problem: ProblemCode;
  readonly refusals: readonly RefusalCode[];
  readonly unless?: ProblemCode;
}[] = [
  { problem: "forward-results", refusals: ["forward-results"] },
  { problem: "body-consumed", refusals: ["body-consumed"] },
  { problem: "body-too-large", refusals: ["body-too-large"] },
  { problem: "content-encoding", refusals: ["content-encoding"] },
  { problem: "intake-full", refusals: ["intake-full"], unless: "intake-full" },
  { problem: "inbox-too-small", refusals: ["inbox-full"], unless: "inbox-full" },
  { problem: "secret-lookup-failing", refusals: ["secret-lookup-failed", "secret-lookup-late"] },
  { problem: "internal", refusals: ["internal"] },
];

/** Recent refusals that will not end by themselves. @param current codes of the problems that hold now */
export function checkRefusals(recent: RecentRefusals, current: ReadonlySet<string>): readonly Problem[] {
  const problems: Problem[] = [];
  if (recent.isStorageFailing) problems.push(toProblem("storage-failing"));
  for (const { problem, refusals, unless = "" } of REFUSED) {
    const found = current.has(unless) ? undefined : recent.of(refusals);
    if (found !== undefined) problems.push(toProblem(problem, { detail: seen(found.count, found.at), fix: found.fix }));
  }
  const unhandled = recent.of(UNHANDLED);
  // One that fails beside others that do not is retried: by its redelivery.
  if (unhandled !== undefined && unhandled.sinceAcknowledged >= MIN_REPEATS)
    problems.push(toProblem("handlers-failing", { detail: seen(unhandled.sinceAcknowledged, unhandled.at) }));
  const late = recent.of(["body-late"]);
  if (late !== undefined && late.sinceAcknowledged >= MIN_REPEATS)
    problems.push(toProblem("bodies-late", { detail: seen(late.sinceAcknowledged, late.at) }));
  const forged = recent.of(FORGED);
  // Next to deliveries with a valid signature, invalid ones are another client's.
  if (forged !== undefined && forged.sinceAcknowledged >= MIN_REPEATS)
    problems.push(toProblem("all-signatures-invalid", { detail: seen(forged.sinceAcknowledged, forged.at) }));
  const untimely = recent.of(CLOCK);
  if (untimely !== undefined && untimely.count >= MIN_REPEATS)
    problems.push(toProblem("clock-skew", { detail: seen(untimely.count, untimely.at) }));
  return problems;
}

function seen(count: number, at: number): string {
  return `Seen ${count === 1 ? "once" : `${count} times, last`} at ${new Date(at).toISOString()}.`;
}

export function checkSubscriptions(errored: readonly ErroredSubscription[]): readonly Problem[] {
  const details = errored.map(({ subscription, accountId, resource, source, error }) => {
    const where = `${resource} of account ${accountId}${source === undefined ? "" : `, source ${source}`}`;
    return `Subscription ${subscription} (${where}): ${error === "" ? "no reason given" : error}`;
  });
  return toProblems("subscription-errored", details);
}

/** Accounts whose token the service refuses. */
export function checkAccounts(refused: readonly UnauthorizedAccount[]): readonly Problem[] {
  const details = refused.map(({ accountId, at }) => `Account ${accountId}, last at ${new Date(at).toISOString()}.`);
  return toProblems("account-unauthorized", details);
}

/** What does not start because somebody, or the service, asked for it. */
export function checkFlow(pauses: readonly Pause[], delays: readonly AccountDelay[]): readonly Problem[] {
  const paused = pauses.map(({ consumer, accountId, reason, until: end }) => {
    const of = [
      accountId === undefined ? [] : `account ${accountId}`,
      consumer === undefined ? [] : `consumer "${consumer}"`,
    ];
    return `Now: ${of.flat().join(" of ")}${end === undefined ? "" : until(end)}: ${reason}`;
  });
  const delayed = delays.map((one) => `Account ${one.accountId} of consumer "${one.consumer}"${until(one.until)}.`);
  return [...toProblems("account-delayed", delayed), ...toProblems("paused", paused)];
}

function until(at: number): string {
  return ` until ${new Date(at).toISOString()}`;
}

/** A failing disk is worth checking for this long after its last failure, milliseconds. */
const DISK_EVENT_MS = 60 * 60 * 1_000;

/** Problems of an inbox's file that do not keep it from storing. */
export function checkDisk(disk: InboxDisk | undefined, now: number): readonly Problem[] {
  if (disk === undefined) return [];
  const { hardLinks = 1, hasUnstableInodes = false } = disk;
  return [
    ...checkDiskEvent("inbox-reopened", disk.reopened, now),
    ...(hasUnstableInodes ? [toProblem("inode-unreliable")] : []),
    ...(hardLinks > 1 ? [toProblem("hard-linked", { detail: `Now: ${countOf(hardLinks, "name")}.` })] : []),
    ...checkDiskEvent("worker-lock-lost", disk.takenOver, now),
  ];
}

function checkDiskEvent(code: ProblemCode, event: InboxDisk["reopened"], now: number): readonly Problem[] {
  if (event === undefined || Math.abs(now - event.lastAt) > DISK_EVENT_MS) return [];
  const times = countOf(event.count, "time");
  const detail = `Since the start of this process: ${times}, last at ${new Date(event.lastAt).toISOString()}.`;
  return [toProblem(code, { detail })];
}

export interface WorkingState {
  /** Undefined where the inbox has no working half. */
  readonly inbox: WorkingInbox | undefined;
  readonly stats: InboxStats;
  readonly state: ReceiverState;
  /** Why the last `start()` rejected. */
  readonly startFailure: { readonly error: unknown } | undefined;
  readonly oldestWaitingMs: number;
  /** Handlers past their grace. */
  readonly stuck: number;
  /** So many that no further handler starts. */
  readonly jammed: boolean;
  /** How often each event name without a handler came. */
  readonly unhandledNames: ReadonlyMap<string, number>;
}

/** A job that waits longer, milliseconds, is late. */
const LAG_MS = 5 * 60 * 1_000;
/** A new deploy's worker starts within this time, milliseconds. */
const TAKE_OVER_MS = 10_000;
/** In these states this process neither works nor stands by. */
const NOT_STARTED: ReadonlySet<ReceiverState> = new Set(["idle", "opening", "unavailable", "receiving"]);

/** What keeps stored events from being handled. */
export function checkWork(working: WorkingState): readonly Problem[] {
  const { stats, stuck, jammed } = working;
  return [
    ...checkStart(working),
    ...checkWaiting(working),
    ...(jammed ? [] : countedProblem("handlers-stuck", stuck, "handler")),
    ...countedProblem("lanes-blocked", stats.blockedLanes, "lane"),
    ...(stats.isFull === true ? [toProblem("jobs-limit-reached", { detail: toWaiting(stats) })] : []),
    ...countedProblem("dead-letters", stats.dead, "job"),
    ...checkUnhandled(working),
  ];
}

function countedProblem(code: ProblemCode, count: number, one: string): readonly Problem[] {
  return count > 0 ? [toProblem(code, { detail: `Now: ${countOf(count, one)}.` })] : [];
}

function checkStart({ state, startFailure }: WorkingState): readonly Problem[] {
  if (startFailure === undefined || !NOT_STARTED.has(state)) return [];
  return [toProblem("start-failed", detailOf(startFailure.error))];
}

function toWaiting({ waiting, unexpanded }: InboxStats): string {
  return `Now: ${countOf(waiting, "job")}, and ${unexpanded} not expanded yet.`;
}

function checkWaiting({ inbox, stats, state, oldestWaitingMs }: WorkingState): readonly Problem[] {
  const isStarting = state === "starting"; // an inbox may hang there
  if ((isStarting || NOT_STARTED.has(state)) && stats.waiting + stats.unexpanded > 0) {
    const ownMs = isStarting ? TAKE_OVER_MS : -1;
    // On a shared inbox other processes get time to start their work.
    const graceMs = inbox?.capabilities.shared === false ? ownMs : stats.isWorkedOn === false ? TAKE_OVER_MS : LAG_MS;
    if (oldestWaitingMs > graceMs) return [toProblem("no-worker", { detail: toWaiting(stats) })];
  }
  if (oldestWaitingMs <= LAG_MS) return [];
  return [toProblem("lag", { detail: `It waits for ${Math.floor(oldestWaitingMs / 1_000)} s.${shareOf(stats)}` })];
}

/** Where many work, the job may be another one's. */
function shareOf({ workers }: InboxStats): string {
  if (workers === undefined) return "";
  const share = Math.round(100 * workers.share);
  return ` It is the oldest of all workers: ${workers.alive}, of whose lanes this process has ${share} %.`;
}

function checkUnhandled({ inbox, stats, unhandledNames }: WorkingState): readonly Problem[] {
  // A user's own queue stores no unhandled jobs: only the events' names are known.
  if (inbox === undefined ? unhandledNames.size === 0 : stats.unhandled === 0) return [];
  const waiting = inbox === undefined ? "" : `Now waiting: ${countOf(stats.unhandled, "job")}. `;
  const names = [...unhandledNames].map(([name, count]) => `${name} (${count})`).join(", ");
  const came = names === "" ? "" : `Since the start of this process: ${names}.`;
  return [toProblem("unhandled", { detail: `${waiting}${came}`.trimEnd() })];
}

/** Such as "1 job", "2 jobs". */
export function countOf(count: number, one: string): string {
  return `${count} ${one}${count === 1 ? "" : "s"}`;
}
