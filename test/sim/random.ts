/** Everything random in a simulated world, from one seed. */
export interface Dice {
  /** From 0 to below 1. */
  next(): number;
  /** A whole number, both ends included. */
  int(least: number, most: number): number;
  chance(probability: number): boolean;
  pick<T>(items: readonly T[]): T;
  /** One of the names, each as often as its weight says. */
  weighted<T extends string>(weights: Readonly<Partial<Record<T, number>>>): T;
}

/** The same seed gives the same throws. */
export function createDice(seed: number): Dice {
  let state = (seed ^ 0x9e37_79b9) >>> 0;

  function next(): number {
    // Mulberry32: small, and good enough to choose among a handful.
    state = (state + 0x6d2b_79f5) >>> 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32;
  }

  const int = (least: number, most: number): number => least + Math.floor(next() * (most - least + 1));
  for (let throws = 0; throws < 8; throws += 1) next();

  return {
    next,
    int,
    chance: (probability) => next() < probability,
    pick: (items) => items[int(0, items.length - 1)] as (typeof items)[number],
    weighted(weights) {
      const entries = Object.entries<number>(weights as Record<string, number>);
      let point = next() * entries.reduce((sum, [, weight]) => sum + weight, 0);
      for (const [name, weight] of entries) {
        point -= weight;
        if (point < 0) return name as never;
      }
      return entries.at(-1)?.[0] as never;
    },
  };
}
