import assert from "node:assert/strict";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import type { JobQuery } from "../../../src/inbox/port/jobs.ts";
import { mail, nobodys, one } from "./deliveries.ts";
import type { InboxBench, InboxPromises } from "./fixture.ts";
import { claimAll, findAll, recordsIn, retry, settleAll, storeAll } from "./verbs.ts";

/** Dead jobs, each with the name of an error, and one that is unhandled. */
async function named(bench: InboxBench, ...names: readonly string[]): Promise<void> {
  await storeAll(bench.inbox, mail([...names.map((name, place) => ({ id: `${name} ${place}` })), nobodys("n")]));
  const claims = await claimAll(bench.inbox, { max: names.length });
  for (const [place, claim] of claims.entries()) {
    const error = { name: names[place] ?? "", message: "no", at: bench.clock.now() };
    await settleAll(bench.inbox, claim, { to: "dead", error });
  }
}

/** Counts by name; undefined where the inbox leaves it to the receiver. */
async function counted(inbox: WorkingInbox, query: JobQuery): Promise<object | undefined> {
  const summary = await inbox.jobs.summary?.(query);
  return summary && Object.fromEntries(summary.groups.map(({ error = "none", count }) => [error, count]));
}

function assertCounts(found: object | undefined, expected: object): void {
  if (found !== undefined) assert.deepEqual(found, expected);
}

