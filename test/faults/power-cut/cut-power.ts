import type { Dice } from "../../sim/random.ts";
import { createDisk, type Disk, type Fate } from "./simulated-disk.ts";
import type { TraceRecord } from "./trace.ts";

const DATABASE = "inbox.db";

/** Where the power is cut. `in focus`: a place that the scenario chose. */
export type Place =
  | "anywhere"
  | "in a checkpoint"
  | "in a commit"
  | "at an acknowledgement"
  | "at a shortening"
  | "at the log's cut"
  | "in focus";

/** A power cut, and the files after it. */
export interface Cut {
  /** Number of trace records before it. */
  readonly at: number;
  readonly place: Place;
  /** The trace until then. */
  readonly seen: readonly TraceRecord[];
  /** Unsynced changes. */
  readonly unsynced: number;
  /** All unsynced changes dropped; those of the database dropped and those of the WAL stored; a random half dropped. */
  readonly images: readonly (readonly [kind: "dropped" | "log alone" | "half", files: ReadonlyMap<string, Buffer>])[];
}

export interface CutOptions {
  readonly rounds: number;
  readonly dice: Dice;
  /** Indexes that the scenario wants some of the cuts at. */
  readonly focus?: ((index: number) => boolean) | undefined;
}

/** Cuts the power so many times within one trace, at least once in each kind of place. */
export function* cutPower(records: readonly TraceRecord[], { rounds, dice, focus }: CutOptions): Generator<Cut> {
  const chosen = choose(placesIn(records, focus), rounds, dice);
  const disk = createDisk();
  for (const [index, record] of records.entries()) {
    apply(disk, record);
    const place = chosen.get(index);
    if (place === undefined) continue;
    const images = [
      ["dropped", disk.afterPowerCut(() => "dropped")],
      ["log alone", disk.afterPowerCut((path) => (path.endsWith(DATABASE) ? "dropped" : "stored"))],
      ["half", disk.afterPowerCut(() => toFate(dice.next()))],
    ] as const;
    yield { at: index + 1, place, seen: records.slice(0, index + 1), unsynced: disk.unsynced(), images };
  }
}

/** The files after the whole trace without a power cut, to compare with the real ones. */
export function replayAll(records: readonly TraceRecord[]): Map<string, Buffer> {
  const disk = createDisk();
  for (const record of records) apply(disk, record);
  return disk.afterPowerCut(() => "stored");
}

function apply(disk: Disk, record: TraceRecord): void {
  disk.apply(record);
  if (record.type === "marker" && record.what === "ready") disk.syncAll();
}

function toFate(random: number): Fate {
  if (random < 0.1) return "torn";
  return random < 0.55 ? "stored" : "dropped";
}

function placesIn(records: readonly TraceRecord[], focus?: (index: number) => boolean): Map<Place, number[]> {
  const places = new Map<Place, number[]>();
  const add = (place: Place, index: number): void => {
    const indexes = places.get(place) ?? [];
    indexes.push(index);
    places.set(place, indexes);
  };
  const disk = createDisk();
  let isReady = false;
  for (const [index, record] of records.entries()) {
    apply(disk, record);
    if (record.type === "marker" && record.what === "ready") isReady = true;
    if (!isReady) continue;
    add("anywhere", index);
    if (disk.isWriting(DATABASE)) add("in a checkpoint", index);
    if (record.type === "syncing") add("in a commit", index);
    if (record.type === "cut") add(record.length === 0 ? "at the log's cut" : "at a shortening", index);
    if (record.type === "marker" && record.what === "acknowledged") add("at an acknowledgement", index);
    if (focus?.(index) === true) add("in focus", index);
  }
  return places;
}

/** Round-robin over the places, the rarest first: each gets at least one cut, however few rounds there are. */
function choose(places: ReadonlyMap<Place, readonly number[]>, rounds: number, dice: Dice): Map<number, Place> {
  const chosen = new Map<number, Place>();
  const left = [...places]
    .toSorted(([, some], [, others]) => some.length - others.length)
    .map(([place, indexes]) => ({ place, indexes: [...indexes] }));
  while (chosen.size < Math.max(rounds, left.length) && left.some(({ indexes }) => indexes.length > 0))
    for (const { place, indexes } of left) {
      let index: number | undefined;
      do [index] = indexes.splice(dice.int(0, indexes.length - 1), 1);
      while (index !== undefined && chosen.has(index));
      if (index !== undefined) chosen.set(index, place);
    }
  return chosen;
}
