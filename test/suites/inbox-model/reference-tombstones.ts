import assert from "node:assert/strict";
import type { Tombstones } from "../../../src/inbox/port/tombstones.ts";

interface Stone {
  readonly subscription: number;
  readonly source: string | undefined;
}

/** Tombstones over an array. */
export interface PlainStones {
  put(real: Tombstones, stone: Stone, reason: string): Promise<void>;
  lift(real: Tombstones, stone: Stone): Promise<void>;
  /** So much time has passed that none stands. */
  expire(): void;
  compare(real: Tombstones): Promise<void>;
}

export function createPlainStones(): PlainStones {
  let stones: (Stone & { readonly reason: string })[] = [];

  const find = (subscription: number, source: string | undefined) =>
    stones.find((stone) => stone.subscription === subscription && stone.source === source);

  return {
    async put(real, { subscription, source }, reason) {
      await real.put({ subscription, source, reason });
      stones = stones.filter((stone) => stone !== find(subscription, source));
      stones.push({ subscription, source, reason });
    },
    async lift(real, { subscription, source }) {
      await real.lift(subscription, source);
      stones = stones.filter(
        (stone) => stone.subscription !== subscription || (source !== undefined && stone.source !== source),
      );
    },
    expire() {
      stones = [];
    },
    async compare(real) {
      const list = (await real.list()).map(({ subscription, source, reason }) => ({ subscription, source, reason }));
      assert.deepEqual(list.map(textOf).toSorted(), stones.map(textOf).toSorted(), "other tombstones stand");
      if (stones.length > 0) assert.equal(real.isEmpty, false, "tombstones stand, and isEmpty is true");
      for (const subscription of [5, 55])
        for (const source of [undefined, "crm", "shop"]) {
          const expected = find(subscription, source) ?? find(subscription, undefined);
          const got = real.find(subscription, source)?.reason;
          assert.equal(got, expected?.reason, `another tombstone is found for ${subscription} from ${source}`);
        }
    },
  };
}

function textOf({ subscription, source, reason }: Stone & { readonly reason: string }): string {
  return `${subscription} ${source} ${reason}`;
}
