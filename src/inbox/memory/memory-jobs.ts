import { accountOf } from "../../protocol/id.ts";
import type { ClaimBook } from "../claim-book.ts";
import type { Fifo } from "../collections/fifo.ts";
import type { Claim } from "../port/claims.ts";
import { toStored } from "../port/delivery.ts";
import { NOTHING_ERASED, type ErasedRows, type InboxJobs, type JobQuery, type JobSelection } from "../port/jobs.ts";
import type { DeliveryRow, JobRow, MemoryStore } from "./memory-store.ts";

export interface MemoryJobsDeps {
  readonly store: MemoryStore;
  readonly book: ClaimBook<JobRow>;
  readonly backlog: Fifo<DeliveryRow>;
  readonly now: () => number;
  readonly lost: (claims: readonly Claim[]) => void;
  readonly wake: () => void;
  /** Erases what is no job of an account. */
  readonly erased: (
    accountId: number,
    subscriptions: ReadonlySet<number>,
  ) => Promise<Pick<ErasedRows, "tombstones" | "pauses" | "notices" | "resources">>;
}

/** Queries and admin commands of a memory inbox. */
export function memoryJobs({ store, book, backlog, now, lost, wake, erased }: MemoryJobsDeps): InboxJobs {
  function selected(selection: JobSelection): JobRow[] {
    if ("ids" in selection) return [...new Set(selection.ids)].flatMap((id) => store.get(id) ?? []);
    return [...store.rows()].filter((row) => matches(row, selection));
  }

  /** @returns the claims that are lost with them */
  function remove(rows: readonly JobRow[]): readonly Claim[] {
    const ended = book.remove(new Set(rows), now());
    for (const row of rows) store.remove(row);
    return ended;
  }

  return {
    find: async ({ after, limit, newestFirst = false, ...query }) => {
      const found: JobRow[] = [];
      const end = Number(after ?? Infinity);
      for (const row of newestFirst ? [...store.rows()].filter(({ id }) => id < end).toReversed() : store.rows(after)) {
        if (!matches(row, query)) continue;
        if (found.length === limit) return { jobs: found.map(store.toStored), next: String(found.at(-1)?.id) };
        found.push(row);
      }
      return { jobs: found.map(store.toStored) };
    },
    get: async (id) => {
      const row = store.get(id);
      return row === undefined
        ? undefined
        : { job: store.toStored(row), delivery: toStored(String(row.deliveryRow.id), row.deliveryRow.delivery) };
    },
    replay: async (selection) => {
      const rows = selected(selection).filter(canReplay);
      for (const row of rows) {
        const { entry, event, consumer, lane, mergeKey, deliveryRow } = row;
        const again = store.addJob(
          deliveryRow,
          { entry, event },
          { state: "waiting", consumer, lane, mergeKey: replayKey(mergeKey), replayOf: row.replayOf ?? String(row.id) },
        );
        if (again !== undefined) book.append(again, now());
        store.remove(row);
      }
      if (rows.length > 0) wake();
      return rows.length;
    },
    drop: async (selection) => {
      const rows = selected(selection).filter((row) => row.progress.state !== "running");
      remove(rows);
      if (rows.length > 0) wake();
      return rows.length;
    },
    erase: async (accountId) => {
      const rows = [...store.rows()].filter(
        ({ event, deliveryRow }) => (event.accountId ?? accountOf(deliveryRow.delivery.body)) === accountId,
      );
      const ended = remove(rows);
      const unexpanded = new Set(
        [...backlog].filter((deliveryRow) => accountOf(deliveryRow.delivery.body) === accountId),
      );
      backlog.filter((deliveryRow) => !unexpanded.has(deliveryRow));
      for (const deliveryRow of unexpanded) store.endExpansion(deliveryRow);
      const others = await erased(accountId, new Set(rows.flatMap(({ event }) => event.subscription ?? [])));
      lost(ended);
      wake();
      const deliveries = new Set([...rows.map(({ deliveryRow }) => deliveryRow), ...unexpanded]);
      return { ...NOTHING_ERASED, ...others, count: rows.length + unexpanded.size, deliveries: deliveries.size };
    },
    unhandled: async ({ handled, after, limit }) => {
      const found: JobRow[] = [];
      const consumers = Map.groupBy(handled, ({ type }) => type);
      for (const row of store.rows(after)) {
        if (found.length === limit) break;
        if (row.progress.state !== "unhandled") continue;
        const { consumer } = row;
        const of = consumers.get(row.event.type) ?? [];
        if (consumer === undefined ? of.length > 0 : of.some((one) => one.consumer === consumer)) found.push(row);
      }
      return found.map((row) => ({
        id: String(row.id),
        event: row.event,
        entry: row.entry,
        consumer: row.consumer,
        delivery: row.deliveryRow.delivery,
      }));
    },
    reopen: async (replacements) => {
      for (const { id, jobs, event } of replacements) {
        const row = store.get(id);
        if (row?.progress.state !== "unhandled") continue;
        const { replayOf } = row;
        for (const job of jobs) {
          const replay = replayOf === undefined ? job : { ...job, mergeKey: replayKey(job.mergeKey), replayOf };
          const again = store.addJob(row.deliveryRow, { entry: row.entry, event: event ?? row.event }, replay);
          if (again?.progress.state === "waiting") book.append(again, now());
        }
        store.remove(row);
      }
    },
  };
}

function matches({ progress, event, consumer, deliveryRow }: JobRow, query: JobQuery): boolean {
  const { states, types, accountId, subscription, receivedAfter, receivedBefore } = query;
  const { receivedAt } = deliveryRow.delivery;
  return (
    (states === undefined || states.includes(progress.state)) &&
    (types === undefined || types.includes(event.type)) &&
    (accountId === undefined || event.accountId === accountId) &&
    (subscription === undefined || event.subscription === subscription) &&
    (query.consumer === undefined || consumer === query.consumer) &&
    (query.error === undefined || progress.error?.name === query.error) &&
    (receivedAfter === undefined || receivedAt > receivedAfter) &&
    (receivedBefore === undefined || receivedAt < receivedBefore)
  );
}

/** Other settled jobs are deleted already; a job without a consumer has no lane. */
function canReplay({ progress: { state }, consumer }: JobRow): boolean {
  return consumer !== undefined && (state === "dead" || state === "unhandled");
}

/** Replays merge with replays only. */
function replayKey(mergeKey: string | undefined): string | undefined {
  return mergeKey === undefined || mergeKey.startsWith("replay:") ? mergeKey : `replay:${mergeKey}`;
}
