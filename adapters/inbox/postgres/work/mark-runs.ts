import { settled, type Claim, type Progress, StorageError } from "../../../../src/adapter.ts";
import type { ClaimRecord } from "../../../../src/inbox/claim-book.ts";
import {
  isBroken,
  isCancelled,
  isFileFailure,
  isOfDisk,
  isRefusal,
  isUnreadable,
} from "../connection/classify-error.ts";
import { toText } from "../store/encode-batch.ts";
import type { Life } from "./create-life.ts";
import { endOrphans, type OrphanDeps } from "./end-orphans.ts";
import type { Origin, Row } from "./lanes.ts";
import { createLargeBodies, type LargeBodiesDeps } from "./bodies/large-bodies.ts";
import { createReadLimit, STEP_BYTES } from "./bodies/read-limit.ts";
import type { WorkSteps } from "./work-steps.ts";

export interface MarkingDeps extends OrphanDeps, Pick<LargeBodiesDeps, "unread"> {
  readonly isCurrent: (mine: Life) => boolean;
  readonly leaseMs: number;
  readonly tellEnded: (progress: readonly Progress[]) => void;
}

/** How runs begin that were taken from the lanes: marked in the tables, with their deliveries read. */
export interface Marking {
  mark(mine: Life, given: readonly ClaimRecord<Row>[]): Promise<Claim[]>;
  /** Jobs of one run: of more the deliveries might never be there together. */
  mostMerged(): number;
}

/** Of the lease: where a step took longer, another process may soon take over, and nothing is started. */
const STALLED = 0.6;
/** Of the lease: where a step took so long over what it read, the next one reads less. */
const SLOW = 1 / 2;
/** Of the lease: twice as much as came in it is not slow. */
const SOON = SLOW / 2;
/** Until a job looks again whether its body is there, milliseconds. */
const LOOK_MS = 1_000;
/** The same, after its file could not be read: perhaps the disk comes back. */
const FILE_MS = 60_000;

