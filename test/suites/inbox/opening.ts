import assert from "node:assert/strict";
import { mail, raw, told } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, claimOne, done, recordsOf, settleAll, storeAll } from "./verbs.ts";

const worker = { begin() {}, end() {}, wake() {}, lost() {} };

export const opening: InboxPromises = {
  "open: Called once before any other verb, and again after a failure; resolves when deliveries can be stored.": {
    "a delivery can be stored as soon as it resolves": async ({ inbox }) => {
      assert.deepEqual(inbox.ready(), { ready: true });
      await storeAll(inbox, mail(["a"]));
    },

    "a second open by the same host changes nothing that is stored": async ({ inbox, host }) => {
      await storeAll(inbox, mail(["a"]));
      await inbox.open(host);
      await inbox.work(worker);
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
    },
  },

  "open: While a close still runs it waits for its end, whoever opens it next.": {
    "the next receiver can store and work, also once the close before it has ended": async ({ inbox, host }) => {
      await storeAll(inbox, mail(["a"]));
      const closed = inbox.close();
      await inbox.open({ ...host });
      await closed;
      await inbox.work(worker);
      await storeAll(inbox, mail(["b"]));
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"], ["b"]]);
    },
  },

  "close: Everything stored stays.": {
    "jobs and unexpanded deliveries stay over a close and an open": async ({ inbox, host }) => {
      await storeAll(inbox, mail(["a"]));
      await storeAll(inbox, raw(mail(["b"])));
      await inbox.close();
      await inbox.open(host);
      await inbox.work(worker);
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
      assert.equal((await inbox.unexpanded(10)).length, 1);
    },

    "what is done does not come back": async ({ inbox, host }) => {
      await storeAll(inbox, mail(["a", "b"]));
      const [first] = await claimAll(inbox, { max: 1 });
      assert.ok(first !== undefined);
      await settleAll(inbox, first, done);
      await inbox.close();
      await inbox.open(host);
      await inbox.work(worker);
      assert.equal((await claimOne(inbox)).jobs[0].attempt, 1);
    },

    "tombstones stay, and the unique keys of the window": async ({ inbox, host }) => {
      const open = told({ key: "tracking:1:7", content: "open" });
      await storeAll(inbox, open);
      await inbox.tombstones.put({ subscription: 5, source: undefined, reason: "gone" });
      await inbox.close();
      await inbox.open(host);
      await inbox.work(worker);
      assert.deepEqual((await storeAll(inbox, open))[0]?.duplicates, [0]);
      assert.equal(inbox.tombstones.find(5, "crm")?.reason, "gone");
    },
  },

  "close: Unsettled claims end.": {
    "a late settle changes nothing, and the job is claimed again": async ({ inbox, host }) => {
      await storeAll(inbox, mail(["a"]));
      const claim = await claimOne(inbox);
      await inbox.close();
      await inbox.open(host);
      await inbox.work(worker);
      assert.deepEqual(await inbox.settle([{ claim, outcomes: [{ to: "done" }] }]), [false]);
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
    },
  },

  "ready: Whether the next `store` can succeed, with the cause if not.": {
    "an inbox with room is ready, at once and not by a promise": async ({ inbox }) => {
      assert.deepEqual(inbox.ready(), { ready: true });
    },
  },

  "work: Joins the workers; resolves when it may claim (`begin` was called) or, where only one process works, on standby.":
    {
      "the only one that asks works: begin is called once, before work resolves": async ({ heard }) => {
        assert.equal(heard.begun, 1);
      },
    },

  "capabilities: Guarantees that differ between inboxes.": {
    "it says how durable it is, how strict its order is, whether processes share it, and how many work": async ({
      inbox,
    }) => {
      const { durability, order, shared, workers } = inbox.capabilities;
      assert.ok(["none", "fsync", "quorum"].includes(durability), `durability is ${String(durability)}`);
      assert.ok(["strict", "valid-claims"].includes(order), `order is ${String(order)}`);
      assert.equal(typeof shared, "boolean");
      assert.ok(["one", "many"].includes(workers), `workers is ${String(workers)}`);
      assert.ok(shared || workers === "one", "many work on what one process has to itself");
    },

    "what is stored in memory alone is durable to none, and durable is what is not": async ({ inbox }) => {
      assert.equal(inbox.storage === "memory", inbox.capabilities.durability === "none");
    },
  },
};
