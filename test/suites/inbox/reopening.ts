import assert from "node:assert/strict";
import type { NewJob } from "../../../src/inbox/port/delivery.ts";
import { mail, nobodys, one } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { claimAll, claimOne, drain, findAll, killAll, recordsOf, settleAll, storeAll, unhandled } from "./verbs.ts";

const job: NewJob = { state: "waiting", consumer: "default", lane: "one", mergeKey: undefined };
/** `mail` makes updates of e-mails. */
const all = { handled: [{ type: "email.updated", consumer: "default" }], limit: 10 };

export const reopening: InboxPromises = {
  "unhandled: Unhandled jobs after `after` whose type is handled now, in the order of ids: by any consumer where the job has none, else by its own. At most `limit`, fewer where their deliveries are long; an empty page is the end.":
    {
      "page by page, with what a handler needs": async ({ inbox }) => {
        await storeAll(inbox, mail(["handled", nobodys("a"), nobodys("b")], { source: "crm" }));
        await settleAll(inbox, await claimOne(inbox), unhandled);
        const page = await inbox.jobs.unhandled({ ...all, limit: 2 });
        assert.deepEqual(
          page.map(({ entry, consumer, delivery }) => [entry, consumer, delivery.source]),
          [
            [0, "default", "crm"],
            [1, undefined, "crm"],
          ],
        );
        const rest = await inbox.jobs.unhandled({ ...all, limit: 2, after: page.at(-1)?.id });
        assert.deepEqual(
          rest.map(({ entry }) => entry),
          [2],
        );
        assert.deepEqual(await inbox.jobs.unhandled({ ...all, limit: 2, after: rest.at(-1)?.id }), []);
      },

      "those of a type without a handler are passed over, however many they are": async ({ inbox }) => {
        const created = ["a", "b", "c"].map((id) => Object.assign(nobodys(id), { changeType: "created" }));
        await storeAll(inbox, mail([...created, nobodys("d")]), mail([...created, nobodys("e")]));
        const entries = async (...types: readonly string[]): Promise<number[]> => {
          const handled = types.map((type) => ({ type, consumer: "default" }));
          return (await inbox.jobs.unhandled({ handled, limit: 2 })).map(({ entry }) => entry);
        };
        assert.deepEqual(await entries("email.updated"), [3, 3]);
        assert.deepEqual(await entries("email.created", "email.deleted"), [0, 1]);
        assert.deepEqual(await entries("email.deleted", "contact.updated"), []);
        assert.deepEqual(await entries(), []);
      },

      "one that lost its handler is for its own consumer alone": async ({ inbox }) => {
        await storeAll(inbox, mail([{ id: "a", consumer: "search" }]));
        await settleAll(inbox, await claimOne(inbox), unhandled);
        const search = [{ type: "email.updated", consumer: "search" }];
        const created = [{ type: "email.created", consumer: "search" }];
        assert.deepEqual(await inbox.jobs.unhandled(all), []);
        assert.deepEqual(await inbox.jobs.unhandled({ ...all, handled: [...all.handled, ...created] }), []);
        const page = await inbox.jobs.unhandled({ ...all, handled: [...all.handled, ...search] });
        assert.deepEqual(
          page.map(({ consumer }) => consumer),
          ["search"],
        );
      },
    },

  "reopen: Replaces unhandled jobs by jobs of their current consumers, at the tails of their lanes: all in one atomic commit.":
    {
      "each of them comes, and the unhandled one is gone": async ({ inbox }) => {
        await storeAll(inbox, mail([nobodys("a")]));
        const [waiting] = await inbox.jobs.unhandled(all);
        const jobs = [job, { ...job, consumer: "search", lane: "search one" }];
        await inbox.jobs.reopen([{ id: waiting?.id ?? "", jobs }]);
        const claims = await claimAll(inbox);
        assert.deepEqual(recordsOf(claims), [["a"], ["a"]]);
        assert.deepEqual(
          claims.map(({ jobs: [{ consumer, replayOf, attempt }] }) => [consumer, replayOf, attempt]),
          [
            ["default", undefined, 1],
            ["search", undefined, 1],
          ],
        );
        assert.deepEqual([await inbox.jobs.unhandled(all), inbox.stats().unhandled], [[], 0]);
      },

      "they keep their order": async ({ inbox }) => {
        await storeAll(inbox, mail(["a", "b", "c"].map(nobodys)));
        const page = await inbox.jobs.unhandled(all);
        await inbox.jobs.reopen(page.map(({ id }) => ({ id, jobs: [job] })));
        assert.deepEqual(await drain(inbox), ["a", "b", "c"]);
      },

      "they come behind what waits in their lane, like replays": async ({ inbox }) => {
        await storeAll(inbox, mail([nobodys("older")]), mail([one("newer")]));
        const page = await inbox.jobs.unhandled(all);
        await inbox.jobs.reopen(page.map(({ id }) => ({ id, jobs: [job] })));
        assert.deepEqual(await drain(inbox), ["newer", "older"]);
      },

      "what is not unhandled, or not there, is left": async (bench) => {
        const { inbox } = bench;
        const [id] = await killAll(bench, "a");
        const replacements = [id ?? "", "999999"].map((each) => ({ id: each, jobs: [job] }));
        await inbox.jobs.reopen(replacements);
        assert.deepEqual(
          (await findAll(inbox)).map(({ state }) => state),
          ["dead"],
        );
      },

      "they are of the type and the account that the event says now": async ({ inbox }) => {
        await storeAll(inbox, mail([nobodys("a")], { accountId: 2002 }));
        const [waiting] = await inbox.jobs.unhandled(all);
        const event = { type: "email.created", accountId: 7, subscription: 8 };
        await inbox.jobs.reopen([{ id: waiting?.id ?? "", jobs: [job], event: event as never }]);
        const [found] = await findAll(inbox, { types: ["email.created"], accountId: 7, subscription: 8 });
        assert.equal(found?.state, "waiting");
      },

      "a second time makes nothing": async ({ inbox }) => {
        await storeAll(inbox, mail([nobodys("a")]));
        const [waiting] = await inbox.jobs.unhandled(all);
        for (let time = 0; time < 2; time += 1) await inbox.jobs.reopen([{ id: waiting?.id ?? "", jobs: [job] }]);
        assert.deepEqual(await drain(inbox), ["a"]);
      },
    },
};
