import { createReceiver, memoryInbox } from "hookline";
import { expect, onTestFinished, test, vi } from "vitest";

test("without a stderr the log goes to the console", async () => {
  const { toLogger } = await importWithBrowsersPino();
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

test.each([true, "debug", {}, { info() {}, warn() {}, error() {} }])("what is no logger is refused: %o", (log) => {
  expect(() => createReceiver({ secret: "s", inbox: memoryInbox(), log: log as never })).toThrow(
    /createReceiver got log .*, expected false or a logger with debug, info, warn and error/,
  );
});

/** What bundlers for edge runtimes take in place of pino. Other tests of the process have loaded pino itself. */
async function importWithBrowsersPino() {
  vi.resetModules();
  vi.doMock("pino", () => vi.importActual("../node_modules/pino/browser.js"));
  onTestFinished(() => {
    vi.doUnmock("pino");
    vi.resetModules();
    vi.restoreAllMocks();
  });
  return import("../src/logger.ts");
}
