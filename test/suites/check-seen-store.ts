import type { SeenStore } from "hookline";
import { randomUUID } from "node:crypto";
import { expect, test, vi } from "vitest";

const MINUTE_MS = 60_000;
const DAY_MS = 86_400_000;

/** What every store of handled events must do. @param open a store over a connection of its own */
export function checkSeenStore(open: () => SeenStore | Promise<SeenStore>): void {
  const key = (): string => `default:${randomUUID()}`;

  test("of many that claim at once one gets it, and the others find it busy", async () => {
    const stores = await Promise.all(Array.from({ length: 10 }, async () => open()));
    const keys = Array.from({ length: 20 }, key);
    const claims = await Promise.all(
      keys.map((one) => Promise.all(stores.map((store) => store.claim(one, MINUTE_MS)))),
    );
    for (const states of claims) {
      expect(states.filter((state) => state === "mine")).toHaveLength(1);
      expect(states.filter((state) => state === "busy")).toHaveLength(9);
    }
  });

  test("what is done stays so for all", async () => {
    const [one, other] = [await open(), await open()];
    const own = key();
    expect(await one.claim(own, MINUTE_MS)).toBe("mine");
    await one.settle(own, "done", DAY_MS);
    expect([await one.claim(own, MINUTE_MS), await other.claim(own, MINUTE_MS)]).toEqual(["done", "done"]);
  });

  test("what failed can be claimed at once", async () => {
    const [one, other] = [await open(), await open()];
    const own = key();
    await one.claim(own, MINUTE_MS);
    await one.settle(own, "failed", DAY_MS);
    expect(await other.claim(own, MINUTE_MS)).toBe("mine");
  });

  test("a claim ends with its lease, not before; what its holder says late takes it from nobody", async () => {
    const [one, other, third] = [await open(), await open(), await open()];
    const own = key();
    const leaseMs = 200;
    const before = performance.now();
    expect(await one.claim(own, leaseMs)).toBe("mine");
    let state = await other.claim(own, MINUTE_MS);
    while (state === "busy") state = await other.claim(own, MINUTE_MS);
    expect(performance.now() - before).toBeGreaterThanOrEqual(leaseMs);
    expect(state).toBe("mine");
    await one.settle(own, "failed", DAY_MS);
    expect(await third.claim(own, MINUTE_MS)).toBe("busy");
  });

  test("what the holder of an ended claim says late takes nothing from the next one of the same process", async () => {
    const [one, other] = [await open(), await open()];
    const own = key();
    await one.claim(own, 50);
    while ((await one.claim(own, MINUTE_MS)) !== "mine");
    await one.settle(own, "failed", DAY_MS);
    expect(await other.claim(own, MINUTE_MS)).toBe("busy");
    await one.settle(own, "done", DAY_MS);
    expect(await other.claim(own, MINUTE_MS)).toBe("done");
  });

  test("what is done is forgotten after its time", async () => {
    const store = await open();
    const own = key();
    await store.claim(own, MINUTE_MS);
    await store.settle(own, "done", 50);
    while ((await store.claim(own, MINUTE_MS)) !== "mine");
    expect(await store.claim(own, MINUTE_MS)).toBe("busy");
  });

  test("the clock of whoever claims changes nothing", async () => {
    const [one, other] = [await open(), await open()];
    const [claimed, done] = [key(), key()];
    await one.claim(claimed, MINUTE_MS);
    await one.claim(done, MINUTE_MS);
    await one.settle(done, "done", MINUTE_MS);
    for (const leapMs of [3_600_000, -3_600_000]) {
      vi.useFakeTimers({ toFake: ["Date"], now: Date.now() + leapMs });
      try {
        expect([await other.claim(claimed, MINUTE_MS), await other.claim(done, MINUTE_MS)]).toEqual(["busy", "done"]);
      } finally {
        vi.useRealTimers();
      }
    }
  });

  test("keys of any length and any characters are kept apart", async () => {
    const store = await open();
    const odd = ["\0", " ", "ä", "x".repeat(10_000), `${"x".repeat(10_000)}y`].map((text) => `${key()}${text}`);
    for (const one of odd) expect(await store.claim(one, MINUTE_MS)).toBe("mine");
    for (const one of odd) expect(await store.claim(one, MINUTE_MS)).toBe("busy");
  });
}
