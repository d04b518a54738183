import assert from "node:assert/strict";
import {
  claimAll,
  claimOne,
  dead,
  done,
  findAll,
  keepAll,
  mail,
  recordsOf,
  release,
  retry,
  settleAll,
  unhandled,
  type InboxCases,
} from "./bench.ts";

const one = (id: string, mergeKey?: string) => ({ id, lane: "one", ...(mergeKey === undefined ? {} : { mergeKey }) });

export const settling: InboxCases = {
  "done frees the lane in the same write": async ({ inbox }) => {
    await keepAll(inbox, mail([one("a"), one("b")]));
    await settleAll(inbox, await claimOne(inbox), done);
    assert.deepEqual(recordsOf([await claimOne(inbox)]), [["b"]]);
    assert.equal((await findAll(inbox, { states: ["waiting", "running"] })).length, 1);
  },

  "dead frees the lane too, and keeps the job with its error": async (bench) => {
    const { inbox, clock } = bench;
    await keepAll(inbox, mail([one("a"), one("b")]));
    await settleAll(inbox, await claimOne(inbox), dead(bench, "broken"));
    assert.deepEqual(recordsOf([await claimOne(inbox)]), [["b"]]);
    const [job] = await findAll(inbox, { states: ["dead"] });
    assert.deepEqual(
      [job?.attempts, job?.error, job?.settledAt],
      [1, { name: "Error", message: "broken", at: clock.now() }, clock.now()],
    );
  },

  "retry keeps the lane closed until it is due, and counts": async (bench) => {
    const { inbox, clock } = bench;
    await keepAll(inbox, mail([one("a"), one("b")]));
    const started = clock.now();
    await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
    const [job] = await findAll(inbox, { states: ["waiting"] });
    assert.deepEqual([job?.attempts, job?.runAt, job?.error?.message], [1, started + 5_000, "no"]);
    assert.equal(inbox.stats().blockedLanes, 1);
    await clock.advance(4_999);
    assert.deepEqual(await claimAll(inbox), []);
    await clock.advance(1);
    const { jobs } = await claimOne(inbox);
    assert.deepEqual([jobs[0].attempt, jobs[0].firstAttemptAt], [2, started]);
    assert.equal(inbox.stats().blockedLanes, 0);
  },

  "a retry that is not counted takes its attempt back": async (bench) => {
    const { inbox, clock } = bench;
    await keepAll(inbox, mail(["a"]));
    const started = clock.now();
    await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000, false));
    await clock.advance(5_000);
    const { jobs } = await claimOne(inbox);
    assert.deepEqual([jobs[0].attempt, jobs[0].firstAttemptAt], [1, started]);
  },

  "release is as if it had not been claimed: due at once, no attempt burned": async ({ inbox, clock }) => {
    await keepAll(inbox, mail([one("a"), one("b")]));
    await settleAll(inbox, await claimOne(inbox), release);
    await clock.advance(60_000);
    const again = await claimOne(inbox);
    assert.deepEqual(recordsOf([again]), [["a"]]);
    assert.deepEqual([again.jobs[0].attempt, again.jobs[0].firstAttemptAt], [1, clock.now()]);
  },

  "unhandled frees the lane; the job waits for a handler": async ({ inbox }) => {
    await keepAll(inbox, mail([one("a"), one("b")]));
    await settleAll(inbox, await claimOne(inbox), unhandled);
    assert.deepEqual(recordsOf([await claimOne(inbox)]), [["b"]]);
    const [job] = await findAll(inbox, { states: ["unhandled"] });
    assert.deepEqual([job?.attempts, job?.consumer], [0, "default"]);
  },

  "each job of a run has its own outcome, and what still waits keeps its place": async (bench) => {
    const { inbox } = bench;
    await keepAll(inbox, mail(["a", "b", "c", "d", "e"].map((id) => one(id, "x"))));
    const run = await claimOne(inbox, 4);
    await keepAll(inbox, mail([one("f", "x")]));
    await settleAll(inbox, run, done, retry(bench, 0), dead(bench), release);
    const next = await claimOne(inbox, 10);
    assert.deepEqual(recordsOf([next]), [["b", "d", "e", "f"]]);
    assert.deepEqual(
      next.jobs.map(({ attempt }) => attempt),
      [2, 1, 1, 1],
    );
  },

  "a claim settles once: afterwards it is lost, and changes nothing": async (bench) => {
    const { inbox } = bench;
    await keepAll(inbox, mail(["a"]));
    const claim = await claimOne(inbox);
    await settleAll(inbox, claim, retry(bench, 0));
    assert.deepEqual(await inbox.settle([{ claim, outcomes: [done] }]), [false]);
    assert.equal((await findAll(inbox, { states: ["waiting"] })).length, 1);
    await claimOne(inbox);
    assert.deepEqual(await inbox.settle([{ claim, outcomes: [done] }]), [false]);
    assert.equal((await findAll(inbox, { states: ["running"] })).length, 1);
  },

  "a lost claim among others does not keep them from settling": async ({ inbox }) => {
    await keepAll(inbox, mail(["a", "b", "c"]));
    const claims = await claimAll(inbox);
    const [first, second, third] = claims.map((claim) => ({ claim, outcomes: [done] }));
    assert.ok(first !== undefined && second !== undefined && third !== undefined);
    await inbox.settle([second]);
    assert.deepEqual(await inbox.settle([first, second, third]), [true, false, true]);
    assert.deepEqual(await findAll(inbox, { states: ["waiting", "running"] }), []);
  },

  "a wall clock that jumped back does not freeze a retry": async (bench) => {
    const { inbox, clock } = bench;
    await keepAll(inbox, mail(["a"]));
    await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
    clock.jump(-86_400_000);
    assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
  },

  "a wall clock that jumps neither frees nor loses a claim": async ({ inbox, clock }) => {
    await keepAll(inbox, mail(["a"]));
    const claim = await claimOne(inbox);
    for (const jump of [86_400_000, -2 * 86_400_000]) {
      clock.jump(jump);
      assert.deepEqual(await claimAll(inbox), []);
    }
    await settleAll(inbox, claim, done);
  },

  "stats count what waits, runs, is dead, unhandled, blocked": async (bench) => {
    const { inbox } = bench;
    const at = Date.parse("2026-05-06T00:00:00Z");
    await keepAll(
      inbox,
      mail(["a"], { receivedAt: at }),
      mail(["b", "c", "d"], { receivedAt: at + 1 }),
      mail(["e"], { receivedAt: at + 2 }),
    );
    const [a, b, c, d] = await claimAll(inbox, { max: 4 });
    assert.ok(a !== undefined && b !== undefined && c !== undefined && d !== undefined);
    await settleAll(inbox, a, done);
    await settleAll(inbox, b, dead(bench));
    await settleAll(inbox, c, retry(bench, 5_000));
    assert.deepEqual(inbox.stats(), {
      unexpanded: 0,
      waiting: 2,
      running: 1,
      dead: 1,
      unhandled: 0,
      blockedLanes: 1,
      oldestWaitingAt: at + 1,
    });
    await settleAll(inbox, d, unhandled);
    assert.deepEqual(inbox.stats(), {
      unexpanded: 0,
      waiting: 2,
      running: 0,
      dead: 1,
      unhandled: 1,
      blockedLanes: 1,
      oldestWaitingAt: at + 1,
    });
  },

  "stats of an empty inbox are zeros": async ({ inbox }) => {
    assert.deepEqual(inbox.stats(), {
      unexpanded: 0,
      waiting: 0,
      running: 0,
      dead: 0,
      unhandled: 0,
      blockedLanes: 0,
      oldestWaitingAt: undefined,
    });
  },
};
