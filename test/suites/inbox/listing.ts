import assert from "node:assert/strict";
import { toStored } from "../../../src/inbox/port/delivery.ts";
import { mail, nobodys, one } from "./deliveries.ts";
import type { InboxBench, InboxPromises } from "./fixture.ts";
import { assertGrowing, claimAll, dead, findAll, killAll, recordsIn, retry, settleAll, storeAll } from "./verbs.ts";

const at = Date.parse("2026-05-06T00:00:00Z");

/** Jobs that differ in all that can be asked for: one dead, one running, one waiting for its retry, two fresh, one unhandled. */
async function various(bench: InboxBench): Promise<void> {
  const { inbox } = bench;
  const first = { accountId: 1, subscription: 10, receivedAt: at };
  await storeAll(inbox, mail(["dead", "running", "retried"], first));
  const [one_, , three] = await claimAll(inbox);
  assert.ok(one_ !== undefined && three !== undefined);
  await settleAll(inbox, one_, dead(bench));
  await settleAll(inbox, three, retry(bench, 5_000));
  const deleted = { id: "fresh", changeType: "deleted", consumer: "search" };
  await storeAll(
    inbox,
    mail([deleted], { accountId: 2, subscription: 20, receivedAt: at + 1 }),
    mail([{ id: "late" }, nobodys("nobody's")], { accountId: 2, subscription: 21, receivedAt: at + 2 }),
  );
}

export const listing: InboxPromises = {
  "find: At most `limit` jobs after `after`, in the order of ids; `next` is the `after` of the next page.": {
    "it gives jobs in the order of their ids, whatever their states": async (bench) => {
      await various(bench);
      const jobs = await findAll(bench.inbox);
      assertGrowing(
        jobs.map(({ id }) => id),
        "ids of jobs",
      );
      assert.deepEqual(await recordsIn(bench.inbox), ["dead", "running", "retried", "fresh", "late", "nobody's"]);
      assert.deepEqual(
        jobs.map(({ state }) => state),
        ["dead", "running", "waiting", "waiting", "waiting", "unhandled"],
      );
    },

    "it goes page by page: next is where to go on, and absent on the last page": async (bench) => {
      await various(bench);
      const states = ["dead", "waiting", "unhandled"] as const;
      const whole = await findAll(bench.inbox, { states });
      const pages: string[][] = [];
      let after: string | undefined;
      do {
        const { jobs, next } = await bench.inbox.jobs.find({ limit: 3, after, states });
        pages.push(jobs.map(({ id }) => id));
        after = next;
      } while (after !== undefined && pages.length < 9);
      const ids = whole.map(({ id }) => id);
      assert.deepEqual(pages, [ids.slice(0, 3), ids.slice(3)]);
      const exact = await bench.inbox.jobs.find({ limit: 6 });
      assert.deepEqual([exact.jobs.length, exact.next], [6, undefined]);
    },
  },

  "JobQuery: Selects jobs that meet all given conditions.": {
    states: async (bench) => {
      await various(bench);
      assert.deepEqual(await recordsIn(bench.inbox, { states: ["dead", "running"] }), ["dead", "running"]);
      assert.deepEqual(await recordsIn(bench.inbox, { states: ["unhandled"] }), ["nobody's"]);
      assert.deepEqual(await findAll(bench.inbox, { states: [] }), []);
    },

    "types of events": async (bench) => {
      await various(bench);
      assert.deepEqual(await recordsIn(bench.inbox, { types: ["email.deleted", "booking"] }), ["fresh"]);
    },

    "account, subscription and consumer": async (bench) => {
      await various(bench);
      assert.deepEqual(await recordsIn(bench.inbox, { accountId: 2 }), ["fresh", "late", "nobody's"]);
      assert.deepEqual(await recordsIn(bench.inbox, { subscription: 21 }), ["late", "nobody's"]);
      assert.deepEqual(await recordsIn(bench.inbox, { consumer: "search" }), ["fresh"]);
      assert.deepEqual(await findAll(bench.inbox, { accountId: 1, subscription: 20 }), []);
    },
  },

  "receivedAfter: Milliseconds since the epoch, exclusive.": {
    "when the delivery was received: after it and before it, not at it": async (bench) => {
      await various(bench);
      assert.deepEqual(await recordsIn(bench.inbox, { receivedAfter: at }), ["fresh", "late", "nobody's"]);
      assert.deepEqual(await recordsIn(bench.inbox, { receivedBefore: at + 1 }), ["dead", "running", "retried"]);
      assert.deepEqual(await recordsIn(bench.inbox, { receivedAfter: at, receivedBefore: at + 2 }), ["fresh"]);
    },
  },

  "StoredJob: A job as an inbox returns it.": {
    "it says how the job stands": async (bench) => {
      const { inbox, clock } = bench;
      const [stored] = await storeAll(inbox, mail([one("a")], { receivedAt: at }));
      const [fresh] = await findAll(inbox);
      assert.ok(fresh !== undefined);
      const { id, event, type = event?.type, ...rest } = fresh;
      assert.ok(event === undefined || event.type === "email.updated");
      assert.equal(type, "email.updated");
      assert.deepEqual(rest, {
        deliveryId: stored?.id,
        entry: 0,
        state: "waiting",
        consumer: "default",
        lane: "one",
        attempts: 0,
        error: undefined,
        receivedAt: at,
        runAt: undefined,
        settledAt: undefined,
        replayOf: undefined,
      });
      const [claim] = await claimAll(inbox);
      assert.ok(claim !== undefined);
      assert.equal((await findAll(inbox))[0]?.state, "running");
      await settleAll(inbox, claim, retry(bench, 5_000));
      const [retried] = await findAll(inbox);
      assert.deepEqual(
        [retried?.id, retried?.state, retried?.attempts, retried?.runAt],
        [id, "waiting", 1, clock.now() + 5_000],
      );
    },
  },

  "get: A job with the stored bytes of its delivery.": {
    "it gives the job as find does, and its delivery as it was stored": async ({ inbox }) => {
      const given = mail(["a", "b"], { source: "crm", receivedAt: at });
      const [stored] = await storeAll(inbox, given);
      const [, second] = await findAll(inbox);
      const got = await inbox.jobs.get(second?.id ?? "");
      assert.deepEqual(got?.job, second);
      assert.deepEqual(got?.delivery, toStored(stored?.id ?? "", given.delivery));
    },

    "a job that is not there is undefined": async ({ inbox }) => {
      for (const id of ["1", "999999", "", "no-id"]) assert.equal(await inbox.jobs.get(id), undefined);
    },

    "a text is no job's id because it is the same number": async (bench) => {
      const { inbox } = bench;
      const [id = ""] = await killAll(bench, "a");
      const texts = [`0${id}`, ` ${id}`, `${id}.0`, `0x${id}`, `+${id}`];
      for (const text of texts) assert.equal(await inbox.jobs.get(text), undefined);
      assert.equal(await inbox.jobs.drop({ ids: texts }), 0);
    },

    "the bytes stay as long as one job of the delivery does": async (bench) => {
      const { inbox } = bench;
      const [first, left] = await killAll(bench, "a", "b");
      await inbox.jobs.drop({ ids: [first ?? ""] });
      const found = await inbox.jobs.get(left ?? "");
      assert.ok(found?.delivery !== undefined && found.delivery.bodyBase64.length > 0);
    },
  },
};
