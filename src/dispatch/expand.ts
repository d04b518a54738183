import { createHash } from "node:crypto";
import type { Expanded, Expansion, NewEvent, NewJob, Unexpanded } from "../inbox/port/delivery.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import { dedupeKeyOf } from "../protocol/dedupe-key.ts";
import { entryCount, eventsOf, parseDocument } from "../protocol/envelope.ts";
import { familyOf, isChangeFamily } from "../protocol/event-names.ts";
import type { SingleEvent } from "../protocol/event-types.ts";
import { ownSignalOf } from "../protocol/own-signal.ts";
import type { DispatchDeps } from "./dispatch-deps.ts";
import type { Handlers, Registration } from "./handlers.ts";
import { laneOf } from "./lane-key.ts";
import { mergeKeyOf } from "./merge-key.ts";

/** A delivery of more events is expanded in parts of this many, a part a commit. */
export const EXPAND_AT_ONCE = 1_000;
/** Deliveries read at a time. Pages grow while there is more: deliveries stored during a page wait behind it, and must be fewer. */
const PAGE = { least: 100, most: EXPAND_AT_ONCE };
/** Bytes of bodies parsed before the event loop gets a turn, so that it never stops for long. */
export const TURN_BYTES: number = 64 * 1024;

/** The events of a delivery with a job for each consumer that handles them; `first` is the entry of the first one. */
export function expandEvents(
  events: readonly SingleEvent[],
  handlers: Handlers,
  { source, first }: { readonly source: string | undefined; readonly first: number },
): NewEvent[] {
  return events.map((event, index) => ({
    entry: first + index,
    event,
    unique: uniqueOf(event, source),
    jobs: jobsOf(event, handlers, source),
  }));
}

/** A job for each consumer. An event that no consumer handles gets one job: skipped where its family is handled, else unhandled. */
export function jobsOf(event: SingleEvent, handlers: Handlers, source: string | undefined): readonly NewJob[] {
  const routes = routesOf(event, handlers);
  if (routes.length === 0) {
    const family = familyOf(event.type);
    return isChangeFamily(family) && !event.type.endsWith(".signal") && handlers.knowsFamily(family)
      ? SKIPPED
      : UNHANDLED;
  }
  return routes.map((route) => ({
    state: "waiting",
    consumer: route.consumer,
    lane: laneOf(event, route),
    mergeKey: mergeKeyOf(event, route, source),
  }));
}

function routesOf(event: SingleEvent, handlers: Handlers): readonly Registration[] {
  const routes = handlers.routes(event.type);
  const own = ownSignalOf(event);
  if (own === undefined) return routes;
  // A handler of signals was not made for what the service never sent.
  return routes.filter(({ batches, consumer }) => batches && (own.cause === "gap" || own.consumer === consumer));
}

const NO_CONSUMER = { consumer: undefined, lane: undefined, mergeKey: undefined };
const SKIPPED: readonly NewJob[] = [{ state: "skipped", ...NO_CONSUMER }];
const UNHANDLED: readonly NewJob[] = [{ state: "unhandled", ...NO_CONSUMER }];

/** Of tracking and booking. Their content leaves out the subscription: two subscriptions bring the same event. */
function uniqueOf(event: SingleEvent, source: string | undefined): NewEvent["unique"] {
  const key = dedupeKeyOf(event);
  if (key === undefined) return undefined;
  const content = createHash("sha256")
    .update(JSON.stringify({ ...event, subscription: undefined }))
    .digest("base64url")
    .slice(0, 22);
  return { key: source === undefined ? key : `${source} ${key}`, content };
}

/** True ends the work before it changes anything more. */
type Stopped = () => boolean;

export interface BacklogOptions {
  readonly inbox: WorkingInbox;
  /** A part of a delivery was expanded. */
  readonly expanded: (origin: Unexpanded, events: readonly NewEvent[], result: Expanded) => void;
}

/** Deliveries that were stored unexpanded. */
export function createBacklog(
  { handlers, expanding }: Pick<DispatchDeps, "handlers" | "expanding">,
  { inbox, expanded }: BacklogOptions,
) {
  let pageSize = PAGE.least;

  /** What one commit may carry of some deliveries, in order. A delivery that fits into one commit is not cut. */
  async function nextPart(page: readonly Unexpanded[]): Promise<Expansion[]> {
    const part: Expansion[] = [];
    let room = EXPAND_AT_ONCE;
    let bytes = 0;
    for (const { id, delivery, cursor } of page) {
      if (bytes > TURN_BYTES) {
        await nextTurn();
        bytes = 0;
      }
      bytes += delivery.body.byteLength;
      const document = parseDocument(delivery.body);
      const count = entryCount(document);
      if (part.length > 0 && count - cursor > room) break;
      const events = eventsOf(document, cursor, room);
      const end = cursor + events.length;
      part.push({
        id,
        events: expandEvents(events, handlers, { source: delivery.source, first: cursor }),
        cursor: end < count ? end : undefined,
      });
      room -= events.length;
    }
    return part;
  }

  return {
    /** Expands the oldest deliveries, as many as fit into one commit. @returns whether there were any that are this process's, and room */
    async expand(stopped: Stopped): Promise<boolean> {
      const page = await inbox.unexpanded(pageSize);
      if (page.length === 0) return false;
      const part = await nextPart(page);
      await Promise.all(
        part.flatMap(({ events }, index) => expanding(events, (page[index] as Unexpanded).delivery) ?? []),
      );
      if (stopped()) return false;
      pageSize = part.length === pageSize ? Math.min(2 * pageSize, PAGE.most) : PAGE.least;
      const results = await inbox.expand(part);
      for (const [index, { events }] of part.entries()) {
        const result = results[index];
        if (result !== undefined) expanded(page[index] as Unexpanded, events, result);
      }
      await nextTurn();
      return results.some((result) => result !== undefined);
    },
  };
}

/** Gives the event loop a turn. */
export function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
