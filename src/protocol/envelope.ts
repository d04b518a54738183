import * as z from "zod/mini";
import { LIFECYCLE_STATES } from "./event-names.ts";
import { freezeDeep, unknownEvent, type Envelope, type SingleEvent, type UnknownEvent } from "./event-types.ts";
import { EntryProblem, fieldsReader, idField, optional, toProblem, type FieldsOf, type Loose } from "./read-fields.ts";
import { accountIn } from "./id.ts";
import { parseExactly, parseJson } from "./json.ts";
import { ownSignalIn } from "./own-signal-body.ts";
import { resourceOf, type Entry, type PathIds, type Resource } from "./resources.ts";

/** A delivery's body as JSON, and its envelope. */
export interface Document {
  /** The parsed body; `undefined` when it is not JSON. */
  readonly json: unknown;
  /** False when the body is not JSON. */
  readonly parsed: boolean;
  /** `undefined` when a field of it is missing or has another type. */
  readonly envelope: Envelope | undefined;
  /** The same as `json`, with integers beyond 2^53 as texts of their digits. Parsed at the first call: few deliveries need it. */
  readonly exact: () => unknown;
}

/** Parses a delivery's body, whatever it is. Never throws. @see protocol 6.2 */
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
 * The events of a delivery: a lifecycle notice, then its entries in their order. They are frozen, because all consumers and attempts
 * share them. Every delivery gives at least one event. Never throws.
 *
 * @param from index of the first event, so that a long delivery can be expanded in parts. @default 0
 * @param max most events. @default all
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

/** A delivery's events: those of the delivery as a whole come before its entries. */
interface Content {
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
  if (envelope === undefined) {
    const accountId = accountIn(json);
    const known = accountId === undefined ? undefined : { accountId };
    return { heads: [toUnknown(toProblem(envelopeSchema.safeParse(json).error), known, document.exact())] };
  }
  const delivery = json as Loose;
  const payloads = delivery["payloads"] ?? [];
  const whole = (field: string, reason: UnknownEvent["reason"]): SingleEvent =>
    toUnknown({ reason, field }, envelope, document.exact());
  // Before the resource: any resource can send a notice, unknown ones too.
  const notice = isLifecycle(delivery) ? [noticeOf(document, envelope)] : [];
  // A notice without entries is not a signal.
  if (notice.length > 0 && Array.isArray(payloads) && payloads.length === 0) return { heads: notice };
  const found = resourceOf(envelope.resource);
  if (found === undefined) return { heads: [...notice, whole("resource", "resource")] };
  if (!Array.isArray(payloads)) return { heads: [...notice, whole("payloads", "shape")] };
  const { resource } = found;
  const ids = resource.entryHasIds ? {} : found.ids;
  if (payloads.length > 0) return { heads: notice, list: { document, envelope, resource, ids, entries: payloads } };
  if (resource.signal === undefined) return { heads: [whole("payloads", "shape")] };
  return { heads: [toEvent({ type: resource.signal, fields: { ...ownSignalIn(delivery) } }, ids, envelope)] };
}

/** True for a delivery that announces the state of its subscription. @see protocol 3 */
function isLifecycle(delivery: Loose): boolean {
  return delivery["lifecycleEvent"] !== undefined && delivery["lifecycleEvent"] !== null;
}

function noticeOf({ json, exact }: Document, envelope: Envelope): SingleEvent {
  const read = readLifecycle(json);
  return read instanceof EntryProblem ? toUnknown(read, envelope, exact()) : toEvent(read, {}, envelope);
}

/**
 * Reads the notice without the entries beside it, which are events of their own. An `error` without a text is reported with an
 * empty one, because the subscription died all the same.
 *
 * @see protocol 6.2
 */
function readLifecycle(delivery: unknown): Entry | EntryProblem {
  const read = readNotice(delivery);
  if (read instanceof EntryProblem) return read;
  const state = LIFECYCLE_STATES.find((known) => known === read.lifecycleEvent);
  if (state === undefined) return new EntryProblem("value", "lifecycleEvent");
  const { payloads: _, ...fields } = read;
  return { type: `lifecycle.${state}`, fields: state === "error" ? { error: "", ...fields } : fields };
}

interface WireNotice {
  readonly lifecycleEvent: string;
  readonly error?: string;
}

const readNotice = fieldsReader<WireNotice>({ lifecycleEvent: z.string(), error: optional(z.string()) });

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

/** Takes the exact digits for the ids alone: any other field that is a number stays a number. */
function withExactIds({ recordIds }: Resource, entry: Loose, exact: Loose): Loose {
  return { ...entry, ...Object.fromEntries(recordIds.map((name) => [name, exact[name]])) };
}

function toEvent({ type, fields }: Entry, ids: PathIds, envelope: Envelope): SingleEvent {
  // In this order, so that no field of an entry replaces an id of the path, the envelope or the type.
  return freezeDeep(Object.assign(fields, ids, envelope, { type })) as unknown as SingleEvent;
}

function toUnknown(
  { reason, field }: { readonly reason: UnknownEvent["reason"]; readonly field: string | undefined },
  envelope: Partial<Envelope> | undefined,
  json: unknown,
): UnknownEvent {
  return unknownEvent({ ...envelope, reason, ...(field !== undefined && { field }) }, json);
}
