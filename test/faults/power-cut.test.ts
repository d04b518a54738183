import { afterAll, beforeAll, expect, test } from "vitest";
import { rounds } from "./matrix/rounds.ts";
import type { Place } from "./power-cut/cut-power.ts";
import { deliveryOf, ERASED_ACCOUNT, FIRST_BIG } from "./power-cut/deliveries.ts";
import { betweenMarkers, recordTrace, runPowerCuts, type TraceSession } from "./power-cut/run-power-cuts.ts";
import type { TraceRecord } from "./power-cut/trace.ts";
import {
  compileTracer,
  killAtNextRecord,
  numbersBetween,
  sendAll,
  type TracedReceiver,
  type Tracer,
} from "./power-cut/traced-receiver.ts";

// Row 2 of the fault matrix. A receiver runs under load while its file operations are traced. Then the power is cut at many places of the
// trace: writes that no fsync covers are lost, or a random half of them. Killing a process proves nothing here: its writes survive in the page cache.

let tracer: Tracer;
beforeAll(() => {
  tracer = compileTracer();
});
afterAll(() => tracer?.remove());

/** A checkpoint after so few pages, so that a short trace has checkpoints. */
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

test("row 2: a power cut loses no acknowledged delivery", async () => {
  const records = await recordTrace({ library: tracer.library }, (session) => load(session, 600));
  const focus = betweenMarkers(records, ["closing", "closed"]);
  expect(await runPowerCuts(records, { title: "under load", rounds: rounds(25), focus, places: EVERYWHERE })).toEqual(
    [],
  );
});

test("row 2: a power cut during a checkpoint or a close loses no acknowledged delivery", async () => {
  const records = await recordTrace({ library: tracer.library, pragmas: OFTEN }, (session) => load(session, 1_000));
  const focus = betweenMarkers(records, ["closing", "closed"]);
  expect(
    await runPowerCuts(records, { title: "with checkpoints", rounds: rounds(40), focus, places: EVERYWHERE }),
  ).toEqual([]);
});

test("row 2: a power cut while another process takes over loses no acknowledged delivery", async () => {
  const records = await recordTrace({ library: tracer.library, pragmas: OFTEN }, async (session) => {
    const { writer } = session;
    const [working, standby] = [await session.start(), await session.start()];
    writer.mark("ready", "");
    const numbers = numbersBetween(0, 800);
    const pouring = [sendAll(working.url, numbers, writer), sendAll(standby.url, numbers, writer)];
    await sendAll(standby.url, numbersBetween(2_000, 2_300), writer);
    await killAtNextRecord(working);
    writer.mark("killed", "");
    await Promise.all(pouring);
    await close(standby, session);
  });
  const focus = betweenMarkers(records, ["killed", "killed"]);
  expect(
    await runPowerCuts(records, { title: "at a take-over", rounds: rounds(20), focus, places: EVERYWHERE }),
  ).toEqual([]);
});

test("row 2: a confirmed erasure survives a power cut", async () => {
  const records = await recordTrace({ library: tracer.library }, async (session) => {
    const { writer } = session;
    const receiver = await session.start();
    writer.mark("ready", "");
    await sendAll(receiver.url, numbersBetween(0, 400), writer);
    writer.mark("erasing", "");
    const others = numbersBetween(400, 700, (number) => deliveryOf(number).accountId !== ERASED_ACCOUNT);
    await Promise.all([receiver.ask(`/erase/${ERASED_ACCOUNT}`), sendAll(receiver.url, others, writer)]);
    await close(receiver, session);
  });
  const focus = betweenMarkers(records, ["erasing", "erased"]);
  expect(
    await runPowerCuts(records, { title: "at an erasure", rounds: rounds(20), focus, places: EVERYWHERE }),
  ).toEqual([]);
});

test("row 2: a power cut while retention shrinks the file loses no unhandled delivery", async () => {
  const setting = { library: tracer.library, pragmas: OFTEN, keepDoneDays: 1e-6 };
  const records = await recordTrace(setting, async (session) => {
    const { writer } = session;
    const receiver = await session.start();
    writer.mark("ready", "");
    await sendAll(receiver.url, numbersBetween(FIRST_BIG, FIRST_BIG + 500), writer);
    await receiver.ask("/idle");
    await receiver.ask("/forgotten");
    await sendAll(receiver.url, numbersBetween(0, 100), writer);
    await close(receiver, session);
  });
  expect(shrinkings(records)).toBeGreaterThan(0);
  expect(
    await runPowerCuts(records, { title: "at removals", rounds: rounds(20), places: UNFOCUSED, forgets: true }),
  ).toEqual([]);
});

test("row 2: the power cuts detect a missing fsync", async () => {
  const records = await recordTrace({ library: tracer.library, pragmas: "synchronous=1" }, (session) =>
    load(session, 300),
  );
  const wrong = await runPowerCuts(records, {
    title: "with synchronous=NORMAL, which is to lose some",
    rounds: rounds(10),
    places: UNFOCUSED,
  });
  expect(wrong.filter((what) => what.startsWith("lost")).length).toBeGreaterThan(0);
});

/** How often a file became shorter. */
function shrinkings(records: readonly TraceRecord[]): number {
  const lengths = new Map<number, number>();
  return records.filter((one) => {
    if (one.type !== "cut" && one.type !== "written") return false;
    const before = lengths.get(one.inode) ?? 0;
    const now = one.type === "cut" ? one.length : Math.max(before, one.offset + one.bytes.length);
    lengths.set(one.inode, now);
    return now > 0 && now < before;
  }).length;
}

async function load(session: TraceSession, deliveries: number): Promise<void> {
  const receiver = await session.start();
  session.writer.mark("ready", "");
  await sendAll(receiver.url, numbersBetween(0, deliveries), session.writer);
  await close(receiver, session);
}

async function close(receiver: TracedReceiver, { writer }: TraceSession): Promise<void> {
  writer.mark("closing", "");
  await receiver.ask("/close");
  await receiver.child.ended;
  writer.mark("closed", "");
}
