import type { Health, Job, StoredDelivery } from "../index.ts";
import { PROBLEMS } from "../receiver/health/problem-catalog.ts";

/**
 * Answers are made of named fields, so that a new field of a job shows nothing by accident. Those after the bar are content: ids of mail,
 * addresses, bodies, lanes, reasons, headers and messages of errors.
 */
const FIELDS = {
  job: "id state consumer attempts receivedAt nextAttemptAt settledAt replayOf | lane",
  event: "type accountId subscription |",
  error: "at | message",
  delivery: "id receivedAt sentAt signedBy source | headers",
  group: "consumer type count newestAt |",
  tombstone: "subscription source since lastHit | reason",
  errored: "subscription source accountId since | resource error",
  gap: "subscription source accountId family cause from until | resource",
  pause: "consumer accountId since until waiting | reason",
  worker: "id isThis share running |",
};

/** What is shown of something. */
export function shown(kind: keyof typeof FIELDS, item: object, content: boolean): object {
  const [open = "", hidden = ""] = FIELDS[kind].split("|");
  const names = (content ? `${open} ${hidden}` : open).split(" ").filter((name) => Object.hasOwn(item, name));
  return Object.fromEntries(names.map((name) => [name, (item as Readonly<Record<string, unknown>>)[name]]));
}

export function toJob(job: Job, content: boolean) {
  const { event, lastError } = job;
  const error = lastError && { ...shown("error", lastError, content), name: toErrorName(lastError.name, content) };
  return { ...shown("job", job, content), ...shown("event", event, content), ...(error && { error }) };
}

/** A page that looks again every few seconds gets no more of a body than this. */
const MAX_BODY_BYTES = 12 * 1024;

/** With what is stored of its delivery. */
export function toFoundJob({ delivery, ...job }: Job & { readonly delivery?: StoredDelivery }, content: boolean) {
  // `keepBodies` has deleted the rest.
  if (delivery === undefined) return { ...toJob(job, content), delivery: { id: job.deliveryId, bytes: 0 } };
  const body = Buffer.from(delivery.bodyBase64, "base64");
  const bodyBase64 = body.subarray(0, MAX_BODY_BYTES).toString("base64");
  return {
    ...toJob(job, content),
    delivery: {
      ...shown("delivery", delivery, content),
      bytes: body.length,
      ...(content && { bodyBase64, isCut: body.length > MAX_BODY_BYTES }),
    },
  };
}

/** The name of an error is that of a class; a handler may have set any other text. */
export function toErrorName(name: string, content: boolean): string {
  return content || /^[A-Z]\w{0,60}$/.test(name) ? name : "(hidden)";
}

/** Messages and fixes quote resources and errors: without `content` they are those of the catalog. */
export function toProblem({ code, message, fix }: Health["problems"][number], content: boolean) {
  if (content) return { code, message, fix };
  const known = Object.hasOwn(PROBLEMS, code) ? PROBLEMS[code as keyof typeof PROBLEMS] : undefined;
  return { code, message: known?.message ?? "", fix: known?.fix };
}