export function createMarking(deps: MarkingDeps): Marking {
  const { isCurrent, now, leaseMs, tellEnded } = deps;
  const reading = createReadLimit();
  /** By the ids of jobs whose deliveries' files could not be read: when first. */
  const fileFailures = new Map<number, number>();
  const largeBodies = createLargeBodies({ ...deps, limit: reading, soonMs: SOON * leaseMs });

  function originOf({ recent }: Life, { delivery: id, entry }: Row): Origin | undefined {
    const known = recent.find(id, entry);
    const read = known === undefined ? largeBodies.take(id) : undefined;
    // Other jobs of it may come soon.
    if (read !== undefined) recent.add(id, read);
    return known ?? (read && { delivery: read, event: undefined });
  }

  /** It waits again for a while, unless the server would not read it. */
  async function waitForBody(mine: Life, run: ClaimRecord<Row>, row: Row | undefined): Promise<void> {
    const refusal = row && largeBodies.refusalOf(row.delivery);
    // Where that fails, it is read again.
    if (refusal !== undefined) return void (await markSingly(mine, [run], refusal).catch(() => {}));
    if (row !== undefined) largeBodies.want(row);
    for (const each of run.rows) mine.lanes.defer(each, LOOK_MS);
    mine.lanes.giveBack(run, now());
  }

  /** As many of them as one step reads the deliveries of: the others wait again. */
  async function mark(mine: Life, given: readonly ClaimRecord<Row>[]): Promise<Claim[]> {
    // Held until then: what is read, or stored meanwhile, may displace it.
    const known = new Map(given.flatMap(({ rows }) => rows.map((row) => [row, originOf(mine, row)] as const)));
    const lacking = (rows: readonly Row[]): readonly Row[] => rows.filter((row) => known.get(row) === undefined);
    const large = given.filter(({ rows }) => lacking(rows).some(largeBodies.isLarge));
    for (const run of large) await waitForBody(mine, run, lacking(run.rows).find(largeBodies.isLarge));
    const rest = given.filter((run) => !large.includes(run));
    const runs = reading.first(rest, ({ rows }) => lacking(rows).length);
    for (const run of rest.slice(runs.length)) mine.lanes.giveBack(run, now());
    const all = runs.flatMap(({ rows }) => rows);
    if (all.length === 0 || !isCurrent(mine)) return [];
    const wanted = lacking(all);
    const beganAt = performance.now();
    const isWithin = (share: number): boolean => performance.now() - beganAt < share * leaseMs;
    let marked: Awaited<ReturnType<WorkSteps["mark"]>>;
    try {
      marked = await mine.steps.mark(all, wanted, reading);
    } catch (error) {
      const isSlow = isCancelled(error) || (isBroken(error) && !isWithin(SLOW));
      if (isSlow && wanted.length > 0) reading.failed(wanted.length);
      if ((isRefusal(error) || isUnreadable(error)) && isCurrent(mine))
        return markSingly(mine, runs, error as StorageError);
      if (isFileFailure(error) && isCurrent(mine))
        return runs.length > 1
          ? markSingly(mine, runs, error as StorageError)
          : waitForFile(mine, runs[0]!, error as StorageError);
      for (const run of runs) mine.lanes.giveBack(run, now());
      throw error;
    }
    const { gone, deliveries, unread } = marked;
    for (const { id } of fileFailures.size > 0 ? all : []) fileFailures.delete(id);
    reading.read(wanted.filter(({ delivery }) => !unread.has(delivery)).length, unread.size > 0);
    if (wanted.length > 0 && !isWithin(SLOW)) reading.failed(wanted.length);
    if (isWithin(SOON)) reading.readSoon([...deliveries.values()].reduce((sum, { body }) => sum + body.byteLength, 0));
    for (const [id, delivery] of deliveries) mine.recent.add(id, delivery);
    for (const row of wanted) if (unread.has(row.delivery)) largeBodies.note(row, unread.get(row.delivery) ?? 0);
    const lacksDelivery = (row: Row): boolean =>
      !gone.has(row.id) && known.get(row) === undefined && !deliveries.has(row.delivery);
    const orphans = all.filter((row) => lacksDelivery(row) && !unread.has(row.delivery));
    // Where it fails, they wait, and are claimed again.
    if (orphans.length > 0) await endOrphans(mine, orphans, deps).catch(() => {});
    if (!isCurrent(mine)) return [];
    // Its answer came so late that another process may soon take over.
    const isLate = performance.now() - mine.confirmedAt > STALLED * leaseMs;
    return runs.flatMap((run) => {
      if (isLate || run.rows.some(lacksDelivery)) {
        mine.lanes.giveBack(run, now());
        return [];
      }
      const claim = mine.lanes.begin(
        run,
        (row) => {
          if (gone.has(row.id)) return undefined;
          const read = deliveries.get(row.delivery);
          return known.get(row) ?? (read && { delivery: read, event: undefined });
        },
        now(),
      );
      return claim ?? [];
    });
  }

  /** A minute later it is dead, unless others cannot be read either: then it may be the disk, which may come back. */
  async function waitForFile(mine: Life, run: ClaimRecord<Row>, error: StorageError): Promise<Claim[]> {
    for (const row of run.rows) mine.lanes.defer(row, FILE_MS);
    const [head] = run.rows as readonly [Row];
    const since = fileFailures.get(head.id);
    if (since !== undefined && Math.abs(now() - since) >= FILE_MS && (await canReadAnother(head, deps))) {
      fileFailures.delete(head.id);
      return markSingly(mine, [run], error);
    }
    if (since === undefined) fileFailures.set(head.id, now());
    deps.unread(head, 0, error);
    mine.lanes.giveBack(run, now());
    return [];
  }

  /** What the server refuses alone is dead, such as a job whose delivery it cannot read. What ran with it waits again. */
  async function markSingly(mine: Life, runs: readonly ClaimRecord<Row>[], refusal: StorageError): Promise<Claim[]> {
    const [run, ...rest] = runs;
    if (rest.length > 0) {
      const each = await Promise.allSettled(runs.map((one) => mark(mine, [one])));
      return each.flatMap((result) => (result.status === "fulfilled" ? result.value : []));
    }
    if (run === undefined) return [];
    try {
      for (const [row, { name, message }] of await refusedOf(mine, run.rows, refusal)) {
        const dead = settled(row.progress, { to: "dead", error: { name, message: toText(message), at: now() } }, now());
        const { progress } = await mine.steps.settle({ rows: [row], progress: [dead], window: undefined });
        mine.lanes.remove(new Set([row.id]), now());
        tellEnded([...progress.values()]);
      }
    } finally {
      mine.lanes.giveBack(run, now());
    }
    return [];
  }

  return {
    mark,
    mostMerged: () => (largeBodies.isWanted ? 1 : reading.most),
  };
}

/** Of another day, or of the same one: the file of a day may be gone as a whole. */
async function canReadAnother(
  { day, delivery }: Row,
  { queries, ident }: Pick<MarkingDeps, "queries" | "ident">,
): Promise<boolean> {
  for (const isOther of ["day <> $1", "day = $1"]) {
    const another = `select md5(body) from ${ident()}.delivery where ${isOther} and id <> $2 order by id desc limit 1`;
    const read = await queries.query(another, [day, delivery]).catch(() => []);
    if (read.length > 0) return true;
  }
  return false;
}

type Refused = readonly [Row, StorageError];

/** Of rows that were refused together, those that are refused alone: halves are tried, and halves of those that are refused. */
async function refusedOf(
  mine: Pick<Life, "steps">,
  rows: readonly Row[],
  refusal: StorageError,
): Promise<readonly Refused[]> {
  const [row] = rows;
  if (row !== undefined && rows.length === 1) return [[row, refusal]];
  const half = Math.ceil(rows.length / 2);
  const found: Refused[] = [];
  for (const part of [rows.slice(0, half), rows.slice(half)]) {
    let left = part;
    try {
      while (left.length > 0) {
        const { unread } = await mine.steps.mark(left, left, { bytes: STEP_BYTES, largest: Infinity });
        left = left.filter(({ delivery }) => unread.has(delivery));
      }
    } catch (error) {
      if (!isRefusal(error) && !isOfDisk(error)) throw error;
      found.push(...(await refusedOf(mine, left, error as StorageError)));
    }
  }
  return found;
}
