import { fixOf, isHooklineError } from "../../errors.ts";
import { REFUSALS } from "../../ingest/refusals.ts";
import { describeThrown } from "../../thrown.ts";
import type { Health } from "../receiver-types.ts";

/**
 * Every problem that `health()` reports, with its message and its fix. In order of severity: problems that need a restart, problems that
 * make deliveries get 503, refusals that repeat, and the rest.
 */
export const PROBLEMS = {
  "stuck-limit-reached": {
    message: "More handlers than `maxStuck` ignore their abort signal and keep their slots: no further handler starts.",
    fix: "Restart the process; then pass `ctx.signal` on to whatever the handlers wait for.",
  },
  "no-progress": {
    message:
      "Work is due and has not moved for 15 s. Where the inbox gives no answer to any of it, or gives nothing, `live` is false after a minute, unless the inbox says why itself.",
    fix: "See the cause in the log; check the disk or server of the inbox. If that answers others, restart the process.",
  },
  "inbox-reopen-failing": {
    message: "The inbox fails again each time it is reopened: deliveries get 503.",
    fix: "Restart the process; if that does not help, check the disk, and the cause in the log.",
  },
  closing: {
    message: "The receiver is closing or closed: deliveries get 503.",
    fix: "Nothing to do: they are redelivered.",
  },
  "secret-missing": {
    message: "There is no signing secret: deliveries get 503.",
    fix: REFUSALS["secret-missing"].fix,
  },
  "inbox-opening": {
    message: "The inbox is not open yet.",
    fix: "Nothing to do if it opens within seconds; else check its disk or server.",
  },
  "inbox-unavailable": {
    message: "The inbox cannot be opened: deliveries get 503. Each health check tries again.",
    fix: "See the cause in the log.",
  },
  "inbox-full": {
    message: "The inbox is full: deliveries get 503.",
    fix: "Handlers are slower than the stream, or blocked: check the other problems; or use a durable inbox.",
  },
  "disk-low": {
    message: "The disk of the inbox is nearly full: deliveries get 503, and stored ones are still handled.",
    fix: "Free disk space, or lower `minFreeDiskBytes`: receiving resumes by itself.",
  },
  "disk-full": {
    message: "The disk of the inbox is full: deliveries get 503, and handlers' results cannot be stored.",
    fix: "Free disk space: stored deliveries are not lost, and the inbox resumes by itself.",
  },
  "inbox-corrupt": {
    message: "The file of the inbox is damaged: deliveries get 503, and the file is left as it is.",
    fix: "Stop all processes on it and copy it with the files beside it; then repair it as `docs/operate/storage.md` says, or restore a backup.",
  },
  "inbox-not-ready": {
    message: "The inbox cannot store: deliveries get 503.",
    fix: "Check its disk or server.",
  },
  "storage-failing": {
    message: "The last delivery could not be stored: it got 503 and is redelivered.",
    fix: "See the cause in the log; nothing was acknowledged.",
  },
  "forward-results": {
    message:
      "Within the last 10 minutes the function of `forwardInbox` gave no settled result for each delivery: those got 503, also where the queue has them.",
    fix: REFUSALS["forward-results"].fix,
  },
  "body-consumed": {
    message:
      "Within the last 10 minutes a parser read bodies before the mount: those deliveries get 500 each time they are redelivered.",
    fix: REFUSALS["body-consumed"].fix,
  },
  "all-signatures-invalid": {
    message:
      "Within the last 10 minutes requests were refused for their signature, and no valid one came between them.",
    fix: "Check the secret, and that no proxy changes headers or body; `hookline explain` names the mistake.",
  },
  "clock-skew": {
    message: "Within the last 10 minutes several requests were too old or from the future.",
    fix: "Set this machine's clock; if it is right, the requests are replays, or older than `maxAgeSeconds` allows.",
  },
  "body-too-large": {
    message:
      "Within the last 10 minutes bodies were over `maxBodyBytes`: those deliveries get 413 each time they are redelivered.",
    fix: "Raise `maxBodyBytes`, and the limit of a proxy in front, if there is one.",
  },
  "content-encoding": {
    message:
      "Within the last 10 minutes bodies were compressed: those deliveries get 415 each time they are redelivered.",
    fix: REFUSALS["content-encoding"].fix,
  },
  "intake-full": {
    message: "Within the last 10 minutes bodies in flight reached `maxInFlightBytes`: further ones got 503.",
    fix: REFUSALS["intake-full"].fix,
  },
  "inbox-too-small": {
    message: "Within the last 10 minutes the inbox had no space for deliveries: those got 503.",
    fix: "Give it more space, such as `maxBytes`, or use a durable inbox; find out why handlers are slow or blocked.",
  },
  "secret-lookup-failing": {
    message: "Within the last 10 minutes the secret look-up failed or timed out: those deliveries got 503.",
    fix: "See the cause in the log; a slow look-up needs a longer `secretTimeoutMs`.",
  },
  "handlers-failing": {
    message:
      "Within the last 10 minutes handlers failed, or took longer than `timeoutMs`, for each delivery: those got 503, as the answer waits for the handlers.",
    fix: "See the cause in the log; `stuck` counts handlers that ignore their signal. All of a delivery runs again when it is redelivered.",
  },
  "bodies-late": {
    message:
      "Within the last 10 minutes bodies did not arrive in time, and no delivery was answered 200: those got 408.",
    fix: REFUSALS["body-late"].fix,
  },
  internal: {
    message: "Within the last 10 minutes a function in this receiver's options threw: those deliveries got 503.",
    fix: "See the cause in the log; nothing was acknowledged.",
  },
  "unsubscribe-limit-reached": {
    message:
      "Within the last hour the gate and handlers asked for more than `gate.maxUnsubscribesPerHour` unsubscribes: the rest were not done.",
    fix: "Check the gate and the handlers for a bug first; then raise the limit, or call `receiver.unsubscribe`, which has none.",
  },
  "subscription-gone": {
    message: "A desired subscription does not exist at the service: none of its changes comes.",
    fix: "Apply a plan of `planSubscriptions`, or watch with `recreate: true`. A `.changes` handler, such as `deltaSync`, is then called for what changed meanwhile.",
  },
  "subscription-watch-failed": {
    message: "Whether the desired subscriptions exist and work is not known: `watchSubscriptions` could not ask.",
    fix: "See the cause in the log; the next poll tries again.",
  },
  "subscription-errored": {
    message:
      "A subscription reported `lifecycle.error`, or the service says that it fails: changes may be missing until it is active again.",
    fix: "Have the account authorised again; or unsubscribe it.",
  },
  "gap-failing": {
    message:
      "For more than 5 minutes gaps could not be signalled to their `.changes` handler: what may have been missed is not fetched.",
    fix: "See the cause in the log (`gaps-failed`); each is tried again every minute.",
  },
  "gap-unhandled": {
    message: "Something may have been missed, and no `.changes` handler is there that fetches what changed.",
    fix: "Register a `.changes` handler, or `deltaSync`; or fetch what changed by hand, then run `hookline inbox gaps clear --family <family>`.",
  },
  "gap-unlisted": {
    message: "Something may have been missed that the service does not list by what changed.",
    fix: "Compare your copy with the service by hand, then run `hookline inbox gaps clear --family <family>`.",
  },
  "account-unauthorized": {
    message:
      "The service answered a handler's call with 401: it refuses the account's token. The job is retried until it is dead.",
    fix: "Have the account authorised again, then replay what is dead: `hookline inbox replay --dead --account <accountId>`. This ends when that handler succeeds for the account, or the account is erased.",
  },
  "sync-incomplete": {
    message: "A delta sync had to begin anew: what was deleted meanwhile may still be in your copy.",
    fix: "Give `deltaSync` the option `known`: the next run of that resource then removes what is gone.",
  },
  "inbox-stats-failed": {
    message: "The inbox cannot count its jobs, or say what is paused: numbers here may be 0, and problems missing.",
    fix: "See the cause in the log.",
  },
  "inbox-reopened": {
    message:
      "Within the last hour the file of the inbox was reopened: a write failed, its thread ended, or the file was replaced.",
    fix: "See the cause in the log: after `file-replaced` all that waited is in the file that was moved away; else check the disk. Deliveries in doubt got 503.",
  },
  "inode-unreliable": {
    message:
      "This file system has no stable file ids (inodes): a deletion or replacement of the inbox's file goes unnoticed.",
    fix: "Put the inbox on a local disk with an ordinary file system.",
  },
  "hard-linked": {
    message:
      "The file of the inbox has several names (hard links): processes that open it by different names cannot see each other, and the next start refuses it.",
    fix: "Find the others with `find -samefile` and remove them; for backups use `VACUUM INTO`, not `cp -al`.",
  },
  "worker-lock-lost": {
    message: "Within the last hour another process became the inbox's worker while this one was.",
    fix: "Never remove or replace the files beside the inbox while it is in use, `inbox.db-lock` included; run all processes that use it on one machine.",
  },
  "process-may-freeze": {
    message: "This platform may freeze or end the process after the answer, and stored deliveries are lost with it.",
    fix: 'Mount with `{ answer: "after-handlers", timeoutMs }`, or use `forwardInbox` and let its queue\'s consumer call `receiver.handle`.',
  },
  "start-failed": {
    message: "This process only receives: its last `start()` rejected.",
    fix: "See the error of `receiver.start()`, and call it again: stored deliveries wait until then.",
  },
  "no-worker": {
    message: "Deliveries are stored, and no process handles them: this one only receives.",
    fix: "Call `receiver.start()` here, or start a process that works on this inbox.",
  },
  "forward-failing": {
    message: "An app that `hookline serve` forwards events to does not take them: they wait in the inbox.",
    fix: "See that app's log. Nothing is lost: it is tried again for 3 days, and deliveries get 200.",
  },
  lag: {
    message: "The oldest waiting job was received more than 5 minutes ago.",
    fix: "Raise `concurrency`, make handlers faster, or merge more into one call with `.changes`; for a blocked lane, fix its handler.",
  },
  "handlers-stuck": {
    message: "Handlers ignore their abort signal: each blocks its lane until it ends.",
    fix: "Pass `ctx.signal` on to whatever they wait for, or raise their `timeoutMs`.",
  },
  "lanes-blocked": {
    message: "A job waits for its next attempt, and later jobs in its lane wait too.",
    fix: "Check the handler's error in the log; throw `GiveUp` for errors that no retry can fix.",
  },
  "jobs-limit-reached": {
    message: "Jobs fill the memory of this process (`maxJobs`): newer deliveries wait in the inbox until some end.",
    fix: "If lanes are blocked, fix their handler, or drop its jobs with `receiver.jobs.drop`; else raise `concurrency`, or `maxJobs` where there is memory.",
  },
  "dead-letters": {
    message: "Jobs failed for good.",
    fix: "Fix the handler, then replay them with `receiver.jobs.replay`, or drop them with `receiver.jobs.drop`.",
  },
  "account-delayed": {
    message:
      "A handler asked with `RetryLater`, or the service with a 429, that nothing of an account starts for a time.",
    fix: "Nothing to do if it is rare; else lower `concurrency` or set `perAccount`.",
  },
  paused: {
    message: "Somebody paused jobs: their deliveries are stored, and no handler starts.",
    fix: "When the reason is gone, call `receiver.flow.resume`, or run `hookline inbox resume`.",
  },
  unhandled: {
    message: "Events came that have no handler.",
    fix: 'Register `receiver.on("<name>", handler)`: those that the inbox stored are handled after the next start.',
  },
} as const satisfies Readonly<Record<string, { readonly message: string; readonly fix: string }>>;

