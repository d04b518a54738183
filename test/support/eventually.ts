import { vi } from "vitest";

/** Waits until `check` no longer throws. The timeout only guards against a hang: tests claim nothing about time. */
export function eventually<T>(check: () => T | Promise<T>, timeoutMs = 50_000): Promise<T> {
  return vi.waitFor(check, { timeout: timeoutMs, interval: 5 });
}
