import assert from "node:assert/strict";
import {
  claimAll,
  claimOne,
  done,
  drain,
  keepAll,
  mail,
  recordsOf,
  retry,
  settleAll,
  type InboxCases,
} from "./bench.ts";

const one = (id: string, mergeKey?: string) => ({ id, lane: "one", ...(mergeKey === undefined ? {} : { mergeKey }) });

export const claiming: InboxCases = {
  "claims the heads of free lanes, one each": async ({ inbox }) => {
    await keepAll(
      inbox,
      mail([
        one("a"),
        one("b"),
        { id: "c", lane: "other" },
        { id: "d", lane: undefined },
        { id: "e", lane: undefined },
      ]),
    );
    assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"], ["c"], ["d"], ["e"]]);
    assert.deepEqual(await claimAll(inbox), []);
  },

  "claims at most max": async ({ inbox }) => {
    await keepAll(inbox, mail(["a", "b", "c"]));
    assert.deepEqual(recordsOf(await claimAll(inbox, { max: 2 })), [["a"], ["b"]]);
    assert.deepEqual(recordsOf(await claimAll(inbox, { max: 2 })), [["c"]]);
  },

  "the run behind a head with the same merge key comes along, at most mergeMax": async ({ inbox }) => {
    await keepAll(inbox, mail([one("a", "x"), one("b", "x"), one("c", "x"), one("d", "y"), one("e", "x")]));
    const first = await claimOne(inbox, 2);
    assert.deepEqual(recordsOf([first]), [["a", "b"]]);
    await settleAll(inbox, first, done, done);
    const second = await claimOne(inbox, 10);
    assert.deepEqual(recordsOf([second]), [["c"]]);
    await settleAll(inbox, second, done);
    assert.deepEqual(await drain(inbox), ["d", "e"]);
  },

  "jobs without a merge key never merge": async ({ inbox }) => {
    await keepAll(inbox, mail([one("a"), one("b")]));
    assert.deepEqual(recordsOf([await claimOne(inbox, 10)]), [["a"]]);
  },

  "a claimed job says all that its run needs": async ({ inbox, clock }) => {
    const delivery = mail([one("a", "x")], { source: "crm" });
    const [kept] = await keepAll(inbox, delivery);
    const { jobs } = await claimOne(inbox);
    const { id, event, delivery: given, ...job } = jobs[0];
    assert.deepEqual(job, {
      deliveryId: kept?.id,
      entry: 0,
      consumer: "default",
      lane: "one",
      mergeKey: "x",
      attempt: 1,
      firstAttemptAt: clock.now(),
      deaths: 0,
      replayOf: undefined,
    });
    assert.equal(typeof id, "string");
    assert.ok(event === undefined || event.type === "email.updated");
    assert.deepEqual(
      { ...given, body: Buffer.from(given.body).toString() },
      {
        ...delivery.delivery,
        body: Buffer.from(delivery.delivery.body).toString(),
      },
    );
  },

  "ids of jobs grow in the order in which they were made": async ({ inbox }) => {
    await keepAll(inbox, mail(["a", "b"]), mail(["c"]));
    const ids = (await claimAll(inbox)).map(({ jobs }) => Number(jobs[0].id));
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
  },

  "says when the next waiting job is due, if one waits for its time": async (bench) => {
    const { inbox, clock } = bench;
    await keepAll(inbox, mail(["a", "b"]));
    const { claims, nextDueAt } = await inbox.claim({ max: 10, mergeMax: 1 });
    assert.equal(nextDueAt, undefined);
    for (const [index, claim] of claims.entries()) await settleAll(inbox, claim, retry(bench, 5_000 * (index + 1)));
    assert.equal((await inbox.claim({ max: 10, mergeMax: 1 })).nextDueAt, clock.now() + 5_000);
    await clock.advance(5_000);
    assert.equal((await inbox.claim({ max: 10, mergeMax: 1 })).nextDueAt, clock.now() + 5_000);
  },
};
