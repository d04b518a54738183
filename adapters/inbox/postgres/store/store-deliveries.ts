import {
  STORED_BEFORE,
  StorageError,
  type Delivery,
  type Expanded,
  type Expansion,
  type NewDelivery,
  type NewEvent,
  type StoreResult,
  type WorkingInbox,
} from "../../../../src/adapter.ts";
import {
  isCancelled,
  isLockOn,
  isLockTimeout,
  isOfStatement,
  isOfTable,
  isRefusal,
} from "../connection/classify-error.ts";
import { LOOK_AGAIN_MS } from "../work/intervals.ts";
import type { PostgresWorker } from "../work/postgres-worker.ts";
import { encodeDeliveries, encodeExpansions, tidied, type EncodedBatch } from "./encode-batch.ts";
import { nextPart, ofPieces, toPieces } from "./expansion-pieces.ts";
import { sizeOfBatch } from "./batch-size.ts";
import { chooseOwn, unhandledWhereOthers } from "./own-expansions.ts";
import { createUnexpandedReader, type UnexpandedReaderDeps } from "./read-unexpanded.ts";
import type { StoredBatch, Writer } from "./writer.ts";

export interface IncomingDeps extends UnexpandedReaderDeps {
  readonly writer: Writer;
  readonly worker: Pick<
    PostgresWorker,
    "hasRoom" | "expander" | "remember" | "changed" | "others" | "passExpander" | "expanded"
  >;
  readonly dedupeWindowMs: () => number;
  /** Some wait to be expanded, some have no handler, or there was a lifecycle notice. */
  readonly noted: (what: {
    readonly unexpanded?: number;
    readonly oldestUnexpandedAt?: number | undefined;
    readonly unhandled?: number;
    readonly hasNotices?: boolean;
  }) => void;
  /** How the last store ended. */
  readonly stored: (error: StorageError | undefined) => void;
}

/** Where the server fails at more than so many in a row, it may fail at all: the rest is not tried. */
const MOST_FAILED = 3;

const NOTHING: Expanded = { duplicates: [], conflicts: [] };

interface Waiting {
  readonly given: NewDelivery;
  resolve(result: StoreResult | StorageError): void;
}

