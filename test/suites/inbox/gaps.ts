import assert from "node:assert/strict";
import type { Gap, Gaps, SubscribedResource } from "../../../src/inbox/port/gaps.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import type { InboxPromises } from "./fixture.ts";

const DAY_MS = 86_400_000;
const mail: SubscribedResource = {
  source: undefined,
  subscription: 1,
  accountId: 7,
  resource: "/email/messages",
  family: "email",
};
const contacts: SubscribedResource = { ...mail, subscription: 2, resource: "/contacts", family: "contact" };
const ofCrm: SubscribedResource = { ...mail, source: "crm" };
const refused = (from: number, until: number, of = mail): Gap => ({ ...of, cause: "refused", from, until });
const errored = (from: number, of = mail): Gap => ({ ...of, cause: "errored", from, until: undefined });
const works = (at: number, of = mail): Gap => ({ ...of, cause: "errored", from: at, until: at });

export const gaps: InboxPromises = {
  "seen: Resources that deliveries came for until then.": {
    "each is known once, by its source, subscription, account and path": async ({ inbox }) => {
      const others = [ofCrm, { ...mail, source: "" }, { ...mail, accountId: 8 }];
      await gapsOf(inbox).seen([mail, contacts, ...others, mail], 1_000);
      await gapsOf(inbox).seen([mail], 2_000);
      assertSame(await gapsOf(inbox).resourcesOf(1, undefined), [mail, ...others]);
      assertSame(await gapsOf(inbox).resourcesOf(1, "crm"), [ofCrm]);
      assertSame(await gapsOf(inbox).resourcesOf(3, undefined), []);
      assertSame(await allOf(inbox), []);
    },

    "one that was not seen for 90 days before the last mark is forgotten, unless it has a gap": async ({ inbox }) => {
      await gapsOf(inbox).seen([mail, contacts], 1_000);
      await gapsOf(inbox).seen([ofCrm], 1_001);
      await gapsOf(inbox).seen([ofCrm], 500);
      const removed = refused(500, 1_001, { ...ofCrm, accountId: 8 });
      await gapsOf(inbox).add([refused(500, 600, contacts), removed]);
      await gapsOf(inbox).remove([removed]);
      await gapsOf(inbox).mark({ at: 90 * DAY_MS + 1_001, afterMs: DAY_MS });
      assert.equal((await gapsOf(inbox).resourcesOf(1, undefined)).length, 3);
      await gapsOf(inbox).mark({ at: 90 * DAY_MS + 1_002, afterMs: DAY_MS });
      assertSame(await gapsOf(inbox).resourcesOf(1, undefined), [ofCrm, { ...ofCrm, accountId: 8 }]);
      assertSame(await gapsOf(inbox).resourcesOf(2, undefined), [contacts]);
    },

    "a clock that was ahead makes none forgotten, for however many marks": async ({ inbox }) => {
      const [now, ahead] = [1_000 * DAY_MS, 1_365 * DAY_MS];
      for (const marks of [[ahead], [ahead, ahead + 1_000]]) {
        await gapsOf(inbox).seen([mail], now - DAY_MS);
        for (const at of [now, ...marks, now + 2_000, now + 3_000]) {
          if (at === now + 2_000) await gapsOf(inbox).seen([contacts], at);
          await gapsOf(inbox).mark({ at, afterMs: DAY_MS });
          await gapsOf(inbox).remove(await allOf(inbox));
        }
        assertSame(await gapsOf(inbox).resourcesOf(1, undefined), [mail]);
        assertSame(await gapsOf(inbox).resourcesOf(2, undefined), [contacts]);
        await gapsOf(inbox).forget(2, undefined);
      }
    },

    "the time without a mark does not count": async ({ inbox }) => {
      await gapsOf(inbox).seen([mail], 0);
      await gapsOf(inbox).seen([contacts], 20 * DAY_MS);
      for (const day of [80, 180, 191]) await gapsOf(inbox).mark({ at: day * DAY_MS, afterMs: 20 * DAY_MS });
      await gapsOf(inbox).remove(await allOf(inbox));
      await gapsOf(inbox).mark({ at: 192 * DAY_MS, afterMs: 20 * DAY_MS });
      assertSame(await gapsOf(inbox).resourcesOf(1, undefined), []);
      assertSame(await gapsOf(inbox).resourcesOf(2, undefined), [contacts]);
    },
  },

  "add: A resource has one gap: from the earliest until the latest.": {
    "each is found with what it was told": async ({ inbox }) => {
      await gapsOf(inbox).add([refused(10, 20), { ...contacts, cause: "silent", from: 5, until: 9 }]);
      const found: readonly Gap[] = [refused(10, 20), { ...contacts, cause: "silent", from: 5, until: 9 }];
      assertSame(await allOf(inbox), found);
    },

    "of two the window has both; the cause is the first one's": async ({ inbox }) => {
      await gapsOf(inbox).add([refused(10, 20)]);
      await gapsOf(inbox).add([
        { ...mail, cause: "gone", from: 30, until: 40 },
        { ...mail, cause: "down", from: 5, until: 15 },
      ]);
      assertSame(await allOf(inbox), [refused(5, 40)]);
    },

    "two sources, and two subscriptions, have their own": async ({ inbox }) => {
      const renewed = { ...mail, subscription: 9 };
      await gapsOf(inbox).add([refused(1, 2), refused(3, 4, ofCrm), refused(5, 6, renewed)]);
      assertSame(await allOf(inbox), [refused(1, 2), refused(3, 4, ofCrm), refused(5, 6, renewed)]);
    },
  },

  "add: One that goes on ends with one of the same cause that has an end.": {
    "an error lasts until it works again": async ({ inbox }) => {
      await gapsOf(inbox).add([errored(10)]);
      await gapsOf(inbox).add([errored(15)]);
      assertSame(await allOf(inbox), [errored(10)]);
      await gapsOf(inbox).add([works(30)]);
      assertSame(await allOf(inbox), [{ ...errored(10), until: 30 }]);
    },

    "a gap that ended before the last notice of the error, and a silence, only make it longer": async ({ inbox }) => {
      await gapsOf(inbox).add([errored(10), errored(15)]);
      await gapsOf(inbox).add([refused(5, 14), { ...mail, cause: "silent", from: 3, until: 40 }]);
      assertSame(await allOf(inbox), [errored(3)]);
      await gapsOf(inbox).add([works(30)]);
      assertSame(await allOf(inbox), [{ ...errored(3), until: 30 }]);
    },

    "one that has ended goes on with an error": async ({ inbox }) => {
      await gapsOf(inbox).add([refused(5, 8), errored(10)]);
      assertSame(await allOf(inbox), [errored(5)]);
    },

    "the end of an error that was never told is a gap": async ({ inbox }) => {
      await gapsOf(inbox).add([works(30)]);
      assertSame(await allOf(inbox), [works(30)]);
    },
  },

  "add: So does a later gap of the causes `refused`, `down` and `gone`, in which the end may have been lost.": {
    "each that ends after the last notice of the error ends it": async ({ inbox }) => {
      for (const cause of ["refused", "down", "gone"] as const) {
        await gapsOf(inbox).add([errored(10), { ...mail, cause, from: 20, until: 40 }]);
        assertSame(await allOf(inbox, { hasEnded: true }), [{ ...errored(10), until: 40 }]);
        await gapsOf(inbox).forget(1, undefined);
      }
    },

    "an error that lasts longer is a gap again once it ends, from its last notice on": async ({ inbox, restart }) => {
      await gapsOf(inbox).add([errored(10), refused(20, 40)]);
      await gapsOf(inbox).remove(await allOf(inbox));
      await restart();
      assertSame(await allOf(inbox), []);
      await gapsOf(inbox).add([works(60)]);
      assertSame(await allOf(inbox, { hasEnded: true }), [{ ...errored(10), until: 60 }]);
    },

    "the same where nobody did anything about it meanwhile": async ({ inbox }) => {
      await gapsOf(inbox).add([errored(10), refused(20, 40), errored(50)]);
      assertSame(await allOf(inbox), [errored(10)]);
      await gapsOf(inbox).add([works(60)]);
      assertSame(await allOf(inbox, { hasEnded: true }), [{ ...errored(10), until: 60 }]);
    },
  },

  "add: An error that is not newer than the last notice of the resource, and an end that is older, are ignored.": {
    "an error and its end of one moment are told in any order": async ({ inbox }) => {
      const ended: Gap = { ...errored(10), until: 40 };
      await gapsOf(inbox).add([errored(10), works(40), errored(40)]);
      assertSame(await allOf(inbox), [ended]);
      await gapsOf(inbox).remove([ended]);
      await gapsOf(inbox).add([errored(41), works(41)]);
      assertSame(await allOf(inbox), [{ ...errored(41), until: 41 }]);
    },

    "a late one opens nothing and ends nothing, also after the gap was removed": async ({ inbox, restart }) => {
      await gapsOf(inbox).add([errored(10), works(30)]);
      await gapsOf(inbox).remove(await allOf(inbox));
      await restart();
      await gapsOf(inbox).add([errored(20)]);
      assertSame(await allOf(inbox), []);
      await gapsOf(inbox).add([errored(40)]);
      await gapsOf(inbox).add([works(35)]);
      assertSame(await allOf(inbox), [errored(40)]);
      await gapsOf(inbox).add([refused(1, 2, contacts), works(40)]);
      assertSame(await allOf(inbox, { hasEnded: true }), [{ ...errored(40), until: 40 }, refused(1, 2, contacts)]);
    },
  },

  "find: At most `limit`, after `after`; `next` is the `after` of the next page.": {
    "by families, by account, and only those that have ended": async ({ inbox }) => {
      const other = { ...contacts, accountId: 8 };
      await gapsOf(inbox).add([errored(1), refused(2, 3, contacts), refused(4, 5, other)]);
      assertSame(await allOf(inbox, { families: ["email"] }), [errored(1)]);
      assertSame(await allOf(inbox, { families: [] }), []);
      assertSame(await allOf(inbox, { accountId: 8 }), [refused(4, 5, other)]);
      assertSame(await allOf(inbox, { hasEnded: true }), [refused(2, 3, contacts), refused(4, 5, other)]);
      assertSame(await allOf(inbox, { hasEnded: true, families: ["email"] }), []);
    },

    "page by page all come once": async ({ inbox }) => {
      const many = Array.from({ length: 25 }, (_, index) => refused(index, index + 1, { ...mail, accountId: index }));
      await gapsOf(inbox).add(many);
      const found: Gap[] = [];
      let pages = 0;
      for (let after: string | undefined; pages === 0 || after !== undefined; pages += 1) {
        const page = await gapsOf(inbox).find({ limit: 10, after });
        assert.ok(page.gaps.length <= 10);
        found.push(...page.gaps);
        after = page.next;
      }
      assertSame(found, many);
      assert.equal(pages, 3);
      assert.equal((await gapsOf(inbox).find({ limit: 25 })).next, undefined);
    },
  },

  "count: Gaps of one family.": {
    "how many, how many go on, and from when until when": async ({ inbox }) => {
      assert.deepEqual(await gapsOf(inbox).count(), []);
      await gapsOf(inbox).seen([ofCrm], 1);
      await gapsOf(inbox).add([refused(10, 20), refused(5, 15, { ...mail, accountId: 8 }), errored(7, contacts)]);
      const counts = (await gapsOf(inbox).count()).toSorted((a, b) => b.count - a.count);
      assert.deepEqual(counts, [
        { family: "email", count: 2, open: 0, from: 5, until: 20 },
        { family: "contact", count: 1, open: 1, from: 7, until: undefined },
      ]);
    },
  },

  "remove: They are removed, and what other subscriptions have for the same source, account and resource.": {
    "a renewed subscription's goes with it; another source's, account's and resource's stay": async ({ inbox }) => {
      const others = [ofCrm, contacts, { ...mail, accountId: 8 }].map((one) => refused(1, 2, one));
      await gapsOf(inbox).add([refused(1, 3), refused(1, 2, { ...mail, subscription: 9 }), ...others]);
      await gapsOf(inbox).remove([refused(1, 3)]);
      assertSame(await allOf(inbox), others);
      assert.equal((await gapsOf(inbox).resourcesOf(9, undefined)).length, 1);
    },
  },

  "remove: A gap that meanwhile reaches further than the given one stays.": {
    "the same for one that goes on meanwhile": async ({ inbox }) => {
      await gapsOf(inbox).add([refused(1, 3)]);
      await gapsOf(inbox).remove([refused(1, 2)]);
      assertSame(await allOf(inbox), [refused(1, 3)]);
      await gapsOf(inbox).add([errored(2)]);
      await gapsOf(inbox).remove([refused(1, 3)]);
      assertSame(await allOf(inbox), [errored(1)]);
    },

    "one that goes on can be removed as such": async ({ inbox }) => {
      await gapsOf(inbox).add([errored(1)]);
      await gapsOf(inbox).remove([errored(1)]);
      assertSame(await allOf(inbox), []);
    },
  },

  "mark: Where the last mark is older than `afterMs`, each resource gets a gap of the cause `down` from that mark until this one, in the same step: of several processes one finds it.":
    {
      "only a mark that is too old is a gap, for each resource that is known": async ({ inbox, restart }) => {
        await gapsOf(inbox).seen([mail, contacts], 1_000);
        assert.equal(await gapsOf(inbox).mark({ at: 9_000, afterMs: 100 }), undefined);
        assert.equal(await gapsOf(inbox).mark({ at: 9_100, afterMs: 100 }), undefined);
        await restart();
        assertSame(await allOf(inbox), []);
        assert.equal(await gapsOf(inbox).mark({ at: 9_201, afterMs: 100 }), 9_100);
        const down = { cause: "down", from: 9_100, until: 9_201 } as const;
        assertSame(await allOf(inbox), [
          { ...mail, ...down },
          { ...contacts, ...down },
        ]);
        assert.equal(await gapsOf(inbox).mark({ at: 9_202, afterMs: 100 }), undefined);
      },

      "it joins the gap that there is, and ends what goes on": async ({ inbox }) => {
        await gapsOf(inbox).mark({ at: 1_000, afterMs: 100 });
        await gapsOf(inbox).add([refused(500, 600), errored(1_050, contacts), errored(2_001, ofCrm)]);
        await gapsOf(inbox).mark({ at: 2_000, afterMs: 100 });
        const ended: Gap = { ...errored(1_000, contacts), until: 2_000 };
        assertSame(await allOf(inbox), [refused(500, 2_000), ended, errored(1_000, ofCrm)]);
      },

      "a clock that was set back is no gap": async ({ inbox }) => {
        await gapsOf(inbox).seen([mail], 1_000);
        await gapsOf(inbox).mark({ at: 9_000, afterMs: 100 });
        assert.equal(await gapsOf(inbox).mark({ at: 1_000, afterMs: 100 }), undefined);
        assert.equal(await gapsOf(inbox).mark({ at: 1_050, afterMs: 100 }), undefined);
        assertSame(await allOf(inbox), []);
        assert.equal(await gapsOf(inbox).mark({ at: 1_200, afterMs: 100 }), 1_050);
      },
    },

  "forget: Forgets resources and gaps of a subscription. Without a source: in every source.": {
    "with a source of that one alone, without one of all": async ({ inbox }) => {
      await gapsOf(inbox).add([refused(1, 2), refused(1, 2, ofCrm), refused(1, 2, contacts)]);
      await gapsOf(inbox).forget(1, "crm");
      assertSame(await allOf(inbox), [refused(1, 2), refused(1, 2, contacts)]);
      await gapsOf(inbox).forget(1, undefined);
      assertSame(await allOf(inbox), [refused(1, 2, contacts)]);
      assertSame(await gapsOf(inbox).resourcesOf(1, undefined), []);
    },
  },

  "erase: Gaps of the account are deleted too.": {
    "with its resources, and no other's": async ({ inbox }) => {
      const other = { ...mail, accountId: 8 };
      await gapsOf(inbox).add([refused(1, 2), refused(1, 2, other)]);
      await inbox.jobs.erase(7);
      assertSame(await allOf(inbox), [refused(1, 2, other)]);
      assertSame(await gapsOf(inbox).resourcesOf(1, undefined), [other]);
    },
  },

  "gaps: Where many work: whether this process is the one that does something about them.": {
    "of one that works alone it is": async ({ inbox }) => assert.equal(gapsOf(inbox).isMine(), true),
  },
};

