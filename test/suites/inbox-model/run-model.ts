import assert from "node:assert/strict";
import { eventually } from "../../support/eventually.ts";
import { withBench, type InboxBench } from "../inbox/fixture.ts";
import type { InboxSubject } from "../inbox/inbox-subject.ts";
import { change, changeAll, erase } from "./admin-ops.ts";
import { compareAll, compareCounts } from "./compare.ts";
import type { Course } from "./model-state.ts";
import { createPlainInbox } from "./reference-inbox.ts";
import { createPlainStones } from "./reference-tombstones.ts";
import type { Step } from "./steps.ts";
import { claim, expand, settle, store } from "./worker-ops.ts";

/** Short, so that walks come to its end. */
const DEDUPE_WINDOW_MS = 5_000;
const MONTH_MS = 31 * 86_400_000;

/**
 * Does all steps to an inbox and to its plain specification, and compares them after each; at the end everything is run.
 * @throws AssertionError where they differ
 */
export function walk(subject: InboxSubject, steps: readonly Step[]): Promise<void> {
  const possible = steps.filter((step) => step.do !== "die" || subject.crash !== undefined);
  return withBench(subject, (bench) => walkOn(bench, possible), DEDUPE_WINDOW_MS);
}

async function walkOn(bench: InboxBench, steps: readonly Step[]): Promise<void> {
  const [plain, stones] = [createPlainInbox(DEDUPE_WINDOW_MS), createPlainStones()];
  const at: Course = { bench, plain, stones, inbox: bench.inbox, held: [], stored: 0 };
  for (const step of steps) await go(at, step);
  await finish(at);
}

async function go(at: Course, step: Step): Promise<void> {
  const { bench, plain, stones, held } = at;
  plain.look(bench.clock.now());
  await take(at, step);
  plain.look(bench.clock.now());
  await compareAll(at.inbox, plain, bench.clock.now());
  await stones.compare(at.inbox.tombstones);
  const standing = new Set(held.filter(({ stands }) => stands).map((each) => each.claim));
  for (const lost of bench.heard.lost) assert.ok(!standing.has(lost), "a claim that stands was told as lost");
}

async function take(at: Course, step: Step): Promise<void> {
  const { bench, plain, stones, held } = at;
  switch (step.do) {
    case "store":
      return store(at, step);
    case "expand":
      return expand(at, step);
    case "claim":
      return claim(at, step);
    case "settle":
      return settle(at, step.claims, step.outcomes);
    case "replay":
    case "drop":
    case "reopen":
      return change(at, step.do, step.jobs);
    case "replay all":
    case "drop all":
      return changeAll(at, step.do, step.states);
    case "erase":
      return erase(at, step.account);
    case "pass":
      return bench.clock.advance(step.ms);
    case "jump":
      return bench.clock.jump(step.ms);
    case "let a month pass":
      await bench.clock.advance(MONTH_MS);
      return stones.expire();
    case "die":
      at.inbox = await bench.succeed();
      plain.die();
      for (const each of held) each.stands = false;
      return undefined;
    case "restart":
      // What becomes of claims that stand then is not said.
      return held.some(({ stands }) => stands) ? undefined : bench.restart();
    case "pause":
      if (at.inbox.pauses === undefined) return;
      await at.inbox.pauses.put({ ...step.what, reason: "a step", since: bench.clock.now() });
      return plain.pause(step.what);
    case "resume": {
      if (at.inbox.pauses === undefined) return;
      const wasPaused = await at.inbox.pauses.remove(step.what);
      assert.equal(wasPaused, plain.resume(step.what), "resume says something else of what was paused");
      return;
    }
    case "put":
      return stones.put(at.inbox.tombstones, step, `at ${bench.clock.now()}`);
    case "lift":
      return stones.lift(at.inbox.tombstones, step);
  }
}

/** Nothing is lost: when all that is claimed ends and all time has passed, every job comes. */
async function finish(at: Course): Promise<void> {
  const { plain, held } = at;
  const limits = { max: 3, mergeMax: 2 };
  await go(at, { do: "let a month pass" });
  for (const what of plain.pauses) await go(at, { do: "resume", what: what as { accountId: number } });
  for (;;) {
    const standing = held.filter(({ stands }) => stands).map((_, place) => place);
    await go(at, { do: "settle", claims: standing, outcomes: ALL_DONE });
    if (plain.unexpanded.length > 0) await go(at, { do: "expand", max: 10, part: false });
    if (!plain.jobs.some(({ state }) => state === "waiting")) return compareLater(at);
    const before = held.length;
    await go(at, { do: "claim", ...limits, suspects: false });
    await go(at, { do: "claim", ...limits, suspects: true });
    assert.ok(held.length > before, "jobs wait, all their time has passed, and none can be claimed");
  }
}

/** Where many work, some counts are up to 5 s old. */
async function compareLater({ bench, inbox, plain }: Course): Promise<void> {
  await eventually(async () => {
    await bench.clock.advance(1_000);
    compareCounts(inbox, plain);
  });
}

const ALL_DONE = ["done", "done", "done", "done"] as const;