export const counting: InboxPromises = {
  "error: The name of the last error.": {
    "it selects jobs, alone and with the rest of their group": async (bench) => {
      await named(bench, "A", "B", "A");
      const { inbox } = bench;
      assert.deepEqual(await recordsIn(inbox, { error: "A" }), ["A 0", "A 2"]);
      const group = { states: ["dead"], types: ["email.updated"], consumer: "default", error: "B" } as const;
      assert.deepEqual(await recordsIn(inbox, group), ["B 1"]);
      assert.deepEqual(await findAll(inbox, { ...group, consumer: "other" }), []);
      assert.equal(await inbox.jobs.drop({ states: ["dead"], error: "A" }), 2);
      assert.deepEqual(await recordsIn(inbox), ["B 1", "n"]);
    },

    "of a job that waits too": async (bench) => {
      await storeAll(bench.inbox, mail(["a", "b"]));
      const [claim] = await claimAll(bench.inbox);
      assert.ok(claim !== undefined);
      await settleAll(bench.inbox, claim, retry(bench, 5_000));
      assert.deepEqual(await recordsIn(bench.inbox, { states: ["waiting"], error: "Error" }), ["a"]);
    },
  },

  "newestFirst: The highest id first, and `after` counts down. Asked for with the one state `dead` alone.": {
    "all pages together have each job once, alone and by every index": async (bench) => {
      await named(bench, "A", "B", "A", "A", "B");
      const { jobs } = bench.inbox;
      const group = { states: ["dead"], types: ["email.updated"], consumer: "default", error: "A" } as const;
      const types = ["email.created", "email.updated"];
      for (const query of [
        { states: ["dead"] },
        group,
        { states: ["dead"], types },
        { ...group, accountId: 2002 },
      ] as const) {
        const oldest = (await jobs.find({ ...query, limit: 10 })).jobs.map(({ id }) => id);
        const newest: string[] = [];
        let after: string | undefined;
        do {
          const page = await jobs.find({ ...query, after, limit: 2, newestFirst: true });
          newest.push(...page.jobs.map(({ id }) => id));
          after = page.next;
        } while (after !== undefined);
        assert.deepEqual(newest, oldest.toReversed());
        assert.ok(newest.length > 2);
      }
    },
  },

  "summary: Counts jobs where that costs less than reading them, such as from counts that are kept.": {
    "they follow what dies, is dropped, replayed and erased": async (bench) => {
      const { inbox, clock } = bench;
      await named(bench, "A", "B", "A");
      assertCounts(await counted(inbox, { states: ["dead"] }), { A: 2, B: 1 });
      assertCounts(await counted(inbox, { states: ["dead", "unhandled"] }), { A: 2, B: 1, none: 1 });
      const [group] = (await inbox.jobs.summary?.({ states: ["dead"] }))?.groups ?? [];
      if (group !== undefined)
        assert.deepEqual(group, {
          consumer: "default",
          type: "email.updated",
          error: "A",
          count: 2,
          newestAt: new Date(clock.now()),
        });
      await named(bench, "A", "C", "C", "C");
      assertCounts(await counted(inbox, { states: ["dead"] }), { C: 3, A: 3, B: 1 });
      await inbox.jobs.drop({ states: ["dead"], error: "B" });
      await inbox.jobs.replay({ states: ["dead"], error: "C" });
      assertCounts(await counted(inbox, { states: ["dead"] }), { A: 3 });
      await inbox.jobs.erase(2002);
      assertCounts(await counted(inbox, { states: ["dead", "unhandled"] }), {});
    },

    "types, consumer and error select": async (bench) => {
      const { inbox } = bench;
      await named(bench, "A", "B", "A");
      const states = ["dead"] as const;
      assertCounts(await counted(inbox, { states, error: "B" }), { B: 1 });
      assertCounts(await counted(inbox, { states, types: ["email.deleted"] }), {});
      assertCounts(await counted(inbox, { states, types: ["email.updated"], consumer: "default" }), { A: 2, B: 1 });
      assertCounts(await counted(inbox, { states, consumer: "search" }), {});
    },

    "texts that no column or index likes are counted like others": async (bench) => {
      const long = "é🙂".repeat(600);
      await named(bench, long, "'\"\\%_", long);
      assertCounts(await counted(bench.inbox, { states: ["dead"] }), { [long]: 2, "'\"\\%_": 1 });
      assertCounts(await counted(bench.inbox, { states: ["dead"], error: long }), { [long]: 2 });
    },
  },

  "blocked: The heads of lanes that wait for their next attempt, which is after `now`, by its time and then by their ids; jobs without a lane too.":
    {
      "one for each lane, with at least those that wait behind it, page by page": async (bench) => {
        const { inbox, clock } = bench;
        if (inbox.jobs.blocked === undefined) return;
        const none = [{ id: "x", lane: undefined }, "y"];
        await storeAll(inbox, mail([one("a", "m"), one("b", "m"), one("c"), ...none, "runs"]));
        const claims = await claimAll(inbox, { mergeMax: 2 });
        const [run, x, y] = claims;
        assert.ok(run !== undefined && x !== undefined && y !== undefined);
        assert.equal(run.jobs.length, 2);
        // Jobs of a run may come at different times: the first of the lane counts.
        await settleAll(inbox, run, retry(bench, 9_000), retry(bench, 5_000));
        await settleAll(inbox, x, retry(bench, 7_000));
        await settleAll(inbox, y, retry(bench, 9_000));
        const now = clock.now();
        const told = async (after?: { id: string; runAt: number }, limit = 10): Promise<unknown[]> =>
          ((await inbox.jobs.blocked?.({ now, after, limit })) ?? []).map(({ job, behind }) => [
            job.id,
            Number(job.runAt) - now,
            behind,
          ]);
        const [a, b, c] = [run.jobs[0].id, x.jobs[0].id, y.jobs[0].id];
        const all = [
          [b, 7_000, 0],
          [a, 9_000, 2],
          [c, 9_000, 0],
        ];
        assert.deepEqual(await told(), all);
        assert.deepEqual(await told(undefined, 1), all.slice(0, 1));
        assert.deepEqual(await told({ id: b, runAt: now + 7_000 }, 1), all.slice(1, 2));
        assert.deepEqual(await told({ id: a, runAt: now + 9_000 }), all.slice(2));
        await clock.advance(8_000);
        const later = await inbox.jobs.blocked({ now: clock.now(), limit: 10 });
        assert.deepEqual(
          later.map(({ job }) => job.id),
          [a, c],
        );
      },
    },
};
