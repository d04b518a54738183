import type { Expanded, Expansion } from "../../../../src/adapter.ts";
import { jobsIn, MOST_JOBS } from "./encode-batch.ts";

/** In pieces whose jobs fit one block of ids. Two of one expansion do not fit one together. An event is not cut. */
export function toPieces({ id, events, cursor }: Expansion): readonly Expansion[] {
  const pieces: Expansion[] = [];
  let [begin, jobs] = [0, 0];
  for (const [place, { entry, jobs: own }] of events.entries()) {
    jobs += own.length;
    if (jobs <= MOST_JOBS || place === begin) continue;
    pieces.push({ id, events: events.slice(begin, place), cursor: entry });
    [begin, jobs] = [place, own.length];
  }
  return [...pieces, { id, events: events.slice(begin), cursor }];
}

/** As many as fit one block of ids. */
export function nextPart(pieces: readonly Expansion[]): readonly Expansion[] {
  let [count, jobs] = [0, 0];
  for (const { events } of pieces) {
    jobs += jobsIn(events);
    if (count > 0 && jobs > MOST_JOBS) break;
    count += 1;
  }
  return pieces.slice(0, count);
}

/** The result of an expansion; undefined where another process has some of its pieces. */
export function ofPieces(
  pieces: readonly Expansion[],
  results: ReadonlyMap<Expansion, Expanded>,
): Expanded | undefined {
  const [duplicates, conflicts]: [number[], number[]] = [[], []];
  let first = 0;
  for (const piece of pieces) {
    const result = results.get(piece);
    if (result === undefined) return undefined;
    for (const index of result.duplicates) duplicates.push(first + index);
    for (const index of result.conflicts) conflicts.push(first + index);
    first += piece.events.length;
  }
  return { duplicates, conflicts };
}
