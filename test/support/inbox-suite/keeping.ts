import assert from "node:assert/strict";
import { claimAll, drain, keepAll, mail, raw, recordsOf, SKIPPED, UNHANDLED, type InboxCases } from "./bench.ts";

export const keeping: InboxCases = {
  "keep resolves with ids that grow in the order of the array": async ({ inbox }) => {
    const kept = await keepAll(inbox, mail(["a"]), raw(mail(["b"])), mail(["c"]));
    const more = await keepAll(inbox, mail(["d"]));
    const ids = [...kept, ...more].map(({ id }) => Number(id));
    assert.deepEqual(
      ids,
      ids.toSorted((a, b) => a - b),
    );
    assert.equal(new Set(ids).size, 4);
  },

  "keep of nothing resolves with nothing": async ({ inbox }) => {
    assert.deepEqual(await inbox.keep([]), []);
  },

  "a delivery that is kept with its events is expanded, its entries in array order": async ({ inbox }) => {
    const [kept] = await keepAll(
      inbox,
      mail([
        { id: "a", lane: "one" },
        { id: "b", lane: "one" },
        { id: "c", lane: "one" },
      ]),
    );
    assert.equal(kept?.expanded, true);
    assert.deepEqual(await inbox.unexpanded(10), []);
    assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
  },

  "deliveries have the order of commit": async ({ inbox }) => {
    await keepAll(inbox, mail([{ id: "a", lane: "one" }]), mail([{ id: "b", lane: "one" }]));
    await keepAll(inbox, mail([{ id: "c", lane: "one" }]));
    assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
  },

  "an event has a job for each of its consumers": async ({ inbox }) => {
    const jobs = [
      { consumer: "default", lane: "default a" },
      { consumer: "search", lane: "search a" },
    ];
    await keepAll(inbox, mail([{ id: "a", jobs }]));
    const claims = await claimAll(inbox);
    assert.deepEqual(
      claims.map((claim) => claim.jobs[0].consumer),
      ["default", "search"],
    );
    assert.equal(new Set(claims.map((claim) => claim.jobs[0].deliveryId)).size, 1);
  },

  "a job of nobody is not claimed: skipped or unhandled": async ({ inbox }) => {
    await keepAll(
      inbox,
      mail([
        { id: "a", ...UNHANDLED },
        { id: "b", ...SKIPPED },
      ]),
    );
    assert.deepEqual(await claimAll(inbox), []);
    assert.equal(inbox.stats().unhandled, 1);
    assert.equal(inbox.stats().waiting, 0);
  },

  "a delivery that is kept without its events waits unexpanded": async ({ inbox }) => {
    const delivery = mail(["a"]);
    const [kept] = await keepAll(inbox, raw(delivery));
    assert.deepEqual({ ...kept, id: "" }, { id: "", expanded: false, duplicates: [], conflicts: [] });
    assert.deepEqual(await claimAll(inbox), []);
    const [waiting, ...others] = await inbox.unexpanded(10);
    assert.deepEqual(others, []);
    assert.equal(waiting?.id, kept?.id);
    assert.equal(waiting?.cursor, 0);
    assert.equal(Buffer.from(waiting?.delivery.body ?? []).equals(Buffer.from(delivery.delivery.body)), true);
    assert.deepEqual({ ...waiting?.delivery, body: 0 }, { ...delivery.delivery, body: 0 });
    assert.equal(inbox.stats().unexpanded, 1);
  },

  "a delivery that is kept behind an unexpanded one stays unexpanded, its events given or not": async ({ inbox }) => {
    await keepAll(inbox, raw(mail(["a"])));
    const [kept] = await keepAll(inbox, mail(["b"]));
    assert.equal(kept?.expanded, false);
    assert.deepEqual(await claimAll(inbox), []);
    assert.equal((await inbox.unexpanded(10)).length, 2);
  },

  "that holds within one call too": async ({ inbox }) => {
    const kept = await keepAll(inbox, mail(["a"]), raw(mail(["b"])), mail(["c"]));
    assert.deepEqual(
      kept.map(({ expanded }) => expanded),
      [true, false, false],
    );
    assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
  },

  "unexpanded gives the oldest, at most as many as are asked for": async ({ inbox }) => {
    const kept = await keepAll(inbox, ...["a", "b", "c"].map((id) => raw(mail([id]))));
    assert.deepEqual(
      (await inbox.unexpanded(2)).map(({ id }) => id),
      kept.slice(0, 2).map(({ id }) => id),
    );
  },

  "expand makes the jobs of those kept before, in order": async ({ inbox }) => {
    const [one, other] = [
      mail([
        { id: "a", lane: "one" },
        { id: "b", lane: "one" },
      ]),
      mail([{ id: "c", lane: "one" }]),
    ];
    const kept = await keepAll(inbox, raw(one), raw(other));
    const seen = await inbox.expand([
      { id: kept[0]?.id ?? "", events: one.events, cursor: undefined },
      { id: kept[1]?.id ?? "", events: other.events, cursor: undefined },
    ]);
    assert.deepEqual(seen, [
      { duplicates: [], conflicts: [] },
      { duplicates: [], conflicts: [] },
    ]);
    assert.deepEqual(await inbox.unexpanded(10), []);
    assert.equal(inbox.stats().unexpanded, 0);
    assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
  },

  "once all are expanded, keep expands at once again": async ({ inbox }) => {
    const first = mail(["a"]);
    const [kept] = await keepAll(inbox, raw(first));
    await inbox.expand([{ id: kept?.id ?? "", events: first.events, cursor: undefined }]);
    const [next] = await keepAll(inbox, mail(["b"]));
    assert.equal(next?.expanded, true);
  },

  "a long delivery is expanded in parts; until the last one nothing newer is": async ({ inbox }) => {
    const long = mail([
      { id: "a", lane: "one" },
      { id: "b", lane: "one" },
      { id: "c", lane: "one" },
    ]);
    const [kept] = await keepAll(inbox, raw(long));
    const id = kept?.id ?? "";
    await inbox.expand([{ id, events: long.events.slice(0, 2), cursor: 2 }]);
    const [next] = await keepAll(inbox, mail([{ id: "d", lane: "one" }]));
    assert.equal(next?.expanded, false);
    const waiting = await inbox.unexpanded(10);
    assert.deepEqual(
      waiting.map(({ id: one, cursor }) => [one, cursor]),
      [
        [id, 2],
        [next?.id, 0],
      ],
    );
    assert.deepEqual(await drain(inbox), ["a", "b"]);
    await inbox.expand([{ id, events: long.events.slice(2), cursor: undefined }]);
    assert.deepEqual(
      (await inbox.unexpanded(10)).map(({ id: one }) => one),
      [next?.id],
    );
    assert.deepEqual(await drain(inbox), ["c"]);
  },

  "expand of what is expanded already, or not there, makes nothing": async ({ inbox }) => {
    const delivery = mail(["a"]);
    const [kept] = await keepAll(inbox, raw(delivery));
    const expansion = { id: kept?.id ?? "", events: delivery.events, cursor: undefined };
    await inbox.expand([expansion]);
    assert.deepEqual(await inbox.expand([expansion]), [{ duplicates: [], conflicts: [] }]);
    await inbox.expand([{ ...expansion, id: "999999" }]);
    assert.deepEqual(await drain(inbox), ["a"]);
  },

  "everything kept stays over a close and an open": async ({ inbox, host }) => {
    await keepAll(inbox, mail(["a"]));
    await keepAll(inbox, raw(mail(["b"])));
    await inbox.close();
    await inbox.open(host);
    await inbox.work({ begin() {}, wake() {}, lost() {} });
    assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"]]);
    assert.equal((await inbox.unexpanded(10)).length, 1);
  },

  "is ready while the next delivery can be kept": async ({ inbox }) => {
    assert.deepEqual(inbox.ready(), { ready: true });
  },

  "says what it promises": async ({ inbox, heard: { begun } }) => {
    const { durability, order, shared } = inbox.capabilities;
    assert.ok(["none", "fsync", "quorum"].includes(durability));
    assert.ok(["strict", "valid-claims"].includes(order));
    assert.equal(typeof shared, "boolean");
    assert.equal(begun, 1);
  },
};
