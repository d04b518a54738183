import assert from "node:assert/strict";
import type { NewJob } from "../../../src/inbox/port.ts";
import {
  claimAll,
  claimOne,
  dead,
  done,
  drain,
  findAll,
  keepAll,
  killAll,
  mail,
  raw,
  recordsOf,
  retry,
  settleAll,
  told,
  UNHANDLED,
  unhandled,
  type InboxCases,
} from "./bench.ts";

const one = (id: string, mergeKey?: string) => ({ id, lane: "one", ...(mergeKey === undefined ? {} : { mergeKey }) });

export const replaying: InboxCases = {
  "replay makes a new job at the tail of the lane, and takes the dead one away": async (bench) => {
    const { inbox } = bench;
    const [id] = await killAll(bench, one("a"));
    await keepAll(inbox, mail([one("b")]));
    assert.equal(await inbox.jobs.replay({ ids: [id ?? ""] }), 1);
    assert.deepEqual(await findAll(inbox, { states: ["dead"] }), []);
    const first = await claimOne(inbox);
    assert.deepEqual(recordsOf([first]), [["b"]]);
    await settleAll(inbox, first, done);
    const { jobs } = await claimOne(inbox);
    assert.deepEqual([jobs[0].attempt, jobs[0].deaths, jobs[0].replayOf, jobs[0].entry], [1, 0, id, 0]);
    assert.ok(Number(jobs[0].id) > Number(id));
  },

  "replay goes past the unique keys": async (bench) => {
    const { inbox } = bench;
    await keepAll(inbox, told({ key: "tracking:1:7", content: "open" }));
    await settleAll(inbox, await claimOne(inbox), dead(bench));
    assert.equal(await inbox.jobs.replay({ states: ["dead"] }), 1);
    assert.equal((await claimAll(inbox)).length, 1);
  },

  "replays merge with replays only": async (bench) => {
    const { inbox } = bench;
    const ids = [...(await killAll(bench, one("a", "x"))), ...(await killAll(bench, one("b", "x")))];
    await keepAll(inbox, mail([one("c", "x")]));
    assert.equal(await inbox.jobs.replay({ ids }), 2);
    await keepAll(inbox, mail([one("d", "x")]));
    const runs: string[][] = [];
    for (let left = 0; left < 3; left += 1) {
      const claim = await claimOne(inbox, 10);
      runs.push(...recordsOf([claim]));
      await settleAll(inbox, claim, ...claim.jobs.map(() => done));
    }
    assert.deepEqual(runs, [["c"], ["a", "b"], ["d"]]);
  },

  "a replay that dies again can be replayed again, and merges with the others still": async (bench) => {
    const { inbox } = bench;
    const [id] = await killAll(bench, one("a", "x"));
    await inbox.jobs.replay({ ids: [id ?? ""] });
    await settleAll(inbox, await claimOne(inbox), dead(bench));
    const [other] = await killAll(bench, one("b", "x"));
    assert.equal(await inbox.jobs.replay({ states: ["dead"] }), 2);
    assert.deepEqual(recordsOf([await claimOne(inbox, 10)]), [["a", "b"]]);
    assert.notEqual(other, undefined);
  },

  "replay leaves what is not settled, and counts each job once": async (bench) => {
    const { inbox } = bench;
    const [id] = await killAll(bench, "a");
    await keepAll(inbox, mail(["running", "waiting"]));
    await claimAll(inbox, { max: 1 });
    const ids = (await findAll(inbox)).map((job) => job.id);
    assert.equal(await inbox.jobs.replay({ ids: [...ids, id ?? "", "999999"] }), 1);
    assert.deepEqual(
      (await findAll(inbox)).map(({ state }) => state),
      ["running", "waiting", "waiting"],
    );
  },

  "replay takes an unhandled job that has a consumer, not one of nobody": async ({ inbox }) => {
    await keepAll(inbox, mail([one("a"), { id: "b", ...UNHANDLED }]));
    await settleAll(inbox, await claimOne(inbox), unhandled);
    assert.equal(await inbox.jobs.replay({ states: ["unhandled", "dead"] }), 1);
    assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
    assert.equal(inbox.stats().unhandled, 1);
  },

  "replay wakes the worker, and so does drop of a head that waits": async (bench) => {
    const { inbox, heard } = bench;
    const [id] = await killAll(bench, "a");
    heard.woken = 0;
    await inbox.jobs.replay({ ids: [id ?? ""] });
    assert.equal(heard.woken, 1);
  },

  "replay of a selection takes what it names": async (bench) => {
    const { inbox } = bench;
    await killAll(bench, { id: "a", consumer: "search" }, { id: "b" });
    assert.equal(await inbox.jobs.replay({ states: ["dead"], consumer: "search" }), 1);
    assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
  },
};

export const dropping: InboxCases = {
  "drop takes waiting, dead and unhandled jobs; a running one is left": async (bench) => {
    const { inbox } = bench;
    await killAll(bench, "dead");
    await keepAll(inbox, mail(["running", "waiting", { id: "nobody's", ...UNHANDLED }]));
    await claimAll(inbox, { max: 1 });
    const states = ["waiting", "dead", "unhandled", "running"] as const;
    assert.equal(await inbox.jobs.drop({ states }), 3);
    assert.deepEqual(
      (await findAll(inbox)).map(({ state }) => state),
      ["running"],
    );
    assert.deepEqual(await claimAll(inbox), []);
  },

  "drop of a head that waits for its retry frees its lane": async (bench) => {
    const { inbox } = bench;
    await keepAll(inbox, mail([one("a"), one("b")]));
    const claim = await claimOne(inbox);
    await settleAll(inbox, claim, retry(bench, 60_000));
    assert.equal(await inbox.jobs.drop({ ids: [claim.jobs[0].id] }), 1);
    assert.deepEqual(recordsOf(await claimAll(inbox)), [["b"]]);
    assert.equal(bench.heard.woken > 0, true);
  },

  "drop counts each job once, and what is not there not at all": async ({ inbox }) => {
    await keepAll(inbox, mail(["a"]));
    const [job] = await findAll(inbox);
    assert.equal(await inbox.jobs.drop({ ids: [job?.id ?? "", job?.id ?? "", "999999"] }), 1);
    assert.deepEqual(inbox.stats().waiting, 0);
  },
};

