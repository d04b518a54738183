import { vi } from "vitest";

/** Waits until this no longer throws. Its patience guards against a hang: how long it takes is not the claim. */
export function eventually<T>(check: () => T | Promise<T>): Promise<T> {
  return vi.waitFor(check, { timeout: 50_000, interval: 5 });
}
