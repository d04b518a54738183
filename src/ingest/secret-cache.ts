import type { Clock } from "../clock.ts";
import type { Key } from "../protocol/secrets.ts";

/** What look-ups of secrets have found for each source, as long as it may be believed. */
export interface SecretCache {
  /** Its keys, none, or undefined where it must be asked for. */
  find(source: string): readonly Key[] | "none" | undefined;
  /** Whether its last look-up found something, however long ago. */
  knows(source: string): boolean;
  /**
   * A look-up begins.
   * @returns what to tell its result, undefined for none. It counts from now on: what was read once may be revoked since.
   */
  begin(source: string): (keys: readonly Key[] | undefined) => void;
}

const FOUND_MS = 60_000;
/** So long a new tenant may have to wait whose handshake came too early. */
const NOTHING_MS = 2_000;
/** A source may come from the URL, so that a stranger can make up as many as he likes: they have a map of their own. */
const MOST_SOURCES = 1_000;

interface Finding {
  readonly keys: readonly Key[] | "none";
  readonly begun: Begun;
}

interface Begun {
  readonly at: number;
  /** The newest look-up's is the highest. */
  readonly order: number;
  /** How often the wall clock had gone back. */
  readonly era: number;
}

export function createSecretCache(clock: Clock): SecretCache {
  const found = new Map<string, Finding>();
  const nothing = new Map<string, Finding>();
  let latest = -Infinity;
  let era = 0;
  let order = 0;

  /** A wall clock that went back cannot tell how old anything is. */
  function present(): number {
    const now = clock.now();
    if (now < latest) era += 1;
    return (latest = now);
  }

  function believed(finding: Finding | undefined, ms: number): Finding["keys"] | undefined {
    if (finding === undefined) return undefined;
    const age = present() - finding.begun.at;
    return finding.begun.era === era && age < ms ? finding.keys : undefined;
  }

  return {
    find: (source) => believed(found.get(source), FOUND_MS) ?? believed(nothing.get(source), NOTHING_MS),
    knows: (source) => found.has(source),
    begin(source) {
      const begun = { at: present(), order: (order += 1), era };
      return (keys) => {
        const before = found.get(source) ?? nothing.get(source);
        if (before !== undefined && before.begun.order > begun.order) return;
        if (keys === undefined) found.delete(source);
        put(keys === undefined ? nothing : found, source, { keys: keys ?? "none", begun });
      };
    },
  };
}

function put(map: Map<string, Finding>, source: string, finding: Finding): void {
  map.delete(source);
  const [oldest] = map.keys();
  if (map.size >= MOST_SOURCES && oldest !== undefined) map.delete(oldest);
  map.set(source, finding);
}
