import type { AnyEvent, Job, StoredDelivery } from "../../index.ts";
import { toPlain } from "../terminal/escape-terminal.ts";

/** A job as JSON: without `showContent` nothing of a mail, a calendar or an address. */
export function toJobJson(job: Job, showContent: boolean): object {
  if (showContent) return job;
  const { event, lane: _, lastError, ...rest } = job;
  const { type, accountId, subscription } = event;
  const why = type === "unknown" && "reason" in event ? { reason: event.reason, field: event.field } : {};
  return {
    ...rest,
    event: { type, ...why, accountId, subscription },
    ...(lastError && { lastError: { ...lastError, message: hideContent(lastError.message, event) } }),
  };
}

export function toDeliveryJson(delivery: StoredDelivery, showContent: boolean): object {
  if (showContent) return delivery;
  const { bodyBase64, headers: _, ...rest } = delivery;
  return { ...rest, bytes: base64Bytes(bodyBase64) };
}

/** Length of decoded base64. */
export function base64Bytes(base64: string): number {
  return Buffer.byteLength(base64, "base64");
}

/** A job's last error as one line of plain text. */
export function errorText({ lastError, event }: Job, showContent: boolean): string | undefined {
  if (lastError === undefined) return undefined;
  const { name, message } = lastError;
  return toPlain(`${name}: ${showContent ? message : hideContent(message, event)}`);
}

/** An error's message without addresses and without texts of the event: the error may quote both. */
export function hideContent(message: string, event: AnyEvent): string {
  const texts = [...textsOf(event)].filter((text) => text.length > 2).toSorted((a, b) => b.length - a.length);
  return hideAddresses(texts.reduce((result, text) => result.replaceAll(text, "[hidden]"), message));
}

/** Hides every word that has an @ inside. */
export function hideAddresses(text: string): string {
  return text.replaceAll(/[^\s<>"'(),;:]+/g, (word) => (word.indexOf("@") > 0 ? "[hidden]" : word));
}

/** All texts of an event that may be content: also the resource, which may name a calendar by its address. */
function* textsOf(value: unknown, name = ""): Generator<string> {
  if (typeof value === "string" && !NO_CONTENT.has(name)) yield value;
  if (typeof value !== "object" || value === null) return;
  for (const [key, part] of Object.entries(value)) yield* textsOf(part, key);
}

const NO_CONTENT: ReadonlySet<string> = new Set(["type", "changeType", "eventType", "reason"]);
