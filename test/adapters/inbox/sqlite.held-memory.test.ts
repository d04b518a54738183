import { expect, test } from "vitest";
import { startNode } from "../../cli/child.ts";

/** Of the cap: more means that memory is not bounded as it is said, much less that deliveries are read back for nothing. */
const [LEAST, MOST] = [0.5, 1.3];

test.each([1, 100])(
  "deliveries of %i entries that are held until they are claimed take what they are counted as",
  async (entries) => {
    const child = startNode(["--expose-gc", "test/adapters/inbox/holding-memory-process.ts", String(entries)]);
    expect(await child.ended, child.err()).toBe(0);
    const { share } = JSON.parse(child.out()) as { readonly share: number };
    expect(share).toBeGreaterThan(LEAST);
    expect(share).toBeLessThan(MOST);
  },
);
