/** Random values that are the same for the same seed. */
export interface Random {
  /** From 0 up to, not including, 1. */
  next(): number;
  /** Hexadecimal digits. */
  hex(length: number): string;
  /** In the form of a version 4 UUID. @see RFC 9562, section 5.4 */
  uuid(): string;
}

/**
 * A generator of 32 bits of state, enough for ids that must only differ: secrets of the emulator protect nothing.
 *
 * @see https://github.com/bryc/code/blob/master/jshash/PRNGs.md, "mulberry32"
 */
export function createRandom(seed: number): Random {
  let state = seed >>> 0;

  function next(): number {
    state = (state + 0x6d2b79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  const hex = (length: number): string => Array.from({ length }, () => Math.floor(next() * 16).toString(16)).join("");

  return {
    next,
    hex,
    uuid: () => `${hex(8)}-${hex(4)}-4${hex(3)}-${"89ab"[Math.floor(next() * 4)]}${hex(3)}-${hex(12)}`,
  };
}