/** The verbs of the port that take deliveries in, and make jobs of them. */
export function createIncoming(deps: IncomingDeps): Pick<WorkingInbox, "store" | "unexpanded" | "expand"> {
  const { writer, worker, now, dedupeWindowMs, noted, stored } = deps;
  const readUnexpanded = createUnexpandedReader(deps);
  const queue: Waiting[] = [];
  let isRunning = false;
  /** Tables that only some deliveries need, and on which others held a lock, with what the server said. */
  const locked = new Map<string, StorageError>();
  let lookAgainAt = 0;
  /** Those that were read last. */
  let read = new Map<string, Delivery>();

  const times = () => ({ now: now(), dedupeAfter: now() - dedupeWindowMs() });

  /** While one commit is under way, the next one fills. */
  async function run(): Promise<void> {
    await new Promise<void>((resolve) => void setImmediate(resolve));
    while (queue.length > 0) {
      const batch = queue.splice(0, sizeOfBatch(queue));
      const given = batch.map((one) => one.given);
      // What was not expected must not leave those that come later without an answer.
      const results = await storeAll(given).catch((error: unknown) => given.map(() => toFailure(error)));
      for (const [place, { resolve }] of batch.entries()) resolve(results[place] as StoreResult | StorageError);
    }
    isRunning = false;
  }

  /** Which workers this process knows: what one that it does not know may handle is not expanded here. */
  function withSeen(encoded: EncodedBatch): EncodedBatch {
    const others = worker.others();
    const seen = others === undefined ? {} : { worker: others.me, seen: others.lastSeen };
    return { ...encoded, batch: { ...encoded.batch, ...seen } };
  }

  /** While a new version is deployed, another worker may have handlers that this one lacks: events of theirs wait for it, or are unhandled. */
  function unlessAnothers(one: NewDelivery): NewDelivery {
    const others = worker.others();
    if (others === undefined || one.events === undefined) return one;
    const heir = others.heirOf(one.events.map(({ event }) => event.type));
    return { ...one, events: heir === undefined ? unhandledWhereOthers(one.events, others) : undefined };
  }

  async function storeAll(given: readonly NewDelivery[]): Promise<readonly (StoreResult | StorageError)[]> {
    if (performance.now() >= lookAgainAt) locked.clear();
    return locked.size === 0 ? storeTogether(given) : storeApart(given);
  }

  /** Where they cannot be written together, one by one: none is to hold up the others. */
  async function storeTogether(given: readonly NewDelivery[]): Promise<readonly (StoreResult | StorageError)[]> {
    let batch: EncodedBatch;
    let output: StoredBatch;
    try {
      const mayExpand = worker.hasRoom();
      batch = withSeen(encodeDeliveries(mayExpand ? given.map(unlessAnothers) : given, mayExpand, times()));
      output = await storeBatch(batch, given.length);
    } catch (error) {
      if (isOfTable(error) && !isCancelled(error) && !isRefusal(error)) {
        const [tables = "", ...others] = new Set(given.map(tablesOf));
        if (others.length > 0) return storeApart(given);
        // None: it waited with those that it had when it began, and perhaps there is no room to expand any more.
        if (tables !== "" && isLockTimeout(error) && isLockOn(Object.values(SIDE_TABLES), error))
          refuseNext(tables, toFailure(error));
      }
      const isOfTheServer = error instanceof StorageError && !isRefusal(error);
      if (given.length > 1 && !isOfTheServer) {
        const results: (StoreResult | StorageError)[] = [];
        for (const one of given) results.push(...(await storeTogether([one])));
        return results;
      }
      if (given.length > 1 && isOfStatement(error) && !isLockTimeout(error) && !given.some(isOfQueue))
        return storeHalves(given);
      const [one] = given;
      // Without its jobs it may be taken: they are made of what is stored.
      if (one?.events !== undefined && !isOfTheServer) return storeTogether([{ ...one, events: undefined }]);
      // Of one that is refused alone the next ones know nothing.
      if (isOfTheServer) stored(error);
      return given.map(() => toFailure(error));
    }
    stored(undefined);
    noted({
      unexpanded: given.filter((_, place) => place >= output.expanded && !output.repeated.includes(place)).length,
      oldestUnexpandedAt: output.oldest ?? undefined,
      unhandled: output.expanded > 0 ? batch.unhandled : 0,
      hasNotices: "notices" in batch.batch,
    });
    return toResults(given, batch, output);
  }

  /** The server fails at some, in a way that is no refusal, such as by a broken page: these alone are to come again. */
  async function storeHalves(given: readonly NewDelivery[]): Promise<readonly (StoreResult | StorageError)[]> {
    const half = Math.ceil(given.length / 2);
    const first = await storeTogether(given.slice(0, half));
    const hasStored = first.some((one) => !(one instanceof StorageError));
    if (!hasStored && half > MOST_FAILED) return given.map(() => first[0]!);
    const second = await storeTogether(given.slice(half));
    // Of those that are refused the next ones know nothing.
    if (hasStored) stored(undefined);
    return [...first, ...second];
  }

  /** Which tables it needs beside those of each. Deliveries of a queue keep their order: all or none of them are stored. */
  function tablesOf(one: NewDelivery): string {
    if (isOfQueue(one)) return "dedupe, for a queue";
    const { batch } = encodeDeliveries([unlessAnothers(one)], worker.hasRoom(), times());
    return Object.keys(SIDE_TABLES)
      .filter((part) => part in batch)
      .join(" ");
  }

  /** A table is broken, or others hold a lock on it, which perhaps only some need. Those that need least come first, and one lock is waited for. */
  async function storeApart(given: readonly NewDelivery[]): Promise<readonly (StoreResult | StorageError)[]> {
    const results: (StoreResult | StorageError)[] = [];
    let held: StorageError | undefined;
    const groups = [...Map.groupBy(given.keys(), (place) => tablesOf(given[place]!))];
    for (const [tables, places] of groups.toSorted(([one], [other]) => one.length - other.length)) {
      const refusal = held ?? locked.get(tables);
      if (refusal !== undefined) {
        for (const place of places) results[place] = refusal;
        continue;
      }
      const made = await storeTogether(places.map((place) => given[place]!));
      for (const [index, place] of places.entries()) results[place] = made[index]!;
      held = made.find((one): one is StorageError => one instanceof StorageError && isLockTimeout(one));
    }
    // Of those that are refused the next ones know nothing.
    if (results.some((one) => !(one instanceof StorageError))) stored(undefined);
    return results;
  }

  function refuseNext(tables: string, error: StorageError): void {
    if (locked.size === 0) lookAgainAt = performance.now() + LOOK_AGAIN_MS;
    locked.set(tables, error);
  }

  /** One that is refused alone is stored with what it has of values that a table takes: it must not come again for ever. */
  async function storeBatch(batch: EncodedBatch, size: number, fence?: number): Promise<StoredBatch> {
    try {
      return await writer.store(batch, fence);
    } catch (error) {
      if (size > 1 || !isRefusal(error)) throw error;
      return writer.store(tidied(batch), fence);
    }
  }

  function toResults(given: readonly NewDelivery[], batch: EncodedBatch, output: StoredBatch): StoreResult[] {
    const seen = seenIn(batch, output);
    return given.map(({ delivery, events }, place) => {
      if (output.repeated.includes(place)) return STORED_BEFORE;
      const id = output.base + (batch.at[place] ?? 0);
      const expanded = place < output.expanded;
      if (!expanded) return { id: String(id), expanded, ...NOTHING };
      const result = seen(place);
      worker.remember(output, { id, delivery, events: madeOf(events ?? [], result) });
      return { id: String(id), expanded, ...result };
    });
  }

  return {
    async store(given) {
      const results = given.map(
        (one) => new Promise<StoreResult | StorageError>((resolve) => void queue.push({ given: one, resolve })),
      );
      if (!isRunning && queue.length > 0) {
        isRunning = true;
        void run();
      }
      return Promise.all(results);
    },
    async unexpanded(max) {
      read = new Map();
      if (worker.expander() === undefined || !worker.hasRoom()) return [];
      const page = await readUnexpanded(max);
      read = new Map(page.map(({ id, delivery }) => [id, delivery]));
      return page;
    },
    async expand(expansions) {
      const others = worker.others();
      const cut = expansions.map((one) => toPieces({ ...one, events: unhandledWhereOthers(one.events, others) }));
      const { own, heir } = chooseOwn(cut.flat(), others);
      const results = new Map<Expansion, Expanded>();
      for (let left = own, part = nextPart(left); part.length > 0; part = nextPart((left = left.slice(part.length)))) {
        const fence = worker.expander();
        const made = fence === undefined ? undefined : await expandHere(part, fence);
        if (made === undefined) break;
        for (const [place, piece] of part.entries()) results.set(piece, made[place] ?? NOTHING);
      }
      if (heir !== undefined && worker.expander() !== undefined) worker.passExpander(heir);
      return cut.map((pieces) => ofPieces(pieces, results));
    },
  };

  /** Undefined where another worker expands: nothing changed. */
  async function expandHere(part: readonly Expansion[], fence: number): Promise<readonly Expanded[] | undefined> {
    const batch = withSeen(encodeExpansions(part, times()));
    const output = await storeBatch(batch, part.length, fence).catch((error: unknown) => {
      worker.expanded(error);
      throw error;
    });
    worker.expanded(undefined, output.fenced);
    if (output.fenced === true) return undefined;
    const seen = seenIn(batch, output);
    const results = part.map(({ id, events }, place) => {
      if (!output.made.includes(place)) return NOTHING;
      const delivery = read.get(id);
      const result = seen(place);
      // One that cannot be read has no body: there is nothing to be remembered.
      if (delivery?.body !== undefined)
        worker.remember(output, { id: Number(id), delivery, events: madeOf(events, result) });
      return result;
    });
    const ended = part.filter(({ cursor }, place) => cursor === undefined && output.made.includes(place)).length;
    noted({
      unexpanded: -ended,
      oldestUnexpandedAt: output.oldest ?? undefined,
      unhandled: batch.unhandled,
      hasNotices: "notices" in batch.batch,
    });
    await worker.changed();
    return results;
  }
}

/** Parts of a batch that not every delivery has, each with its table. A lock on any other table holds up all of them. */
const SIDE_TABLES = { unhandled: "unhandled", unique: "dedupe", notices: "subscription" };

const isOfQueue = ({ idInQueue }: NewDelivery): boolean => idInQueue !== undefined;

function toFailure(cause: unknown): StorageError {
  if (cause instanceof StorageError) return cause;
  return new StorageError("storage-failed", `A delivery could not be stored. ${String(cause)}`, { cause });
}

/** What was seen before, of one delivery. */
function seenIn({ unique }: EncodedBatch, { duplicates, conflicts }: StoredBatch): (place: number) => Expanded {
  const of = (places: readonly number[], delivery: number): number[] =>
    places.flatMap((place) => (unique[place]?.[0] === delivery ? [unique[place][1]] : [])).toSorted((a, b) => a - b);
  return (delivery) =>
    unique.length === 0 ? NOTHING : { duplicates: of(duplicates, delivery), conflicts: of(conflicts, delivery) };
}

/** Those of which jobs were made. */
function madeOf(events: readonly NewEvent[], { duplicates }: Expanded): readonly NewEvent[] {
  return duplicates.length === 0 ? events : events.filter((_, index) => !duplicates.includes(index));
}
