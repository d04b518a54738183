import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { createReceiver, type Receiver } from "../../../src/index.ts";
import { SECRET, SIGNINGS } from "../signing.ts";
import { openInbox } from "./inbox.ts";

/** Concurrent jobs: the default. */
export const CONCURRENCY = 10;

/** A receiver whose inbox has room for everything, with defaults otherwise. */
export function openBench(): { readonly receiver: Receiver; readonly inbox: WorkingInbox } {
  const inbox = openInbox();
  return { receiver: createReceiver({ secret: SECRET, inbox, concurrency: CONCURRENCY, log: false }), inbox };
}

/** The deliveries to store before the start. */
export interface Backlog {
  readonly jobs: number;
  /** Number of records, used round-robin. */
  readonly lanes: number;
  /** Entries of one delivery. @default 100 */
  readonly entries?: number;
  /** @default 2002 */
  readonly accountId?: number;
}

/** Delivers so many changes. @returns the bytes of their bodies */
export async function fill(receiver: Receiver, { jobs, lanes, entries = 100, accountId }: Backlog): Promise<number> {
  let bytes = 0;
  let underWay: Promise<void>[] = [];
  for (let first = 0; first < jobs; first += entries) {
    const records = Array.from({ length: Math.min(entries, jobs - first) }, (_, index) => (first + index) % lanes);
    const body = bodyOf(records, accountId);
    bytes += body.length;
    underWay.push(deliver(receiver, body));
    if (underWay.length < AT_ONCE) continue;
    await Promise.all(underWay);
    underWay = [];
  }
  await Promise.all(underWay);
  return bytes;
}

/** A delivery of changes of these records. */
export function bodyOf(records: readonly number[], accountId = 2002): string {
  const payloads = records.map((record) => ({
    id: toId(record),
    changeType: "updated",
    attributes: { threadId: `t-${record}` },
  }));
  return JSON.stringify({ subscription: 1001, accountId, resource: "/email/messages", payloads });
}

/** The record's id in an event. */
export function toId(record: number): string {
  return `m-${String(record).padStart(8, "0")}`;
}

/** Passes a signed delivery to the receiver, without a socket. @throws Error if it is not acknowledged */
export async function deliver(receiver: Receiver, body: string): Promise<void> {
  const timestamp = String(Math.floor(Date.now() / 1_000));
  const { status } = await receiver.receive({
    method: "POST",
    url: "/",
    headers: SIGNINGS.service.headers(body, timestamp, SECRET),
    body: Buffer.from(body),
  });
  if (status !== 200) throw new Error(`A delivery was answered ${status}, expected 200.`);
}

/** Concurrent deliveries. */
const AT_ONCE = 50;
