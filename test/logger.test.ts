import { expect, test, vi } from "vitest";
import { toLogger } from "../src/logger.ts";

// What bundlers for edge runtimes take in place of pino.
vi.mock("pino", () => vi.importActual("../node_modules/pino/browser.js"));

test("without a stderr the log goes to the console", () => {
  const warned = vi.spyOn(console, "warn").mockImplementation(() => {});
  const debugged = vi.spyOn(console, "debug").mockImplementation(() => {});
  const log = toLogger(undefined);
  log.warn({ code: "signature-wrong" }, "refused a delivery");
  log.debug({ code: "looking" }, "of no interest");
  expect(warned.mock.calls).toEqual([
    [expect.objectContaining({ level: 40, code: "signature-wrong", msg: "refused a delivery" })],
  ]);
  expect(debugged).not.toHaveBeenCalled();
});
