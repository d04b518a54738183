import type { Expansion, NewEvent, NewJob } from "../../../../src/adapter.ts";
import type { OtherWorkers } from "../workers/other-workers.ts";

interface Chosen {
  readonly own: readonly Expansion[];
  /** Who is to have the rest; undefined: there is none. */
  readonly heir: number | undefined;
}

/**
 * Those that this worker expands. What may be another one's waits for it, and so does all behind it that may share a lane or a natural key
 * with it, whoever makes the jobs: the jobs of a lane are made in the order of their deliveries.
 * @param pieces the oldest first
 */
export function chooseOwn(
  pieces: readonly Expansion[],
  others: Pick<OtherWorkers, "heirOf" | "consumersOf"> | undefined,
): Chosen {
  if (others === undefined) return { own: pieces, heir: undefined };
  const waiting = new Set<string>();
  let heir: number | undefined;
  const own = pieces.filter((piece) => {
    const types = [...new Set(piece.events.map(({ event }) => event.type))];
    const another = others.heirOf(types);
    heir ??= another;
    const keys = keysOf(piece);
    if (another === undefined && keys.every((key) => !waiting.has(key))) return true;
    for (const key of keys) waiting.add(key);
    // Which lanes the other one's handlers would name is not known.
    for (const consumer of others.consumersOf(types)) waiting.add(namedLane(consumer));
    return false;
  });
  return { own, heir };
}

/**
 * An event that is to be skipped here, and that another worker has a handler for, is unhandled instead: that one looks at it when workers come or go.
 * It stands beside events that are not that worker's, or the whole would be left to it.
 */
export function unhandledWhereOthers(
  events: readonly NewEvent[],
  others: Pick<OtherWorkers, "consumersOf"> | undefined,
): readonly NewEvent[] {
  if (others === undefined || !events.some(isSkipped)) return events;
  return events.map((one) => {
    if (!isSkipped(one) || others.consumersOf([one.event.type]).length === 0) return one;
    return { ...one, jobs: one.jobs.map((job): NewJob => ({ ...job, state: "unhandled" })) };
  });
}

/** Its only job says so. */
const isSkipped = ({ jobs }: NewEvent): boolean => jobs[0]?.state === "skipped";

/** Two pieces without a common one have no lane in common, nor a natural key. */
function keysOf({ id, events }: Expansion): readonly string[] {
  return [`delivery ${id}`, ...events.flatMap(keysOfEvent)];
}

function keysOfEvent({ event, unique, jobs }: NewEvent): readonly string[] {
  const { accountId, resource, type } = event;
  const named = jobs.filter((job) => !isOfAccount(job, accountId)).map(({ consumer = "" }) => namedLane(consumer));
  return [
    ...named,
    ...(unique === undefined ? [] : [`unique ${unique.key}`]),
    ...(accountId === undefined
      ? []
      : [`family ${accountId} ${type.split(".", 1)[0]}`, `resource ${accountId} ${resource}`]),
  ];
}

const namedLane = (consumer: string): string => `lane ${consumer}`;

/** Its lane is of its account, and of a resource or a family of that: one that a handler names itself may be any text. */
function isOfAccount({ consumer, lane }: NewJob, accountId: number | undefined): boolean {
  return lane === undefined || lane.startsWith(`${consumer} ${accountId} `);
}
