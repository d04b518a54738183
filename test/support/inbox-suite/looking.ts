import assert from "node:assert/strict";
import type { StoredJob } from "../../../src/inbox/port.ts";
import {
  claimAll,
  claimOne,
  dead,
  findAll,
  keepAll,
  killAll,
  mail,
  retry,
  settleAll,
  UNHANDLED,
  unhandled,
  type InboxBench,
  type InboxCases,
} from "./bench.ts";

const at = Date.parse("2026-05-06T00:00:00Z");

/** Jobs that differ in all that can be asked for: one dead, one running, one waiting for its retry, two fresh, one unhandled. */
async function various(bench: InboxBench): Promise<void> {
  const { inbox } = bench;
  await keepAll(
    inbox,
    mail(["dead", "running", "retried"], { accountId: 1, subscription: 10, receivedAt: at }),
    mail([{ id: "fresh", changeType: "deleted", consumer: "search" }], {
      accountId: 2,
      subscription: 20,
      receivedAt: at + 1,
    }),
    mail([{ id: "late" }, { id: "nobody's", ...UNHANDLED }], { accountId: 2, subscription: 21, receivedAt: at + 2 }),
  );
  const [first, , third] = await claimAll(inbox, { max: 3 });
  assert.ok(first !== undefined && third !== undefined);
  await settleAll(inbox, first, dead(bench));
  await settleAll(inbox, third, retry(bench, 5_000));
}

function records(jobs: readonly StoredJob[]): unknown[] {
  return jobs.map(({ event }) => (event as { readonly id?: unknown } | undefined)?.id);
}

export const looking: InboxCases = {
  "find gives jobs in the order of their ids": async (bench) => {
    await various(bench);
    const jobs = await findAll(bench.inbox);
    assert.deepEqual(records(jobs), ["dead", "running", "retried", "fresh", "late", "nobody's"]);
    assert.deepEqual(
      jobs.map(({ state }) => state),
      ["dead", "running", "waiting", "waiting", "waiting", "unhandled"],
    );
  },

  "find filters by states": async (bench) => {
    await various(bench);
    assert.deepEqual(records(await findAll(bench.inbox, { states: ["dead", "running"] })), ["dead", "running"]);
    assert.deepEqual(records(await findAll(bench.inbox, { states: ["unhandled"] })), ["nobody's"]);
    assert.deepEqual(await findAll(bench.inbox, { states: [] }), []);
  },

  "find filters by types of events": async (bench) => {
    await various(bench);
    assert.deepEqual(records(await findAll(bench.inbox, { types: ["email.deleted", "booking"] })), ["fresh"]);
  },

  "find filters by account, subscription and consumer": async (bench) => {
    await various(bench);
    assert.deepEqual(records(await findAll(bench.inbox, { accountId: 2 })), ["fresh", "late", "nobody's"]);
    assert.deepEqual(records(await findAll(bench.inbox, { subscription: 21 })), ["late", "nobody's"]);
    assert.deepEqual(records(await findAll(bench.inbox, { consumer: "search" })), ["fresh"]);
    assert.deepEqual(await findAll(bench.inbox, { accountId: 1, subscription: 20 }), []);
  },

  "find filters by when the delivery was received: after it and before it, not at it": async (bench) => {
    await various(bench);
    assert.deepEqual(records(await findAll(bench.inbox, { receivedAfter: at })), ["fresh", "late", "nobody's"]);
    assert.deepEqual(records(await findAll(bench.inbox, { receivedBefore: at + 1 })), ["dead", "running", "retried"]);
    assert.deepEqual(records(await findAll(bench.inbox, { receivedAfter: at, receivedBefore: at + 2 })), ["fresh"]);
  },

  "find goes page by page: next is where to go on, and absent on the last page": async (bench) => {
    await various(bench);
    const pages: unknown[][] = [];
    let after: string | undefined;
    do {
      const { jobs, next } = await bench.inbox.jobs.find({ limit: 2, after, states: ["dead", "waiting", "unhandled"] });
      pages.push(records(jobs));
      after = next;
    } while (after !== undefined);
    assert.deepEqual(pages, [["dead", "retried"], ["fresh", "late"], ["nobody's"]]);
    const whole = await bench.inbox.jobs.find({ limit: 6 });
    assert.deepEqual([whole.jobs.length, "next" in whole], [6, false]);
  },

  "a stored job says how it stands": async (bench) => {
    const { inbox, clock } = bench;
    const [kept] = await keepAll(inbox, mail([{ id: "a", lane: "one" }], { receivedAt: at }));
    const [fresh] = await findAll(inbox);
    assert.ok(fresh !== undefined);
    assert.deepEqual(
      { ...fresh, id: "", event: fresh.event?.type },
      {
        id: "",
        deliveryId: kept?.id,
        entry: 0,
        state: "waiting",
        event: "email.updated",
        consumer: "default",
        lane: "one",
        attempts: 0,
        error: undefined,
        receivedAt: at,
        runAt: undefined,
        settledAt: undefined,
        replayOf: undefined,
      },
    );
    await settleAll(inbox, await claimOne(inbox), retry(bench, 5_000));
    const [retried] = await findAll(inbox);
    assert.deepEqual([retried?.id, retried?.attempts, retried?.runAt], [fresh.id, 1, clock.now() + 5_000]);
  },

  "get gives a job with the bytes of its delivery": async ({ inbox }) => {
    const given = mail(["a", "b"], { source: "crm", receivedAt: at });
    const [kept] = await keepAll(inbox, given);
    const [, second] = await findAll(inbox);
    const got = await inbox.jobs.get(second?.id ?? "");
    assert.deepEqual(got?.job, second);
    assert.deepEqual(got?.delivery, {
      id: kept?.id,
      receivedAt: new Date(at).toISOString(),
      sentAt: new Date(given.delivery.sentAt).toISOString(),
      source: "crm",
      signedBy: "default",
      headers: given.delivery.headers,
      bodyBase64: Buffer.from(given.delivery.body).toString("base64"),
    });
  },

  "get of a job that is not there is undefined": async ({ inbox }) => {
    for (const id of ["1", "999999", "", "no-id"]) assert.equal(await inbox.jobs.get(id), undefined);
  },

  "the bytes stay as long as one job of the delivery does": async (bench) => {
    const { inbox } = bench;
    const [first] = await killAll(bench, "a", "b");
    await inbox.jobs.drop({ ids: [first ?? ""] });
    const [left] = await findAll(inbox);
    assert.notEqual((await inbox.jobs.get(left?.id ?? ""))?.delivery.bodyBase64, "");
  },

  "unhandled gives those that wait for a handler, page by page, with what a handler needs": async (bench) => {
    const { inbox } = bench;
    await keepAll(inbox, mail(["handled", { id: "a", ...UNHANDLED }, { id: "b", ...UNHANDLED }], { source: "crm" }));
    await settleAll(inbox, await claimOne(inbox), unhandled);
    const page = await inbox.jobs.unhandled({ limit: 2 });
    assert.deepEqual(
      page.map(({ entry, consumer, delivery }) => [entry, consumer, delivery.source]),
      [
        [0, "default", "crm"],
        [1, undefined, "crm"],
      ],
    );
    const rest = await inbox.jobs.unhandled({ limit: 2, after: page.at(-1)?.id });
    assert.deepEqual(
      rest.map(({ entry }) => entry),
      [2],
    );
    assert.deepEqual(await inbox.jobs.unhandled({ limit: 2, after: rest.at(-1)?.id }), []);
  },
};
