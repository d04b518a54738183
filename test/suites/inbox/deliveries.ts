import type { NewDelivery, NewEvent, NewJob } from "../../../src/inbox/port/delivery.ts";
import { eventsOf, parseDocument } from "../../../src/protocol/envelope.ts";

/** One entry of a delivery of e-mails, and its jobs. By default one job in a lane of its own name that does not merge. */
export interface MailEntry extends Partial<NewJob> {
  readonly id: string;
  readonly changeType?: string;
  /** Instead of the one. */
  readonly jobs?: readonly Partial<NewJob>[];
}

/** What a delivery may differ in. */
export interface MailFields {
  readonly accountId?: number;
  readonly subscription?: number;
  readonly source?: string;
  readonly receivedAt?: number;
  /** Makes the body longer. */
  readonly filler?: string;
}

/** A delivery with its events. */
export type FullDelivery = NewDelivery & { readonly events: readonly NewEvent[] };

const NO_JOB: NewJob = { state: "waiting", consumer: "default", lane: undefined, mergeKey: undefined };
const NO_CONSUMER = { consumer: undefined, lane: undefined, mergeKey: undefined } as const;

/** Jobs of nobody. */
export const UNHANDLED: NewJob = { ...NO_CONSUMER, state: "unhandled" };
export const SKIPPED: NewJob = { ...NO_CONSUMER, state: "skipped" };

/** A delivery of e-mails. */
export function mail(entries: readonly (string | MailEntry)[], fields: MailFields = {}): FullDelivery {
  const all = entries.map((entry) => (typeof entry === "string" ? { id: entry } : entry));
  const jobs = all.map(({ id, changeType: _changeType, jobs: several, ...job }) =>
    (several ?? [job]).map((each): NewJob => Object.assign({}, NO_JOB, { lane: `default ${id}` }, each)),
  );
  const payloads = all.map(({ id, changeType = "updated" }) => ({ id, changeType }));
  return newDelivery({ resource: "/email/messages", payloads }, fields, (entry) => ({
    unique: undefined,
    jobs: jobs[entry] ?? [],
  }));
}

/** An event that nobody handles. */
export function nobodys(id: string): MailEntry {
  return { id, ...UNHANDLED };
}

/** In one lane, where it merges with those of the same key. */
export function one(id: string, mergeKey?: string): MailEntry {
  return { id, lane: "one", mergeKey };
}

/** A delivery of tracking events, each told once: its key and its content are what is given. */
export function told(...events: readonly { readonly key: string; readonly content: string }[]): FullDelivery {
  const payloads = events.map((_, index) => ({
    id: index + 1,
    eventType: "open",
    createdAt: "2026-05-06T07:08:09Z",
    trackingId: 88,
  }));
  return newDelivery({ resource: "/email/tracking", payloads }, {}, (entry) => ({
    unique: events[entry],
    jobs: [{ ...NO_JOB, lane: `default ${entry}` }],
  }));
}

/** A delivery that says how a subscription stands: in trouble with an error, else it works. It has one job of nobody. */
export function notice(
  error: string | undefined,
  {
    resource = "/email/messages",
    sentAt = SENT_AT,
    ...fields
  }: MailFields & { resource?: string; sentAt?: number } = {},
): FullDelivery {
  const content = { resource, lifecycleEvent: error === undefined ? "active" : "error", error };
  const { delivery, events } = newDelivery(content, fields, () => ({ unique: undefined, jobs: [UNHANDLED] }));
  return { delivery: { ...delivery, sentAt }, events };
}

/** A delivery of any body, with a job of nobody for each of its events. */
export function ofBody(body: string | Buffer): FullDelivery {
  return deliveryOf(Buffer.from(body as string), {}, () => ({ unique: undefined, jobs: [UNHANDLED] }));
}

/** The same delivery, stored by a process that does not work. */
export function raw({ delivery }: NewDelivery): NewDelivery {
  return { delivery, events: undefined };
}

function newDelivery(
  content: { readonly resource: string; readonly [field: string]: unknown },
  { accountId = 2002, subscription = 1001, filler, ...fields }: MailFields,
  rest: (entry: number) => Pick<NewEvent, "unique" | "jobs">,
): FullDelivery {
  return deliveryOf(Buffer.from(JSON.stringify({ subscription, accountId, ...content, filler })), fields, rest);
}

function deliveryOf(
  body: Buffer,
  { source, receivedAt = SENT_AT + 1_000 }: Pick<MailFields, "source" | "receivedAt">,
  rest: (entry: number) => Pick<NewEvent, "unique" | "jobs">,
): FullDelivery {
  const events = eventsOf(parseDocument(body)).map((event, entry) => Object.assign({ entry, event }, rest(entry)));
  const headers = { "x-aurinko-signature": SIGNATURE, "x-aurinko-request-timestamp": String(SENT_AT / 1_000) };
  const delivery = { receivedAt, sentAt: SENT_AT, source, signedBy: "default", signature: SIGNATURE, headers, body };
  return { delivery, events };
}

const SENT_AT = Date.parse("2026-01-02T03:04:00Z");
/** An inbox verifies nothing: it is stored as it is. */
const SIGNATURE = "5e884898da28047151d0e56f8dc6292773603d0d6aabbdd62a11ef721d1542d8";
