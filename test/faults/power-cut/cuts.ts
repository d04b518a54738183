import type { Dice } from "../../sim/dice.ts";
import { createDisk, type Disk, type Fate } from "./disk.ts";
import type { Happening } from "./trace.ts";

/** Where the power is cut. `in focus`: where the scenario wants it. */
export type Place =
  | "anywhere"
  | "in a checkpoint"
  | "in a commit"
  | "at an acknowledgement"
  | "at a shortening"
  | "in focus";

/** A power cut, and what is found afterwards. */
export interface Cut {
  /** Happenings before it. */
  readonly at: number;
  readonly place: Place;
  /** What the process and its client had done by then. */
  readonly seen: readonly Happening[];
  /** Unsynced changes. */
  readonly unsynced: number;
  /** All of them dropped, and a random half of them. */
  readonly images: readonly (readonly [kind: "dropped" | "half", files: ReadonlyMap<string, Buffer>])[];
}

export interface CutOptions {
  readonly rounds: number;
  readonly dice: Dice;
  /** Where a part of the cuts is to be: a scenario's own moment. */
  readonly focus?: ((index: number) => boolean) | undefined;
}

/** Cuts the power so many times within one trace, a part of them in each place that it has. */
export function* cutPower(happenings: readonly Happening[], { rounds, dice, focus }: CutOptions): Generator<Cut> {
  const chosen = choose(placesIn(happenings, focus), rounds, dice);
  const disk = createDisk();
  for (const [index, happening] of happenings.entries()) {
    see(disk, happening);
    const place = chosen.get(index);
    if (place === undefined) continue;
    const images = [
      ["dropped", disk.after(() => "dropped")],
      ["half", disk.after(() => toFate(dice.next()))],
    ] as const;
    yield { at: index + 1, place, seen: happenings.slice(0, index + 1), unsynced: disk.unsynced(), images };
  }
}

/** The files after all that happened, as if no power was ever cut: to be held against the real ones. */
export function replayAll(happenings: readonly Happening[]): Map<string, Buffer> {
  const disk = createDisk();
  for (const happening of happenings) see(disk, happening);
  return disk.after(() => "kept");
}

function see(disk: Disk, happening: Happening): void {
  disk.see(happening);
  if (happening.type === "noted" && happening.what === "ready") disk.settle();
}

function toFate(random: number): Fate {
  if (random < 0.1) return "torn";
  return random < 0.55 ? "kept" : "dropped";
}

function placesIn(happenings: readonly Happening[], focus?: (index: number) => boolean): Map<Place, number[]> {
  const places = new Map<Place, number[]>();
  const add = (place: Place, index: number): void => {
    const indexes = places.get(place) ?? [];
    indexes.push(index);
    places.set(place, indexes);
  };
  const disk = createDisk();
  let isReady = false;
  for (const [index, happening] of happenings.entries()) {
    see(disk, happening);
    if (happening.type === "noted" && happening.what === "ready") isReady = true;
    if (!isReady) continue;
    add("anywhere", index);
    if (disk.isWriting("inbox.db")) add("in a checkpoint", index);
    if (happening.type === "syncing") add("in a commit", index);
    if (happening.type === "cut") add("at a shortening", index);
    if (happening.type === "noted" && happening.what === "acknowledged") add("at an acknowledgement", index);
    if (focus?.(index) === true) add("in focus", index);
  }
  return places;
}

/** The places take turns, so that each has its share. */
function choose(places: ReadonlyMap<Place, readonly number[]>, rounds: number, dice: Dice): Map<number, Place> {
  const chosen = new Map<number, Place>();
  const left = IN_TURN.flatMap((place) => {
    const indexes = places.get(place) ?? [];
    return indexes.length > 0 ? { place, indexes: [...indexes] } : [];
  });
  for (let turn = 0; chosen.size < rounds && left.some(({ indexes }) => indexes.length > 0); turn += 1) {
    const { place, indexes } = left[turn % left.length] as (typeof left)[number];
    const [index] = indexes.splice(dice.int(0, indexes.length - 1), 1);
    if (index !== undefined && !chosen.has(index)) chosen.set(index, place);
  }
  return chosen;
}

const IN_TURN: readonly Place[] = [
  "at an acknowledgement",
  "in focus",
  "in a checkpoint",
  "in a commit",
  "at a shortening",
  "anywhere",
];
