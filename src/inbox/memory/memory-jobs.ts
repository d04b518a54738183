import { parseDocument } from "../../protocol/envelope.ts";
import { toStored } from "../port/delivery.ts";
import type { Fifo } from "../collections/fifo.ts";
import type { LaneQueues } from "../lane-queues.ts";
import type { MemoryClaims } from "./memory-claims.ts";
import type { Parcel, Row, MemoryStore } from "./memory-store.ts";
import type { Claim } from "../port/claims.ts";
import type { InboxJobs, JobQuery, JobSelection } from "../port/jobs.ts";

export interface MemoryJobsParts {
  readonly shelf: MemoryStore;
  readonly book: LaneQueues<Row>;
  readonly backlog: Fifo<Parcel>;
  readonly claims: MemoryClaims;
  readonly now: () => number;
  readonly lost: (claims: readonly Claim[]) => void;
  readonly wake: () => void;
  /** All of an account is to go. */
  readonly erased: (accountId: number) => void;
}

/** Looking into a memory inbox, and changing it by hand. */
export function memoryJobs({ shelf, book, backlog, claims, now, lost, wake, erased }: MemoryJobsParts): InboxJobs {
  function selected(selection: JobSelection): Row[] {
    if ("ids" in selection) return [...new Set(selection.ids)].flatMap((id) => shelf.get(id) ?? []);
    return [...shelf.rows()].filter((row) => matches(row, selection));
  }

  function remove(row: Row): void {
    book.remove(row, now());
    shelf.remove(row);
  }

  return {
    find: async ({ after, limit, ...query }) => {
      const found: Row[] = [];
      for (const row of shelf.rows(after)) {
        if (!matches(row, query)) continue;
        if (found.length === limit) return { jobs: found.map(shelf.toStored), next: String(found.at(-1)?.id) };
        found.push(row);
      }
      return { jobs: found.map(shelf.toStored) };
    },
    get: async (id) => {
      const row = shelf.get(id);
      return row === undefined
        ? undefined
        : { job: shelf.toStored(row), delivery: toStored(String(row.parcel.id), row.parcel.delivery) };
    },
    replay: async (selection) => {
      const rows = selected(selection).filter(canReplay);
      for (const row of rows) {
        const { entry, event, consumer, lane, mergeKey, parcel } = row;
        const again = shelf.add(
          parcel,
          { entry, event },
          { state: "waiting", consumer, lane, mergeKey: replayKey(mergeKey), replayOf: row.replayOf ?? String(row.id) },
        );
        if (again !== undefined) book.append(again, now());
        shelf.remove(row);
      }
      if (rows.length > 0) wake();
      return rows.length;
    },
    drop: async (selection) => {
      const rows = selected(selection).filter((row) => row.progress.state !== "running");
      for (const row of rows) remove(row);
      if (rows.length > 0) wake();
      return rows.length;
    },
    erase: async (accountId) => {
      const isOfIt = (row: Row): boolean => row.event.accountId === accountId;
      const ended = claims.lose(isOfIt);
      const rows = [...shelf.rows()].filter(isOfIt);
      for (const row of rows) remove(row);
      erased(accountId);
      const parcels = new Set(
        [...backlog].filter((parcel) => parseDocument(parcel.delivery.body).envelope?.accountId === accountId),
      );
      backlog.keep((parcel) => !parcels.has(parcel));
      for (const parcel of parcels) shelf.close(parcel);
      lost(ended.map(({ claim }) => claim));
      wake();
      return ended.reduce((count, run) => count + run.rows.length, 0) + rows.length + parcels.size;
    },
    unhandled: async ({ after, limit }) => {
      const found: Row[] = [];
      for (const row of shelf.rows(after)) {
        if (found.length === limit) break;
        if (row.progress.state === "unhandled") found.push(row);
      }
      return found.map((row) => ({
        id: String(row.id),
        event: row.event,
        entry: row.entry,
        consumer: row.consumer,
        delivery: row.parcel.delivery,
      }));
    },
    reopen: async (replacements) => {
      for (const { id, jobs } of replacements) {
        const row = shelf.get(id);
        if (row?.progress.state !== "unhandled") continue;
        const { replayOf } = row;
        for (const job of jobs) {
          const replay = replayOf === undefined ? job : { ...job, mergeKey: replayKey(job.mergeKey), replayOf };
          const again = shelf.add(row.parcel, row, replay);
          if (again?.progress.state === "waiting") book.append(again, now());
        }
        shelf.remove(row);
      }
    },
  };
}

function matches({ progress, event, consumer, parcel }: Row, query: JobQuery): boolean {
  const { states, types, accountId, subscription, receivedAfter, receivedBefore } = query;
  const { receivedAt } = parcel.delivery;
  return (
    (states === undefined || states.includes(progress.state)) &&
    (types === undefined || types.includes(event.type)) &&
    (accountId === undefined || event.accountId === accountId) &&
    (subscription === undefined || event.subscription === subscription) &&
    (query.consumer === undefined || consumer === query.consumer) &&
    (receivedAfter === undefined || receivedAt > receivedAfter) &&
    (receivedBefore === undefined || receivedAt < receivedBefore)
  );
}

/** Of the settled jobs only these two are still here; one of nobody has no lane to go to. */
function canReplay({ progress: { state }, consumer }: Row): boolean {
  return consumer !== undefined && (state === "dead" || state === "unhandled");
}

/** Replays merge with replays only. */
function replayKey(mergeKey: string | undefined): string | undefined {
  return mergeKey === undefined || mergeKey.startsWith("replay:") ? mergeKey : `replay:${mergeKey}`;
}
