import { createHash } from "node:crypto";
import type { NewEvent, NewJob, Expanded, Expansion, Unexpanded } from "../inbox/port/storing.ts";
import type { SingleEvent } from "../protocol/events.ts";
import { familyOf, isChangeFamily } from "../protocol/event-names.ts";
import { dedupeKeyOf } from "../protocol/dedupe-key.ts";
import type { Handlers } from "./handlers.ts";
import { laneOf, mergeKeyOf } from "./lane-key.ts";
import type { UnhandledJob } from "../inbox/port/jobs.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import { entryCount, eventsOf, parseDocument } from "../protocol/envelope.ts";
import type { DispatchDeps } from "./deps.ts";
import { eventAt } from "./job-view.ts";

/** A delivery of more events is expanded in parts of this many, a part a commit. */
export const EXPAND_AT_ONCE = 1_000;

/** The events of a delivery with a job for each consumer that handles them; `first` is the place of the first one. */
export function expandEvents(
  events: readonly SingleEvent[],
  handlers: Handlers,
  origin: { readonly source: string | undefined; readonly first: number },
): NewEvent[] {
  return events.map((event, index) => ({
    entry: origin.first + index,
    event,
    unique: uniqueOf(event, origin.source),
    jobs: jobsOf(event, handlers, origin.source),
  }));
}

/** A job for each consumer; where there is none, one that says whether somebody passed it over or nobody knows it. */
export function jobsOf(event: SingleEvent, handlers: Handlers, source: string | undefined): readonly NewJob[] {
  const routes = handlers.routes(event.type);
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

const SKIPPED: readonly NewJob[] = [{ state: "skipped", consumer: undefined, lane: undefined, mergeKey: undefined }];
const UNHANDLED: readonly NewJob[] = [
  { state: "unhandled", consumer: undefined, lane: undefined, mergeKey: undefined },
];

/** Tracking and booking are told once. The subscription is left out of the content: two of them tell of one and the same event. */
function uniqueOf(event: SingleEvent, source: string | undefined): NewEvent["unique"] {
  const key = dedupeKeyOf(event);
  if (key === undefined) return undefined;
  const content = createHash("sha256")
    .update(JSON.stringify({ ...event, subscription: undefined }))
    .digest("base64url")
    .slice(0, 22);
  return { key: source === undefined ? key : `${source} ${key}`, content };
}

/** So many are read at a time. While there is more, pages grow: what comes while one is expanded waits behind it, and must be fewer. */
const PAGE = { least: 100, most: EXPAND_AT_ONCE };
/** Of bodies that are parsed before the loop gets a turn, so that it never stops for long. */
const TURN_BYTES = 64 * 1024;

/** What was stored before this process could expand it. */
export interface Backlog {
  /** Gives unhandled jobs to those who handle them now: before anything newer is expanded. */
  reopen(stopped: Stopped): Promise<void>;
  /** Expands the oldest, as much as one commit may carry. @returns whether there was any, and room for it */
  expand(stopped: Stopped): Promise<boolean>;
}

/** True ends it before it changes anything more. */
type Stopped = () => boolean;

export interface BacklogOptions {
  readonly inbox: WorkingInbox;
  /** A page was expanded. */
  readonly expanded: (origin: Unexpanded, events: readonly NewEvent[], seen: Expanded) => void;
  /** There may be something to claim. */
  readonly wake: () => void;
}

export function createBacklog(
  { handlers }: Pick<DispatchDeps, "handlers">,
  { inbox, expanded, wake }: BacklogOptions,
): Backlog {
  let pageSize = PAGE.least;

  /** The next part of some deliveries, in order, as much as one commit may carry: a delivery that fits into one is not cut. */
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

  /** One that lost its handler is for its own consumer: the others had a job of their own. */
  function jobsFor(job: UnhandledJob): NewJob[] {
    const jobs = jobsOf(eventAt(job), handlers, job.delivery.source);
    return jobs.filter(
      ({ state, consumer }) => state === "waiting" && (job.consumer === undefined || job.consumer === consumer),
    );
  }

  return {
    async reopen(stopped) {
      let after: string | undefined;
      while (!stopped()) {
        const page = await inbox.jobs.unhandled({ after, limit: PAGE.least });
        after = page.at(-1)?.id;
        if (after === undefined || stopped()) return;
        const replacements = page.map((job) => ({ id: job.id, jobs: jobsFor(job) }));
        await inbox.jobs.reopen(replacements.filter(({ jobs }) => jobs.length > 0));
        wake();
        await nextTurn();
      }
    },
    async expand(stopped) {
      const page = await inbox.unexpanded(pageSize);
      if (page.length === 0) return false;
      const part = await nextPart(page);
      if (stopped()) return false;
      pageSize = part.length === pageSize ? Math.min(2 * pageSize, PAGE.most) : PAGE.least;
      const seen = await inbox.expand(part);
      for (const [index, { events }] of part.entries())
        expanded(page[index] as Unexpanded, events, seen[index] as Expanded);
      await nextTurn();
      return true;
    },
  };
}

function nextTurn(): Promise<void> {
  return new Promise((resolve) => setImmediate(resolve));
}