export const gapsAfterACrash: InboxPromises = {
  "gaps: All of it is durable when it resolves.": {
    "a successor finds the gaps, the resources and the mark": async ({ inbox, succeed }) => {
      await gapsOf(inbox).mark({ at: 1_000, afterMs: 100 });
      await gapsOf(inbox).seen([contacts], 1_000);
      await gapsOf(inbox).add([refused(1, 2)]);
      const successor = await succeed();
      assertSame(await gapsOf(successor).resourcesOf(2, undefined), [contacts]);
      assertSame(await allOf(successor), [refused(1, 2)]);
      assert.equal(await gapsOf(successor).mark({ at: 2_000, afterMs: 100 }), 1_000);
    },
  },
};

/** What processes owe each other that look for gaps at the same time. */
export const gapsOfMany: InboxPromises = {
  "mark: In the same step: of several processes one finds it.": {
    "of two that mark at once, one tells of the gap": async (bench) => {
      const { inbox: other } = await bench.join();
      await gapsOf(bench.inbox).mark({ at: 1_000, afterMs: 100 });
      const told = await Promise.all(
        [bench.inbox, other, bench.inbox, other].map((one) => gapsOf(one).mark({ at: 2_000, afterMs: 100 })),
      );
      assert.deepEqual(
        told.filter((since) => since !== undefined),
        [1_000],
      );
    },
  },

  "gaps: Where many work: whether this process is the one that does something about them.": {
    "of two that work one is": async (bench) => {
      const { inbox: other } = await bench.join();
      assert.equal([bench.inbox, other].filter((one) => gapsOf(one).isMine()).length, 1);
    },
  },
};

/** The port leaves it to an inbox whether it has them; those of this package do. */
function gapsOf({ gaps: found }: WorkingInbox): Gaps {
  assert.ok(found, "the inbox has no `gaps`");
  return found;
}

async function allOf(inbox: WorkingInbox, query: Partial<Parameters<Gaps["find"]>[0]> = {}): Promise<readonly Gap[]> {
  const { gaps: found } = await gapsOf(inbox).find({ limit: 1_000, ...query });
  return found;
}

/** The port leaves the order to the inbox. */
function assertSame<T extends SubscribedResource>(found: readonly T[], expected: readonly NoInfer<T>[]): void {
  const keyOf = ({ source, subscription, accountId, resource }: SubscribedResource): string =>
    JSON.stringify([source, subscription, accountId, resource]);
  const sorted = (list: readonly T[]): readonly T[] => list.toSorted((a, b) => (keyOf(a) < keyOf(b) ? -1 : 1));
  assert.deepEqual(sorted(found), sorted(expected));
}
