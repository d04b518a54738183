import { expect, test } from "vitest";
import type { Gap } from "../../../src/inbox/port/gaps.ts";
import { createGapWriter } from "../../../src/gaps/gap-writer.ts";
import { deferred } from "../../support/event-loop.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { mail } from "./support.ts";

const gap = (from: number): Gap => ({ ...mail, cause: "refused", from, until: from + 1 });

test("after a long outage very many are written", async () => {
  let added = 0;
  const inbox = { seen: async () => {}, add: async (gaps: readonly Gap[]) => void (added += gaps.length) };
  const writer = createGapWriter(inbox, { clock: fakeClock(), log: logRecorder().logger, found: () => {} });
  writer.add(Array.from({ length: 200_000 }, (_, from) => gap(from)));
  await writer.flush();
  expect(added).toBe(200_000);
});

test("what comes while some are written is written too, each once, in order", async () => {
  const { promise, resolve } = deferred();
  const added: number[] = [];
  const inbox = {
    seen: async () => {},
    async add(gaps: readonly Gap[]) {
      await promise;
      added.push(...gaps.map(({ from }) => from));
    },
  };
  const writer = createGapWriter(inbox, { clock: fakeClock(), log: logRecorder().logger, found: () => {} });
  writer.add([gap(1)]);
  const first = writer.flush();
  await Promise.resolve();
  writer.add([gap(2), gap(3)]);
  resolve();
  await Promise.all([first, writer.flush()]);
  expect(added).toEqual([1, 2, 3]);
});
