import * as z from "zod/mini";
import type { Envelope, SingleEvent, UnknownEvent } from "./events.ts";
import { freezeDeep, unknownEvent } from "./frozen.ts";
import { idField } from "./ids.ts";
import { parseExactly, parseJson } from "./json.ts";
import { resourceOf } from "./resources.ts";
import { EntryProblem, toProblem } from "./resources/entry-problem.ts";
import { type FieldsOf, type Loose } from "./fields.ts";
import { isLifecycle, readLifecycle } from "./resources/lifecycle.ts";
import type { Entry, PathIds, Resource } from "./resources/resource.ts";

/** A delivery's body, read but not yet taken apart. */
export interface Document {
  /** What the body says; `undefined` when it is not JSON. */
  readonly json: unknown;
  /** False when the body is not JSON. */
  readonly parsed: boolean;
  /** Who it came from; `undefined` when it does not say so. */
  readonly envelope: Envelope | undefined;
  /** The same as `json`, with integers beyond 2^53 as texts of their digits. Read when first asked for: few deliveries are. */
  readonly exact: () => unknown;
}

/** Reads a delivery's body, whatever it is. Never throws. @see protocol 6.2 */
export function parseDocument(body: Uint8Array): Document {
  const { json, parsed } = parseJson(body);
  let exact: { readonly json: unknown } | undefined;
  return {
    json,
    parsed,
    envelope: envelopeSchema.safeParse(json).data,
    exact: () => (exact ??= { json: parsed ? parseExactly(body, json) : undefined }).json,
  };
}

/**
 * The events of a delivery: a notice of its subscription, then its entries in their order. They are frozen, because one object is for
 * all consumers and attempts. Whatever it is, a delivery gives at least one. Never throws.
 *
 * @param from index of the first event wanted, so that a long delivery can be taken in parts. @default 0
 * @param max how many are wanted. @default all
 * @see protocol 6.2
 */
export function eventsOf(document: Document, from = 0, max = Infinity): readonly SingleEvent[] {
  const { heads, list } = contentOf(document);
  const start = Math.max(0, from);
  const first = heads.slice(start, start + max);
  if (list === undefined) return first;
  const at = Math.max(0, start - heads.length);
  const rest = list.entries.slice(at, at + max - first.length).map((_, index) => entryOf(list, at + index));
  return first.length === 0 ? rest : [...first, ...rest];
}

/** How many events {@link eventsOf} gives for the whole of a delivery: at least one. */
export function entryCount(document: Document): number {
  const { heads, list } = contentOf(document);
  return heads.length + (list?.entries.length ?? 0);
}

const envelopeSchema = z.object({
  subscription: idField,
  accountId: idField,
  resource: z.string(),
} satisfies FieldsOf<Envelope>);

/** What a delivery is made of. */
interface Content {
  /** Events of the delivery as a whole, which come before its entries. */
  readonly heads: readonly SingleEvent[];
  readonly list?: List;
}

interface List {
  readonly document: Document;
  readonly envelope: Envelope;
  readonly resource: Resource;
  readonly ids: PathIds;
  readonly entries: readonly unknown[];
}

function contentOf(document: Document): Content {
  const { json, parsed, envelope } = document;
  if (!parsed) return { heads: [unknownEvent({ reason: "not-json" })] };
  if (envelope === undefined)
    return { heads: [toUnknown(toProblem(envelopeSchema.safeParse(json).error), undefined, document.exact())] };
  const delivery = json as Loose;
  const payloads = delivery["payloads"] ?? [];
  const whole = (field: string, reason: UnknownEvent["reason"]): SingleEvent =>
    toUnknown({ reason, field }, envelope, document.exact());
  // Before the resource is asked: a notice is understood whatever it is about.
  const notice = isLifecycle(delivery) ? [noticeOf(document, envelope)] : [];
  // It is no signal: what it says is how the subscription is.
  if (notice.length > 0 && Array.isArray(payloads) && payloads.length === 0) return { heads: notice };
  const found = resourceOf(envelope.resource);
  if (found === undefined) return { heads: [...notice, whole("resource", "resource")] };
  if (!Array.isArray(payloads)) return { heads: [...notice, whole("payloads", "shape")] };
  const { resource } = found;
  const ids = resource.namesItself ? {} : found.ids;
  if (payloads.length > 0) return { heads: notice, list: { document, envelope, resource, ids, entries: payloads } };
  if (resource.signal === undefined) return { heads: [whole("payloads", "shape")] };
  return { heads: [toEvent({ type: resource.signal, fields: {} }, ids, envelope)] };
}

function noticeOf({ json, exact }: Document, envelope: Envelope): SingleEvent {
  const read = readLifecycle(json as Loose);
  return read instanceof EntryProblem ? toUnknown(read, envelope, exact()) : toEvent(read, {}, envelope);
}

function entryOf({ document, envelope, resource, ids, entries }: List, at: number): SingleEvent {
  const entry = entries[at];
  const read = resource.read(entry);
  if (!(read instanceof EntryProblem)) return toEvent(read, ids, envelope);
  const exact = (document.exact() as { readonly payloads: readonly unknown[] }).payloads[at];
  const again = resource.recordIds.includes(read.field ?? "")
    ? resource.read(withExactIds(resource, entry as Loose, exact as Loose))
    : read;
  return again instanceof EntryProblem ? toUnknown(again, envelope, exact) : toEvent(again, ids, envelope);
}

/** An id beyond 2^53 is known by its digits; any other number stays one, so that it is not taken for a text. */
function withExactIds({ recordIds }: Resource, entry: Loose, exact: Loose): Loose {
  return { ...entry, ...Object.fromEntries(recordIds.map((name) => [name, exact[name]])) };
}

function toEvent({ type, fields }: Entry, ids: PathIds, envelope: Envelope): SingleEvent {
  // The entry comes first: no field of it may stand for the path's ids, the envelope or the type.
  return freezeDeep(Object.assign(fields, ids, envelope, { type })) as unknown as SingleEvent;
}

interface Problem {
  readonly reason: UnknownEvent["reason"];
  readonly field: string | undefined;
}

function toUnknown({ reason, field }: Problem, envelope: Envelope | undefined, json: unknown): UnknownEvent {
  return unknownEvent({ ...envelope, reason, ...(field !== undefined && { field }) }, json);
}
