import { afterAll, beforeAll, expect, test } from "vitest";
import { rounds } from "./matrix/rounds.ts";
import { count, killAtNextRecord, pour, type Traced } from "./power-cut/traced-receiver.ts";

import type { Place } from "./power-cut/cut-power.ts";
import type { Happening } from "./power-cut/trace.ts";
import { compileTracer, type Tracer } from "./power-cut/tracer.ts";
import { ERASED_ACCOUNT, FIRST_BIG, toSending } from "./power-cut/deliveries.ts";
import { between, record, tryCuts, type Stage } from "./power-cut/run-power-cuts.ts";

// Row 2 of the fault matrix. A receiver runs under load while all that it does to its files is traced. Then the power is cut at many places of the
// trace: what no sync had covered is lost, or a random half of it is. Killing a process proves nothing here: its writes outlive it.

let tracer: Tracer;
beforeAll(() => {
  tracer = compileTracer();
});
afterAll(() => tracer?.remove());

/** The log is written back into the file after so many pages, so that there are checkpoints in a short trace. */
const OFTEN = "wal_autocheckpoint=300";

const UNFOCUSED: readonly Place[] = [
  "anywhere",
  "at an acknowledgement",
  "in a commit",
  "in a checkpoint",
  "at a shortening",
  "at the log's cut",
];
const EVERYWHERE: readonly Place[] = [...UNFOCUSED, "in focus"];

test("row 2: a power cut loses nothing that was acknowledged", async () => {
  const happenings = await record({ shim: tracer.shim }, (stage) => load(stage, 600));
  const focus = between(happenings, ["closing", "closed"]);
  expect(await tryCuts(happenings, { title: "under load", rounds: rounds(25), focus, places: EVERYWHERE })).toEqual([]);
});

test("row 2: a power cut while the log is written back, or while it closes, loses nothing that was acknowledged", async () => {
  const happenings = await record({ shim: tracer.shim, pragmas: OFTEN }, (stage) => load(stage, 1_000));
  const focus = between(happenings, ["closing", "closed"]);
  expect(
    await tryCuts(happenings, { title: "with checkpoints", rounds: rounds(40), focus, places: EVERYWHERE }),
  ).toEqual([]);
});

test("row 2: a power cut while another process takes over loses nothing that was acknowledged", async () => {
  const happenings = await record({ shim: tracer.shim, pragmas: OFTEN }, async (stage) => {
    const { notebook } = stage;
    const [working, standby] = [await stage.start(), await stage.start()];
    notebook.note("ready", "");
    const numbers = count(0, 800);
    const pouring = [pour(working.url, numbers, notebook), pour(standby.url, numbers, notebook)];
    await pour(standby.url, count(2_000, 2_300), notebook);
    await killAtNextRecord(working);
    notebook.note("killed", "");
    await Promise.all(pouring);
    await close(standby, stage);
  });
  const focus = between(happenings, ["killed", "killed"]);
  expect(await tryCuts(happenings, { title: "at a take-over", rounds: rounds(20), focus, places: EVERYWHERE })).toEqual(
    [],
  );
});

test("row 2: after a power cut what was erased does not come back, once that was confirmed", async () => {
  const happenings = await record({ shim: tracer.shim }, async (stage) => {
    const { notebook } = stage;
    const receiver = await stage.start();
    notebook.note("ready", "");
    await pour(receiver.url, count(0, 400), notebook);
    notebook.note("erasing", "");
    const others = count(400, 700, (number) => toSending(number).accountId !== ERASED_ACCOUNT);
    await Promise.all([receiver.ask(`/erase/${ERASED_ACCOUNT}`), pour(receiver.url, others, notebook)]);
    await close(receiver, stage);
  });
  const focus = between(happenings, ["erasing", "erased"]);
  expect(await tryCuts(happenings, { title: "at an erasure", rounds: rounds(20), focus, places: EVERYWHERE })).toEqual(
    [],
  );
});

test("row 2: a power cut while old ones are removed and the file shrinks loses nothing that was not handled", async () => {
  const setting = { shim: tracer.shim, pragmas: OFTEN, keepDoneDays: 1e-6 };
  const happenings = await record(setting, async (stage) => {
    const { notebook } = stage;
    const receiver = await stage.start();
    notebook.note("ready", "");
    await pour(receiver.url, count(FIRST_BIG, FIRST_BIG + 500), notebook);
    await receiver.ask("/idle");
    await receiver.ask("/forgotten");
    await pour(receiver.url, count(0, 100), notebook);
    await close(receiver, stage);
  });
  expect(shrinkings(happenings)).toBeGreaterThan(0);
  expect(
    await tryCuts(happenings, { title: "at removals", rounds: rounds(20), places: UNFOCUSED, forgets: true }),
  ).toEqual([]);
});

test("row 2: the power cuts see that a sync is missing", async () => {
  const happenings = await record({ shim: tracer.shim, pragmas: "synchronous=1" }, (stage) => load(stage, 300));
  const wrong = await tryCuts(happenings, {
    title: "with synchronous=NORMAL, which is to lose some",
    rounds: rounds(10),
    places: UNFOCUSED,
  });
  expect(wrong.filter((what) => what.startsWith("lost")).length).toBeGreaterThan(0);
});

/** How often a file was made shorter than it had been. */
function shrinkings(happenings: readonly Happening[]): number {
  const lengths = new Map<number, number>();
  return happenings.filter((one) => {
    if (one.type !== "cut" && one.type !== "written") return false;
    const before = lengths.get(one.inode) ?? 0;
    const now = one.type === "cut" ? one.length : Math.max(before, one.offset + one.bytes.length);
    lengths.set(one.inode, now);
    return now > 0 && now < before;
  }).length;
}

async function load(stage: Stage, deliveries: number): Promise<void> {
  const receiver = await stage.start();
  stage.notebook.note("ready", "");
  await pour(receiver.url, count(0, deliveries), stage.notebook);
  await close(receiver, stage);
}

async function close(receiver: Traced, { notebook }: Stage): Promise<void> {
  notebook.note("closing", "");
  await receiver.ask("/close");
  await receiver.child.ended;
  notebook.note("closed", "");
}
