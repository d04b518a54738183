import { describe, expect, test } from "vitest";
import { createSettleQueue } from "../../src/dispatch/settle-queue.ts";
import { createInboxWatch } from "../../src/inbox/standstill-watch.ts";
import type { Claim, Settlement } from "../../src/inbox/port/claims.ts";
import type { Capabilities } from "../../src/inbox/port/inbox.ts";
import { claimedJob } from "../support/claimed-job.ts";
import { turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { logRecorder } from "../support/log-recorder.ts";

type Answer = readonly (boolean | Error)[] | { readonly fails: unknown };

/** A queue before an inbox that answers as the test says; after these answers it confirms everything. */
function settling(answers: readonly Answer[] = [], durability: Capabilities["durability"] = "fsync") {
  const clock = fakeClock();
  const log = logRecorder();
  const commits: (readonly Settlement[])[] = [];
  const steps: string[] = [];
  const settle = createSettleQueue(
    {
      capabilities: { durability, order: "strict", shared: false, workers: "one" },
      settle: async (settlements) => {
        const answer = answers[commits.length] ?? settlements.map(() => true);
        commits.push(settlements);
        if ("fails" in answer) throw answer.fails;
        return answer as boolean[];
      },
    },
    {
      clock,
      log: log.logger,
      watch: createInboxWatch(clock),
      answered(report) {
        steps.push("answered");
        report();
      },
      settled: () => void steps.push("settled"),
      unsettled() {},
      buried() {},
    },
  );
  return { settle, clock, log, commits, steps };
}

function settlement(): Settlement {
  const claim: Claim = { jobs: [claimedJob()] };
  return { claim, outcomes: [{ to: "done" }] };
}

describe("settlements", () => {
  test("of one turn of the event loop share a commit, and each gets its own answer", async () => {
    const { settle, commits, steps } = settling([[true, false]]);
    const answers: boolean[] = [];
    const [first, second] = [settlement(), settlement()];
    for (const one of [first, second]) settle(one, (settled) => answers.push(settled));
    await turns();
    expect(commits).toEqual([[first, second]]);
    expect(answers).toEqual([true, false]);
    expect(steps).toEqual(["answered", "settled", "answered", "settled"]);
  });

  test("of calls in which a thousand jobs were merged a few share a commit", async () => {
    const { settle, commits } = settling();
    const jobs = Array.from({ length: 1_000 }, () => claimedJob()) as unknown as Claim["jobs"];
    const merged = Array.from({ length: 12 }, () => ({
      claim: { jobs },
      outcomes: jobs.map(() => ({ to: "done" }) as const),
    }));
    for (const one of [...merged, settlement()]) settle(one, () => {});
    await turns();
    expect(commits.map((some) => some.length)).toEqual([5, 5, 3]);
  });

  test("begin their commit within the turn where a commit costs nothing, and at its end elsewhere", async () => {
    for (const [durability, begun] of [
      ["none", 1],
      ["fsync", 0],
    ] as const) {
      const { settle, commits } = settling([], durability);
      settle(settlement(), () => {});
      await Promise.resolve();
      expect(commits).toHaveLength(begun);
      await turns();
      expect(commits).toHaveLength(1);
    }
  });

  const broken = new Error("the disk is gone");
  test.each<[string, Answer, unknown]>([
    ["rejects with an error", { fails: broken }, broken],
    [
      "rejects with something else",
      { fails: "the disk is gone" },
      { message: expect.stringContaining("disk is gone") },
    ],
    ["gives an error for one of them", [broken], broken],
  ])("are tried again until the inbox confirms them, where it %s", async (_, answer, err) => {
    const { settle, clock, log, commits, steps } = settling([answer]);
    const answers: boolean[] = [];
    const one = settlement();
    settle(one, (settled) => answers.push(settled));
    await turns();
    expect([answers, steps]).toEqual([[], ["answered"]]);
    expect(log.lines).toMatchObject([{ level: "error", facts: { code: "settle-failed", err } }]);
    await clock.advance(999);
    expect(commits).toHaveLength(1);
    await clock.advance(1);
    expect(commits).toEqual([[one], [one]]);
    expect([answers, steps]).toEqual([[true], ["answered", "answered", "settled"]]);
  });
});
