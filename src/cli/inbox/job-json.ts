import type { AnyEvent, Job, StoredDelivery } from "../../index.ts";

/** A job as JSON: by default without what could be somebody's mail, calendar or address. */
export interface JobView extends Omit<Job, "event" | "lane" | "lastError"> {
  readonly event: object;
  readonly lane?: string;
  readonly lastError?: NonNullable<Job["lastError"]>;
}

export function toView(job: Job, showContent: boolean): JobView {
  if (showContent) return job;
  const { event, lane: _, lastError, ...rest } = job;
  return {
    ...rest,
    event: bareEvent(event),
    ...(lastError === undefined ? {} : { lastError: { ...lastError, message: hide(lastError.message, event) } }),
  };
}

/** What is known of a delivery beside its content. */
export function toDeliveryView(delivery: StoredDelivery, showContent: boolean): object {
  if (showContent) return delivery;
  const { bodyBase64, headers: _, ...rest } = delivery;
  return { ...rest, bytes: bytesOf(bodyBase64) };
}

/** Length of what Base64 stands for. */
export function bytesOf(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

/** What went wrong, without addresses and without what the event says: an error may quote both. */
export function hide(message: string, event: AnyEvent): string {
  const told = [...textsOf(event)].filter((text) => text.length > 2).toSorted((a, b) => b.length - a.length);
  return hideAddresses(told.reduce((text, secret) => text.replaceAll(secret, "[hidden]"), message));
}

/** Whatever has an @ within. */
export function hideAddresses(text: string): string {
  return text.replaceAll(/[^\s<>"'(),;:]+/g, (word) => (word.indexOf("@") > 0 ? "[hidden]" : word));
}

/** Numbers and the kind: neither what it is about nor whose. */
function bareEvent({ type, ...event }: AnyEvent): object {
  const { accountId, subscription } = event;
  const why = type === "unknown" && "reason" in event ? { reason: event.reason, field: event.field } : {};
  return { type, ...why, accountId, subscription };
}

/** The resource is a path that may name a calendar, which often is an address. */
function* textsOf(value: unknown, name = ""): Generator<string> {
  if (typeof value === "string" && !OPEN.has(name)) yield value;
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) yield* textsOf(part, key);
}

/** Fields that tell nothing of anybody. */
const OPEN: ReadonlySet<string> = new Set(["type", "changeType", "eventType", "reason"]);