export type ProblemCode = keyof typeof PROBLEMS;

/** An entry of `health().problems`. */
export type Problem = Health["problems"][number];

export interface ProblemDetail {
  /** Sentences that follow the catalog's message. */
  readonly detail?: string | undefined;
  /** A fix that is more exact than the catalog's. */
  readonly fix?: string | undefined;
}

export function toProblem(code: ProblemCode, { detail, fix }: ProblemDetail = {}): Problem {
  const { message, fix: usual } = PROBLEMS[code];
  return { code, message: detail === undefined ? message : `${message} ${detail}`, fix: fix ?? usual };
}

/** Beyond this number they are only counted: an outage of the service may affect all at once. */
const MAX_LISTED = 10;

/** The same problem of many things. @param details what is said of each */
export function toProblems(code: ProblemCode, details: readonly string[]): readonly Problem[] {
  const more = details.length - MAX_LISTED;
  const shown = details.slice(0, MAX_LISTED).concat(more > 0 ? `So it is with ${more} more.` : []);
  return shown.map((detail) => toProblem(code, { detail }));
}

/** Message and fix of a Hookline error. Other errors' texts may hold addresses, and belong in the log. */
export function detailOf(error: unknown): ProblemDetail {
  if (!isHooklineError(error)) return {};
  const { message } = describeThrown(error);
  const fix = fixOf(error);
  // The message ends with the fix, which has a field of its own here.
  const detail = fix !== undefined && message.endsWith(fix) ? message.slice(0, -fix.length).trimEnd() : message;
  return { detail, fix };
}
