import assert from "node:assert/strict";
import { ERASED_REASON, NOTHING_ERASED } from "../../../src/inbox/port/jobs.ts";
import { mail, nobodys, notice, ofBody, one, raw } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import {
  claimAll,
  claimOne,
  dead,
  done,
  drain,
  findAll,
  killAll,
  recordsOf,
  retry,
  settleAll,
  storeAll,
} from "./verbs.ts";

export const removing: InboxPromises = {
  "drop: Deletes waiting, dead and unhandled jobs; running ones stay.": {
    "whatever the selection says": async (bench) => {
      const { inbox } = bench;
      await killAll(bench, "dead");
      await storeAll(inbox, mail(["running"]));
      const claim = await claimOne(inbox);
      await storeAll(inbox, mail(["waiting", nobodys("nobody's")]));
      const states = ["waiting", "dead", "unhandled", "running"] as const;
      assert.equal(await inbox.jobs.drop({ states }), 3);
      const jobs = await findAll(inbox);
      assert.deepEqual(
        jobs.map(({ state }) => state),
        ["running"],
      );
      assert.deepEqual(await claimAll(inbox), []);
      await settleAll(inbox, claim, done);
    },

    "a head that waits for its retry frees its lane, and the worker is woken": async (bench) => {
      const { inbox } = bench;
      await storeAll(inbox, mail([one("a"), one("b")]));
      const claim = await claimOne(inbox);
      await settleAll(inbox, claim, retry(bench, 60_000));
      bench.heard.woken = 0;
      assert.equal(await inbox.jobs.drop({ ids: [claim.jobs[0].id] }), 1);
      assert.ok(bench.heard.woken > 0, "nobody was woken");
      assert.deepEqual(recordsOf(await claimAll(inbox)), [["b"]]);
    },

    "what is dropped behind a running head does not come": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a"), one("b"), one("c")]));
      const claim = await claimOne(inbox);
      const [, b] = await findAll(inbox);
      assert.equal(await inbox.jobs.drop({ ids: [b?.id ?? ""] }), 1);
      await settleAll(inbox, claim, done);
      assert.deepEqual(await drain(inbox), ["c"]);
    },

    "each job is counted once, and what is not there not at all": async ({ inbox }) => {
      await storeAll(inbox, mail(["a"]));
      const [job] = await findAll(inbox);
      assert.equal(await inbox.jobs.drop({ ids: [job?.id ?? "", job?.id ?? "", "999999"] }), 1);
      assert.equal(inbox.stats().waiting, 0);
    },
  },

  "erase: Deletes every job and delivery of the account in any state, unexpanded deliveries too; running claims are lost.":
    {
      "it takes all of the account, and none of another's": async (bench) => {
        const { inbox } = bench;
        await killAll(bench, "dead of the other");
        await storeAll(inbox, mail(["dead"], { accountId: 7 }));
        await settleAll(inbox, await claimOne(inbox), dead(bench));
        await storeAll(inbox, mail(["running"], { accountId: 7 }));
        await claimOne(inbox);
        await storeAll(inbox, mail(["waiting", nobodys("nobody's")], { accountId: 7 }));
        await storeAll(inbox, mail(["other"]));
        await storeAll(inbox, raw(mail(["unexpanded"], { accountId: 7 })), raw(mail(["other, unexpanded"])));
        assert.equal((await inbox.jobs.erase(7)).count, 5);
        assert.deepEqual(await findAll(inbox, { accountId: 7 }), []);
        assert.deepEqual(
          [(await inbox.unexpanded(10)).length, (await findAll(inbox)).length, inbox.stats().running],
          [1, 2, 0],
        );
      },

      "it says what is gone, and a second time nothing is": async (bench) => {
        const { inbox } = bench;
        const theirs = { accountId: 7, subscription: 1 };
        await storeAll(inbox, mail(["a", "b"], theirs), notice("revoked", theirs));
        for (const claim of await claimAll(inbox)) await settleAll(inbox, claim, dead(bench));
        await storeAll(inbox, mail(["other"]), raw(mail(["c"], theirs)));
        const resource = { ...theirs, source: undefined, resource: "/email/messages", family: "email" } as const;
        await inbox.gaps?.add([{ ...resource, cause: "errored", from: 1, until: 2 }]);
        await inbox.tombstones.put({ subscription: 1, source: "shop", reason: "Ann has left" });
        await inbox.tombstones.put({ subscription: 2, source: undefined, reason: "Bob has left" });
        const { tombstones, ...rows } = await inbox.jobs.erase(7);
        assert.deepEqual(rows, { count: 4, deliveries: 3, pauses: 0, notices: 1, resources: 1, tokens: 0 });
        assert.equal(tombstones, 1);
        const reasons = (await inbox.tombstones.list()).map(({ reason }) => reason);
        assert.deepEqual(reasons.toSorted(), ["Bob has left", ERASED_REASON]);
        assert.deepEqual(await inbox.jobs.erase(7), NOTHING_ERASED);
      },

      "a running claim's settle is lost, and another's counts": async ({ inbox }) => {
        await storeAll(inbox, mail([one("a", "x"), one("b", "x")], { accountId: 7 }), mail(["other"]));
        const claims = await claimAll(inbox, { mergeMax: 10 });
        assert.equal((await inbox.jobs.erase(7)).count, 2);
        const settlements = claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => done) }));
        assert.deepEqual(await inbox.settle(settlements), [false, true]);
        assert.deepEqual(await findAll(inbox, { states: ["waiting", "running", "dead", "unhandled"] }), []);
      },

      "half a delivery that is being expanded is expanded no further": async ({ inbox }) => {
        const long = mail(["a", "b"], { accountId: 7 });
        const [stored] = await storeAll(inbox, raw(long));
        await inbox.expand([{ id: stored?.id ?? "", events: long.events.slice(0, 1), cursor: 1 }]);
        assert.equal((await inbox.jobs.erase(7)).count, 2);
        await inbox.expand([{ id: stored?.id ?? "", events: long.events.slice(1), cursor: undefined }]);
        assert.deepEqual([await inbox.unexpanded(10), await findAll(inbox)], [[], []]);
        const [next] = await storeAll(inbox, mail(["c"]));
        assert.equal(next?.expanded, true);
      },

      "a delivery that only names the account is the account's, expanded or not": async ({ inbox }) => {
        const bodies = [
          '{"accountId":7}',
          '\uFEFF{"accountId":"7"}',
          '\uFEFF{"subscription":1,"accountId":7,"resource":"/contacts"}',
        ];
        await storeAll(inbox, ...bodies.map(ofBody), ofBody('{"accountId":70}'));
        await storeAll(inbox, ...bodies.map(ofBody).map(raw), raw(ofBody('{"accountId":"0x7"}')));
        assert.equal((await inbox.jobs.erase(7)).count, 6);
        assert.equal((await findAll(inbox)).length, 1);
        assert.equal((await inbox.unexpanded(10)).length, 1);
      },

      "a delivery that is no valid UTF-8, or too deep to be read, is the account's too": async ({ inbox }) => {
        const bodies = [
          Buffer.from('{"accountId":7,"subject":"caf\u00e9"}', "latin1"),
          `{"accountId":7,"deep":${"[".repeat(10_000)}${"]".repeat(10_000)}}`,
        ];
        await storeAll(inbox, ...bodies.map(ofBody), ofBody('{"accountId":7'));
        await storeAll(inbox, ...bodies.map(ofBody).map(raw));
        assert.equal((await inbox.jobs.erase(7)).count, 4);
        assert.equal((await findAll(inbox)).length, 1);
      },

      "an empty text is no account": async ({ inbox }) => {
        await storeAll(inbox, ofBody('{"accountId":""}'), raw(ofBody('{"accountId":" "}')));
        assert.equal((await inbox.jobs.erase(0)).count, 0);
      },

      "an account that is not there takes nothing": async ({ inbox }) => {
        await storeAll(inbox, mail(["a"]));
        assert.equal((await inbox.jobs.erase(999)).count, 0);
        assert.equal(inbox.stats().waiting, 1);
      },
    },

  "erase: The lane of a lost claim stays closed until the claim is settled, because a handler may ignore its signal.": {
    "what comes later waits for that settle, and other lanes do not": async ({ inbox }) => {
      await storeAll(inbox, mail([one("a")], { accountId: 7 }));
      const claim = await claimOne(inbox);
      await storeAll(inbox, mail(["other"]));
      await inbox.jobs.erase(7);
      await storeAll(inbox, mail([one("b")], { accountId: 7 }));
      assert.deepEqual(await drain(inbox), ["other"]);
      assert.deepEqual(await inbox.settle([{ claim, outcomes: [done] }]), [false]);
      assert.deepEqual(await drain(inbox), ["b"]);
    },
  },

  "lost: These claims ended without being settled: abort their handlers; their outcome is ignored.": {
    "erase tells the worker which of its claims are lost": async ({ inbox, heard: { lost } }) => {
      await storeAll(inbox, mail(["a"], { accountId: 7 }), mail(["other"]));
      const [claim] = await claimAll(inbox);
      await inbox.jobs.erase(7);
      assert.deepEqual([lost.length, lost[0] === claim], [1, true]);
    },

    "a claim that is settled is not told": async ({ inbox, heard: { lost } }) => {
      await storeAll(inbox, mail(["a"], { accountId: 7 }));
      await settleAll(inbox, await claimOne(inbox), done);
      await inbox.jobs.erase(7);
      assert.deepEqual(lost, []);
    },
  },
};
