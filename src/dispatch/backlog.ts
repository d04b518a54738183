import type { UnhandledJob } from "../inbox/inbox-jobs.ts";
import type { Expanded, Expansion, NewEvent, NewJob, Unexpanded } from "../inbox/keeping.ts";
import type { WorkingInbox } from "../inbox/port.ts";
import { entryCount, eventsOf, parseDocument } from "../protocol/envelope.ts";
import { EXPAND_AT_ONCE, expandEvents, jobsOf } from "./expand.ts";
import type { WorkParts } from "./parts.ts";
import { eventAt } from "./read-back.ts";

/** So many are read at a time, so that the loop never stops for long. */
const PAGE = 100;

/** What was kept before this process could expand it. */
export interface Backlog {
  /** Gives unhandled jobs to those who handle them now: before anything newer is expanded. */
  reopen(): Promise<void>;
  /** Expands the oldest, as much as one commit may carry. @returns whether there was any, and room for it */
  expand(): Promise<boolean>;
}

export interface BacklogOptions {
  readonly inbox: WorkingInbox;
  /** True ends it between two pages. */
  readonly stopped: () => boolean;
  /** A page was expanded. */
  readonly expanded: (origin: Unexpanded, events: readonly NewEvent[], seen: Expanded) => void;
  /** There may be something to claim. */
  readonly wake: () => void;
}

export function createBacklog(
  { handlers }: Pick<WorkParts, "handlers">,
  { inbox, stopped, expanded, wake }: BacklogOptions,
): Backlog {
  /** The next part of some deliveries, in order, as much as one commit may carry: a delivery that fits into one is not cut. */
  function nextPart(page: readonly Unexpanded[]): Expansion[] {
    const part: Expansion[] = [];
    let room = EXPAND_AT_ONCE;
    for (const { id, delivery, cursor } of page) {
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
    async reopen() {
      let after: string | undefined;
      while (!stopped()) {
        const page = await inbox.jobs.unhandled({ after, limit: PAGE });
        after = page.at(-1)?.id;
        if (after === undefined) return;
        const replacements = page.map((job) => ({ id: job.id, jobs: jobsFor(job) }));
        await inbox.jobs.reopen(replacements.filter(({ jobs }) => jobs.length > 0));
        wake();
        await nextTurn();
      }
    },
    async expand() {
      const page = await inbox.unexpanded(PAGE);
      if (page.length === 0) return false;
      const part = nextPart(page);
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
