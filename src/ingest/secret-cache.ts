import type { Clock } from "../clock.ts";
import type { Key } from "../protocol/signature/secrets.ts";

const FOUND_MS = 60_000;
/** A new tenant whose handshake came too early may have to wait this long. */
const NONE_MS = 2_000;
/** Of each map. A client may invent sources, where they come from the URL: those have a map of their own. */
const MAX_SOURCES = 1_000;

interface Entry {
  readonly keys: readonly Key[] | "none";
  readonly begun: Begun;
}

interface Begun {
  readonly at: number;
  /** Rises with each look-up. */
  readonly order: number;
  /** How often the wall clock had gone back. */
  readonly era: number;
}

/** The results of look-ups of secrets, per source, as long as they are fresh. */
export function createSecretCache(clock: Clock) {
  const found = new Map<string, Entry>();
  const none = new Map<string, Entry>();
  let latest = -Infinity;
  let era = 0;
  let order = 0;

  /** After the wall clock went back, the age of older entries is unknown. */
  function present(): number {
    const now = clock.now();
    if (now < latest) era += 1;
    return (latest = now);
  }

  function fresh(entry: Entry | undefined, ms: number): Entry["keys"] | undefined {
    if (entry === undefined) return undefined;
    const age = present() - entry.begun.at;
    return entry.begun.era === era && age < ms ? entry.keys : undefined;
  }

  return {
    /** The source's keys, `none`, or undefined where it must be looked up. */
    find: (source: string): Entry["keys"] | undefined =>
      fresh(found.get(source), FOUND_MS) ?? fresh(none.get(source), NONE_MS),
    /** Whether its last look-up found keys, however long ago. */
    knows: (source: string): boolean => found.has(source),
    /**
     * A look-up begins.
     * @returns takes its result, undefined for none; the result counts as old as the beginning, because secrets may be revoked since
     */
    begin(source: string): (keys: readonly Key[] | undefined) => void {
      const begun = { at: present(), order: (order += 1), era };
      return (keys) => {
        const before = found.get(source) ?? none.get(source);
        if (before !== undefined && before.begun.order > begun.order) return;
        found.delete(source);
        put(keys === undefined ? none : found, source, { keys: keys ?? "none", begun });
      };
    },
  };
}

function put(map: Map<string, Entry>, source: string, entry: Entry): void {
  map.delete(source);
  const [oldest] = map.keys();
  if (map.size >= MAX_SOURCES && oldest !== undefined) map.delete(oldest);
  map.set(source, entry);
}
