import type {
  BlockedLane,
  ErroredSubscriptionInfo,
  GapInfo,
  Health,
  Job,
  JobGroup,
  LiveWorker,
  StoredDelivery,
  TombstoneInfo,
} from "../index.ts";
import { PROBLEMS } from "../receiver/health/problem-catalog.ts";

/**
 * Answers are made of named fields, so that a new field of a job shows nothing by accident. Those of `content` are ids of mail, addresses,
 * bodies, lanes, reasons, headers and messages of errors.
 */
export function toJob(job: Job, content: boolean) {
  const { id, state, event, consumer, attempts, lastError, receivedAt, nextAttemptAt, settledAt, replayOf } = job;
  return {
    id,
    state,
    type: event.type,
    accountId: event.accountId,
    subscription: event.subscription,
    consumer,
    attempts,
    receivedAt,
    nextAttemptAt,
    settledAt,
    replayOf,
    ...(lastError && {
      error: {
        name: toErrorName(lastError.name, content),
        at: lastError.at,
        ...(content && { message: lastError.message }),
      },
    }),
    ...(content && { lane: job.lane }),
  };
}

/** A page that looks again every few seconds gets no more of a body than this. */
const MAX_BODY_BYTES = 12 * 1024;

/** With what is stored of its delivery. */
export function toFoundJob({ delivery, ...job }: Job & { readonly delivery?: StoredDelivery }, content: boolean) {
  // `keepBodies` has deleted the rest.
  if (delivery === undefined) return { ...toJob(job, content), delivery: { id: job.deliveryId, bytes: 0 } };
  const { id, receivedAt, sentAt, signedBy, source, bodyBase64, headers } = delivery;
  const body = Buffer.from(bodyBase64, "base64");
  return {
    ...toJob(job, content),
    delivery: {
      id,
      receivedAt,
      sentAt,
      signedBy,
      source,
      bytes: body.length,
      ...(content && {
        headers,
        bodyBase64: body.subarray(0, MAX_BODY_BYTES).toString("base64"),
        isCut: body.length > MAX_BODY_BYTES,
      }),
    },
  };
}

/** The name of an error is that of a class; a handler may have set any other text. */
function toErrorName(name: string, content: boolean): string {
  return content || /^[A-Z]\w{0,60}$/.test(name) ? name : "(hidden)";
}

export function toGroup({ consumer, type, error, count, newestAt }: JobGroup, content: boolean) {
  return { consumer, type, error: error === undefined ? undefined : toErrorName(error, content), count, newestAt };
}

export function toLane({ job, behind }: BlockedLane, content: boolean) {
  return { job: toJob(job, content), behind };
}

export function toTombstone(one: TombstoneInfo, content: boolean) {
  const { subscription, source, since, lastHit, reason } = one;
  return { subscription, source, since, lastHit, ...(content && { reason }) };
}

export function toErrored(one: ErroredSubscriptionInfo, content: boolean) {
  const { subscription, source, accountId, since, resource, error } = one;
  return { subscription, source, accountId, since, ...(content && { resource, error }) };
}

export function toGap(gap: GapInfo, content: boolean) {
  const { subscription, source, accountId, family, cause, from, until, resource } = gap;
  return { subscription, source, accountId, family, cause, from, until, ...(content && { resource }) };
}

export function toWorker({ id, isThis, share, running }: LiveWorker) {
  return { id, isThis, share, running };
}

/** Messages and fixes quote resources and errors: without `content` they are those of the catalog. */
export function toProblem({ code, message, fix }: Health["problems"][number], content: boolean) {
  if (content) return { code, message, fix };
  const known = Object.hasOwn(PROBLEMS, code) ? PROBLEMS[code as keyof typeof PROBLEMS] : undefined;
  return { code, message: known?.message ?? "", fix: known?.fix };
}
