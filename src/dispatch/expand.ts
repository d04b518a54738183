import { createHash } from "node:crypto";
import { passed } from "../clock.ts";
import { isHooklineError } from "../errors.ts";
import type { Expanded, Expansion, NewEvent, NewJob, Unexpanded } from "../inbox/port/delivery.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import { dedupeKeyOf } from "../protocol/dedupe-key.ts";
import { entryCount, eventsOf, parseDocument } from "../protocol/envelope.ts";
import { familyOf, isChangeFamily } from "../protocol/event-names.ts";
import { unknownEvent, type SingleEvent } from "../protocol/event-types.ts";
import { ownSignalOf } from "../protocol/own-signal-body.ts";
import type { DispatchDeps } from "./dispatch-deps.ts";
import { nextTurn } from "./event-loop.ts";
import type { Handlers, Registration } from "./handlers.ts";
import { laneOf, shortened } from "./lane-key.ts";
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

/** Of an event without a handler: a change, and some consumer handles another one of its family. */
export function isSkipped({ type }: SingleEvent, handlers: Handlers): boolean {
  const family = familyOf(type);
  return isChangeFamily(family) && !type.endsWith(".signal") && handlers.knowsFamily(family);
}

/** A job for each consumer. An event that no consumer handles gets one job: skipped where its family is handled, else unhandled. */
export function jobsOf(event: SingleEvent, handlers: Handlers, source: string | undefined): readonly NewJob[] {
  const routes = routesOf(event, handlers);
  if (routes.length === 0) return isSkipped(event, handlers) ? SKIPPED : UNHANDLED;
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

/**
 * Of tracking and booking. Their content leaves out the subscription: two subscriptions bring the same event. A long resource stands in it as
 * its hash: each entry of a delivery has it.
 */
export function uniqueOf(event: SingleEvent, source: string | undefined): NewEvent["unique"] {
  const key = dedupeKeyOf(event);
  if (key === undefined) return undefined;
  const content = createHash("sha256")
    .update(
      JSON.stringify({ ...event, subscription: undefined, resource: event.resource && shortened(event.resource) }),
    )
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
  /** Events that handlers wait for became unhandled jobs. */
  readonly leftUnhandled: () => void;
}

/** So long events of one delivery fail alone while the inbox takes others, before all others go on without it, seconds. */
export const FAIR_S = 60;

/** What one try counts of {@link FAIR_S}: one that hangs, or has waited long, as more than one; two at least are needed. @param ms that it took */
export function fairSeconds(ms: number): number {
  return Math.min(Math.max(1, Math.round(ms / 1_000)), FAIR_S / 2);
}

/**
 * Deliveries that were stored unexpanded. Where a commit fails, entries are tried one by one. One that fails on, while the inbox expands its
 * delivery by nothing, becomes an unhandled job; none is left out. If the inbox takes neither, it is tried for ever.
 */
export function createBacklog(
  {
    handlers,
    expanding,
    watch,
    faultLog,
    clock,
  }: Pick<DispatchDeps, "handlers" | "expanding" | "watch" | "faultLog" | "clock">,
  { inbox, expanded, leftUnhandled }: BacklogOptions,
) {
  let pageSize = PAGE.least;
  let eventsAtOnce = EXPAND_AT_ONCE;
  /** The delivery of which an entry failed alone. Once one was given up, each next one needs one fair try: they fail for the same cause. */
  let failing: { readonly id: string; readonly fairS: number } | undefined;

  /** What one commit may carry of some deliveries, in order. A delivery that fits into one commit is not cut. */
  async function nextPart(page: readonly Unexpanded[]): Promise<Expansion[]> {
    const part: Expansion[] = [];
    let room = eventsAtOnce;
    let bytes = 0;
    for (const unexpanded of page) {
      if (bytes > TURN_BYTES) {
        await nextTurn();
        bytes = 0;
      }
      const expansion = toExpansion(unexpanded, room, part.length > 0);
      if (expansion === undefined) break;
      part.push(expansion);
      bytes += unexpanded.delivery.body?.byteLength ?? 0;
      room -= expansion.events.length;
    }
    return part;
  }

  /** Undefined where there is no room for it. A delivery that cannot be read ends as one event that nobody handles. */
  function toExpansion({ id, delivery, cursor }: Unexpanded, room: number, mustFit: boolean): Expansion | undefined {
    try {
      const document = parseDocument(delivery.body);
      const count = entryCount(document);
      if (mustFit && count - cursor > room) return undefined;
      const events = eventsOf(document, cursor, room);
      const end = cursor + events.length;
      return {
        id,
        events: expandEvents(events, handlers, { source: delivery.source, first: cursor }),
        cursor: end < count ? end : undefined,
      };
    } catch (err) {
      report(id, cursor, err);
      return { id, events: [toUnreadable({ entry: cursor })], cursor: undefined };
    }
  }

  function report(deliveryId: string, entry: number | undefined, err: unknown): void {
    faultLog.error(
      { err, code: "event-not-expanded", deliveryId, entry },
      "an event cannot be expanded: it is to be an unhandled job",
    );
  }

  /** @returns what was written, and the answers */
  async function commit(part: readonly Expansion[], cursor: number): Promise<Committed> {
    const [first] = part;
    const isAlone = eventsAtOnce === 1 && first !== undefined;
    const isFair = isAlone && (await expandsNothing({ id: first.id, cursor }));
    if (isFair) watch.failed("expand", toRefused()); // it answers: no restart helps
    const startedAt = passed(clock);
    try {
      const results = await write(part);
      // Entries of one that was given up are tried alone to its end.
      if (failing?.id !== first?.id || !isGivenUp(1)) failing = undefined;
      eventsAtOnce = failing === undefined ? Math.min(2 * eventsAtOnce, EXPAND_AT_ONCE) : 1;
      return { written: part, results };
    } catch (error) {
      eventsAtOnce = 1;
      if (!isFair) throw error;
      const before = failing?.id === first.id ? failing.fairS : 0;
      failing = { id: first.id, fairS: before + fairSeconds(passed(clock) - startedAt) };
      const committed =
        (isGivenUp(1) ? await commitUnhandled(first, toUnhandled, error) : undefined) ??
        (isGivenUp(2) ? await commitUnhandled(first, toUnreadable, error) : undefined);
      if (committed !== undefined) return committed;
      throw isHooklineError(error, "inbox-hung") ? toRefused(error) : error;
    }
  }

  /** An entry of {@link failing} goes on in another form, if that is taken; after twice as long in the second one. */
  function isGivenUp(times: 1 | 2): boolean {
    return failing !== undefined && failing.fairS >= times * FAIR_S;
  }

  /** Whether the inbox expands at all: the delivery that fails by no event. It stays where it is, and no newer one overtakes it. */
  async function expandsNothing(at: Pick<Expansion, "id" | "cursor">): Promise<boolean> {
    try {
      const [result] = await write([{ ...at, events: [] }]);
      return result !== undefined;
    } catch {
      return false; // the inbox may refuse just this: the events are tried all the same
    }
  }

  /** @returns undefined where the inbox does not take this form either */
  async function commitUnhandled(
    alone: Expansion,
    to: (event: NewEvent) => NewEvent,
    err: unknown,
  ): Promise<Committed | undefined> {
    report(alone.id, alone.events[0]?.entry, err);
    const written = [{ ...alone, events: alone.events.map(to) }];
    try {
      const results = await write(written);
      leftUnhandled();
      return { written, results };
    } catch {
      return undefined; // the events as they are say why
    }
  }

  function write(part: readonly Expansion[]): Promise<Results> {
    return watch.call("expand", "expand", () => inbox.expand(part));
  }

  /** Without a job in the inbox there is room for those of the oldest delivery. */
  function holdsNothingElse(): boolean {
    try {
      const { unexpanded, waiting, running } = inbox.stats();
      return unexpanded > 0 && waiting + running === 0;
    } catch {
      return false;
    }
  }

  return {
    /** Whether deliveries wait that the inbox did not give. Where it has room for them it withholds them: they are asked for again. */
    isLeft({ works, askAgain }: { readonly works: () => boolean; readonly askAgain: () => void }): boolean {
      const { unexpanded } = inbox.stats();
      if (unexpanded > 0 && inbox.capabilities.workers === "one")
        watch.gaveNothing("expand", { isDue: () => works() && holdsNothingElse(), askAgain });
      else watch.moved("expand");
      return unexpanded > 0;
    },
    /** Expands the oldest deliveries, as many as fit into one commit. @returns whether there were any that are this process's, and room */
    async expand(stopped: Stopped): Promise<boolean> {
      const asked = Math.min(pageSize, eventsAtOnce);
      pageSize = 1; // until it is known that none of them fails the others
      const page = await watch.call("expand", "unexpanded", () => inbox.unexpanded(asked));
      pageSize = Math.max(asked, PAGE.least);
      if (page.length === 0) return false;
      const part = await nextPart(page);
      await Promise.all(
        part.flatMap(({ events }, index) => expanding(events, (page[index] as Unexpanded).delivery) ?? []),
      );
      if (stopped()) return false;
      pageSize = part.length === pageSize ? Math.min(2 * pageSize, PAGE.most) : PAGE.least;
      const { written, results } = await commit(part, page[0]?.cursor ?? 0);
      watch.moved("expand", true);
      for (const [index, { events }] of written.entries()) {
        const result = results[index];
        if (result !== undefined) expanded(page[index] as Unexpanded, events, result);
      }
      await nextTurn();
      return results.some((result) => result !== undefined);
    },
  };
}

type Results = Awaited<ReturnType<WorkingInbox["expand"]>>;

interface Committed {
  readonly written: readonly Expansion[];
  readonly results: Results;
}

function toRefused(cause?: unknown): Error {
  return new Error("The inbox expands a delivery by nothing, and not by its next event.", { cause });
}

/** Without what the inbox may not take of its jobs; they are made again when unhandled jobs are looked at. */
function toUnhandled({ entry, event }: NewEvent): NewEvent {
  return { entry, event, unique: undefined, jobs: UNHANDLED };
}

/** The entry as an event that nobody handles: it is stored with its delivery, and shown. */
function toUnreadable({ entry }: Pick<NewEvent, "entry">): NewEvent {
  return { entry, event: unknownEvent({ reason: "shape" }), unique: undefined, jobs: UNHANDLED };
}
