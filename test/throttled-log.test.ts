import fc from "fast-check";
import { expect, test } from "vitest";
import { throttledLog } from "../src/logger.ts";
import { fakeClock } from "./support/fake-clock.ts";
import { logRecorder } from "./support/log-recorder.ts";
import { signedRequest } from "./support/make-delivery.ts";
import { rig } from "./support/rig.ts";

function throttled() {
  const clock = fakeClock();
  const book = logRecorder();
  return { clock, book, log: throttledLog(book.logger, clock) };
}

const told = ({ lines }: ReturnType<typeof logRecorder>) =>
  lines.map(({ level, facts }) => [level, facts["code"], facts["at"], facts["suppressed"]]);

test("a throttled log has a line a second, and holds the last one back until the second is over", async () => {
  const { clock, book, log } = throttled();
  for (const at of [1, 2, 3]) log.error({ code: "a", at });
  expect(told(book)).toEqual([["error", "a", 1, undefined]]);
  await clock.advance(1_000);
  log.error({ code: "a", at: 4 });
  await clock.advance(5_000);
  expect(told(book)).toEqual([
    ["error", "a", 1, undefined],
    ["error", "a", 3, 1],
    ["error", "a", 4, undefined],
  ]);
  expect(clock.waiting).toBe(0);
});

test("a warning hides no error of the same code, nor another code", () => {
  const { book, log } = throttled();
  log.warn({ code: "a" });
  log.error({ code: "a" });
  log.warn({ code: "b" });
  expect(told(book).map(([level, code]) => [level, code])).toEqual([
    ["warn", "a"],
    ["error", "a"],
    ["warn", "b"],
  ]);
});

test("lines left out before the clock was set, or without a timer, are counted in the next line", () => {
  const { clock, book, log } = throttled();
  for (const at of [1, 2, 3]) log.warn({ code: "a", at });
  clock.jump(-60_000);
  log.warn({ code: "a", at: 4 });
  expect(told(book)).toEqual([
    ["warn", "a", 1, undefined],
    ["warn", "a", 4, 2],
  ]);
});

test("lines held back are logged when flushed, once", async () => {
  const { clock, book, log } = throttled();
  for (const at of [1, 2, 3]) log.warn({ code: "a", at });
  log.warn({ code: "b" });
  log.flush();
  log.flush();
  expect(told(book)).toEqual([
    ["warn", "a", 1, undefined],
    ["warn", "b", undefined, undefined],
    ["warn", "a", 3, 1],
  ]);
  await clock.advance(5_000);
  expect([told(book).length, clock.waiting]).toEqual([3, 0]);
});

test("a receiver that closes tells what its log held back", async () => {
  const { receiver, log, clock } = rig();
  for (const _ of [1, 2, 3]) await receiver.receive(signedRequest("{}", { secret: "another", at: clock.date() }));
  expect(log.of("signature-wrong").length).toBe(1);
  await receiver.close();
  expect(log.of("signature-wrong")).toMatchObject([{}, { facts: { suppressed: 1 } }]);
});

test("each line is logged or counted, and no second has more than one of a code", async () => {
  const step = fc.record({ waitMs: fc.nat({ max: 1_500 }), lines: fc.nat({ max: 4 }) });
  await fc.assert(
    fc.asyncProperty(fc.array(step, { maxLength: 12 }), async (steps) => {
      const clock = fakeClock(new Date(0), async () => {});
      const at: number[] = [];
      let count = 0;
      const line = (facts: object): void => {
        at.push(clock.now());
        count += 1 + ((facts as { suppressed?: number }).suppressed ?? 0);
      };
      const log = throttledLog({ debug: line, info: line, warn: line, error: line }, clock);
      for (const { waitMs, lines } of steps) {
        for (let left = lines; left > 0; left -= 1) log.error({ code: "a" });
        await clock.advance(waitMs);
      }
      await clock.advance(1_000);
      expect(count).toBe(steps.reduce((sum, { lines }) => sum + lines, 0));
      expect(at.slice(1).every((time, index) => time - (at[index] ?? 0) >= 1_000)).toBe(true);
    }),
    { numRuns: 50 },
  );
});
