import { syncBuiltinESMExports } from "node:module";
import timers from "node:timers/promises";
import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { prepare, startDev } from "./dev/start-dev.ts";

// Half a minute is over at once.
beforeEach(() => {
  const real = timers.setTimeout;
  vi.spyOn(timers, "setTimeout").mockImplementation((ms, ...rest) => real(ms === 30_000 ? 1 : ms, ...rest));
  syncBuiltinESMExports();
});
afterEach(() => {
  vi.restoreAllMocks();
  syncBuiltinESMExports();
});

test("a tunnel whose URL does not lead here in 30 s is tunnel-silent, and makes no subscription", async () => {
  const setting = await prepare();
  const dev = await startDev(setting, ["--tunnel", "sleep 100"]);
  expect(await dev.ended).toBe(1);
  expect(dev.err()).toContain("tunnel-silent: sleep 100: no URL of it led here in 30 s. It printed:\nnothing");
  expect(setting.emulator.subscriptions).toEqual([]);
});