export const erasing: InboxCases = {
  "erase takes every job and delivery of the account, whatever their state, and no other's": async (bench) => {
    const { inbox } = bench;
    await killAll(bench, "dead of the other");
    await keepAll(inbox, mail(["dead"], { accountId: 7 }));
    await settleAll(inbox, await claimOne(inbox), dead(bench));
    await keepAll(inbox, mail(["running", "waiting", { id: "nobody's", ...UNHANDLED }], { accountId: 7 }));
    await claimAll(inbox, { max: 1 });
    await keepAll(inbox, mail(["other"]));
    await keepAll(inbox, raw(mail(["unexpanded"], { accountId: 7 })), raw(mail(["other, unexpanded"])));
    assert.equal(await inbox.jobs.erase(7), 5);
    assert.deepEqual(await findAll(inbox, { accountId: 7 }), []);
    assert.equal((await inbox.unexpanded(10)).length, 1);
    assert.equal((await findAll(inbox)).length, 2);
    assert.deepEqual(inbox.stats().running, 0);
  },

  "erase ends running claims: they are told as lost, and their settle changes nothing": async ({
    inbox,
    heard: { lost },
  }) => {
    await keepAll(inbox, mail([one("a", "x"), one("b", "x")], { accountId: 7 }), mail(["other"]));
    const claims = await claimAll(inbox, { mergeMax: 10 });
    assert.equal(await inbox.jobs.erase(7), 2);
    assert.deepEqual(lost, [claims[0]]);
    assert.deepEqual(await inbox.settle(claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => done) }))), [
      false,
      true,
    ]);
    assert.deepEqual(await findAll(inbox, { states: ["waiting", "running", "dead", "unhandled"] }), []);
  },

  "erase frees the lanes for what comes later": async ({ inbox }) => {
    await keepAll(inbox, mail([one("a")], { accountId: 7 }));
    await claimOne(inbox);
    await inbox.jobs.erase(7);
    await keepAll(inbox, mail([one("b")], { accountId: 7 }));
    assert.deepEqual(await drain(inbox), ["b"]);
  },

  "erase of half a delivery that is being expanded ends its expansion": async ({ inbox }) => {
    const long = mail(["a", "b"], { accountId: 7 });
    const [kept] = await keepAll(inbox, raw(long));
    await inbox.expand([{ id: kept?.id ?? "", events: long.events.slice(0, 1), cursor: 1 }]);
    assert.equal(await inbox.jobs.erase(7), 2);
    await inbox.expand([{ id: kept?.id ?? "", events: long.events.slice(1), cursor: undefined }]);
    assert.deepEqual([await inbox.unexpanded(10), await findAll(inbox)], [[], []]);
    const [next] = await keepAll(inbox, mail(["c"]));
    assert.equal(next?.expanded, true);
  },

  "erase of an account that is not there takes nothing": async ({ inbox }) => {
    await keepAll(inbox, mail(["a"]));
    assert.equal(await inbox.jobs.erase(999), 0);
    assert.equal(inbox.stats().waiting, 1);
  },
};

const job: NewJob = { state: "waiting", consumer: "default", lane: "one", mergeKey: undefined };

export const reopening: InboxCases = {
  "reopen replaces an unhandled job by jobs for those who handle it now": async ({ inbox }) => {
    await keepAll(inbox, mail([{ id: "a", ...UNHANDLED }]));
    const [waiting] = await inbox.jobs.unhandled({ limit: 10 });
    const jobs = [job, { ...job, consumer: "search", lane: "search one" }];
    await inbox.jobs.reopen([{ id: waiting?.id ?? "", jobs }]);
    const claims = await claimAll(inbox);
    assert.deepEqual(recordsOf(claims), [["a"], ["a"]]);
    assert.deepEqual(
      claims.map((claim) => [claim.jobs[0].consumer, claim.jobs[0].replayOf]),
      [
        ["default", undefined],
        ["search", undefined],
      ],
    );
    assert.deepEqual(await inbox.jobs.unhandled({ limit: 10 }), []);
    assert.equal(inbox.stats().unhandled, 0);
  },

  "reopened jobs keep their order": async ({ inbox }) => {
    await keepAll(inbox, mail(["a", "b", "c"].map((id) => Object.assign({ id }, UNHANDLED))));
    const page = await inbox.jobs.unhandled({ limit: 10 });
    await inbox.jobs.reopen(page.map(({ id }) => ({ id, jobs: [job] })));
    assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
  },

  "reopen leaves what is not unhandled": async (bench) => {
    const { inbox } = bench;
    const [id] = await killAll(bench, "a");
    await inbox.jobs.reopen([
      { id: id ?? "", jobs: [job] },
      { id: "999999", jobs: [job] },
    ]);
    assert.deepEqual(
      (await findAll(inbox)).map(({ state }) => state),
      ["dead"],
    );
  },
};
