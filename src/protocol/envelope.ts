import * as z from "zod/mini";
import type { Envelope, SingleEvent, UnknownEvent } from "./events.ts";
import { idField } from "./ids.ts";
import { parseJson } from "./json.ts";
import { resourceOf } from "./registry.ts";
import { isLifecycle, readLifecycle } from "./resources/lifecycle.ts";
import { type FieldsOf, type Loose } from "./resources/fields.ts";
import type { Entry, EntryProblem, PathIds, Resource } from "./resources/resource.ts";

/** A delivery's body, read but not yet taken apart. */
export interface Document {
  /** What the body says; `undefined` when it is not JSON. */
  readonly json: unknown;
  /** False when the body is not JSON. */
  readonly parsed: boolean;
  /** Who it came from; `undefined` when it does not say so. */
  readonly envelope: Envelope | undefined;
}

/** Reads a delivery's body, whatever it is. Never throws. @see protocol 6.2 */
export function parseDocument(body: Uint8Array): Document {
  const { json, parsed } = parseJson(body);
  return { json, parsed, envelope: envelopeSchema.safeParse(json).data };
}

/**
 * The events of a delivery, in the order of its entries. Whatever it is, a delivery gives at least one. Never throws.
 *
 * @param from index of the first event wanted, so that a long delivery can be taken in parts. @default 0
 * @param max how many are wanted. @default all
 * @see protocol 6.2
 */
export function eventsOf(document: Document, from = 0, max = Infinity): readonly SingleEvent[] {
  const content = contentOf(document);
  if ("event" in content) return from <= 0 && max > 0 ? [content.event] : [];
  const { resource, ids, envelope, entries } = content;
  const start = Math.max(0, from);
  return entries.slice(start, start + max).map((entry) => toEvent(resource.read(entry), { ids, envelope, entry }));
}

/** How many events {@link eventsOf} gives for the whole of a delivery: at least one. */
export function entryCount(document: Document): number {
  const content = contentOf(document);
  return "event" in content ? 1 : content.entries.length;
}

const envelopeSchema = z.object({
  subscription: idField,
  accountId: idField,
  resource: z.string(),
} satisfies FieldsOf<Envelope>);

/** A delivery is one event as a whole, or a list of entries. */
type Content =
  | { readonly event: SingleEvent }
  | {
      readonly resource: Resource;
      readonly ids: PathIds;
      readonly envelope: Envelope;
      readonly entries: readonly unknown[];
    };

function contentOf({ json, parsed, envelope }: Document): Content {
  if (!parsed) return { event: { type: "unknown", reason: "not-json" } };
  if (envelope === undefined) return { event: { type: "unknown", reason: "shape", json } };
  const delivery = json as Loose;
  // Before the resource is asked: a notice is understood whatever it is about.
  if (isLifecycle(delivery)) return { event: toEvent(readLifecycle(delivery), { ids: {}, envelope, entry: json }) };
  const found = resourceOf(envelope.resource);
  if (found === undefined) return { event: toUnknown("resource", envelope, json) };
  const { resource, ids } = found;
  const entries = delivery["payloads"] ?? [];
  if (!Array.isArray(entries)) return { event: toUnknown("shape", envelope, json) };
  if (entries.length > 0) return { resource, ids, envelope, entries };
  if (resource.signal === undefined) return { event: toUnknown("shape", envelope, json) };
  return { event: toEvent({ type: resource.signal, fields: {} }, { ids, envelope, entry: json }) };
}

interface Surroundings {
  readonly ids: PathIds;
  readonly envelope: Envelope;
  /** What was read, for an event that is unknown. */
  readonly entry: unknown;
}

function toEvent(read: Entry | EntryProblem, { ids, envelope, entry }: Surroundings): SingleEvent {
  if (typeof read === "string") return toUnknown(read, envelope, entry);
  // The entry comes first: no field of it may stand for the path's ids, the envelope or the type.
  return Object.assign(read.fields, ids, envelope, { type: read.type }) as unknown as SingleEvent;
}

function toUnknown(reason: UnknownEvent["reason"], envelope: Envelope, json: unknown): UnknownEvent {
  return { ...envelope, type: "unknown", reason, json };
}
