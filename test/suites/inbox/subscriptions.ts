import assert from "node:assert/strict";
import { setTimeout as wait } from "node:timers/promises";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { notice, raw } from "./deliveries.ts";
import type { InboxPromises } from "./fixture.ts";
import { storeAll } from "./verbs.ts";

export const subscriptions: InboxPromises = {
  "subscriptions: The newest lifecycle notice of each resource of a subscription, for up to a thousand of them.": {
    "one in trouble stands until it works": async ({ inbox }) => {
      await storeAll(inbox, notice("invalid_grant", { source: "crm" }), notice("gone", { resource: "/contacts" }));
      await tells(inbox, ["1001 /email/messages crm: invalid_grant", "1001 /contacts: gone"]);
      assert.equal(inbox.subscriptions.errored()[0]?.accountId, 2002);
      await storeAll(inbox, notice(undefined, { source: "crm" }));
      await tells(inbox, ["1001 /contacts: gone"]);
    },

    "an older notice does not overwrite a newer one, a newer one comes last": async ({ inbox }) => {
      await storeAll(inbox, notice(undefined, { sentAt: 2_000 }), notice("old", { sentAt: 1_000 }));
      await storeAll(inbox, notice("b", { subscription: 2, sentAt: 2_000 }), notice("c", { subscription: 3 }));
      await storeAll(inbox, notice("d", { subscription: 2, sentAt: 3_000 }));
      await storeAll(inbox, notice(undefined, { subscription: 2, sentAt: 2_999 }));
      await tells(inbox, ["3 /email/messages: c", "2 /email/messages: d"]);
    },

    "those that work are forgotten first, then the oldest in trouble": async ({ inbox }) => {
      await storeAll(inbox, notice("first", { subscription: 1 }), notice(undefined, { subscription: 2 }));
      const many = Array.from({ length: 999 }, (_, index) => notice("", { subscription: index + 3 }));
      await storeAll(inbox, ...many);
      await eventually(() => assert.equal(inbox.subscriptions.errored().length, 1_000));
      assert.equal(inbox.subscriptions.errored()[0]?.error, "first");
      await storeAll(inbox, notice("last", { subscription: 2_000 }), notice(undefined, { subscription: 2_001 }));
      await eventually(() => assert.equal(inbox.subscriptions.errored().at(-1)?.error, "last"));
      assert.deepEqual(
        [inbox.subscriptions.errored().length, inbox.subscriptions.errored()[0]?.subscription],
        [1_000, 3],
      );
    },

    "a text of any length is cut": async ({ inbox }) => {
      await storeAll(inbox, notice("x".repeat(500_000)));
      await tells(inbox, [`1001 /email/messages: ${"x".repeat(2_000)}… (of 500000 characters)`]);
    },
  },

  "subscriptions: Written atomically with the jobs of a lifecycle notice.": {
    "one that is not expanded yet is not told, and told when it is": async ({ inbox }) => {
      const late = notice("late", { source: "crm", sentAt: 5_000 });
      const [stored] = await storeAll(inbox, raw(late));
      assert.deepEqual(inbox.subscriptions.errored(), []);
      await inbox.expand([{ id: stored?.id ?? "", events: late.events, cursor: undefined }]);
      await storeAll(inbox, notice(undefined, { source: "crm", sentAt: 4_999 }));
      await tells(inbox, ["1001 /email/messages crm: late"]);
    },

    "it stays over a close and an open": async ({ inbox, restart }) => {
      await storeAll(inbox, notice("invalid_grant"), notice(undefined, { subscription: 2, sentAt: 2_000 }));
      await restart();
      await storeAll(inbox, notice("old", { subscription: 2, sentAt: 1_000 }));
      await tells(inbox, ["1001 /email/messages: invalid_grant"]);
    },
  },

  "forget: Forgets an unwanted subscription, which will never become `active`. Without a source: in every source.": {
    "with a source it goes of that one alone, without one of all": async ({ inbox }) => {
      await storeAll(
        inbox,
        notice("a", { source: "a" }),
        notice("b", { source: "b" }),
        notice("c"),
        notice("d", { subscription: 2 }),
      );
      await inbox.subscriptions.forget(1001, "a");
      await tells(inbox, ["1001 /email/messages b: b", "1001 /email/messages: c", "2 /email/messages: d"]);
      await inbox.subscriptions.forget(1001, undefined);
      await tells(inbox, ["2 /email/messages: d"]);
    },
  },

  "record: Records what was learnt without a notice, such as by asking the service, as a notice sent at that time. Resolves when durable.":
    {
      "it stands until a newer notice, and over a restart; an older one changes nothing": async ({
        inbox,
        restart,
      }) => {
        const learnt = { subscription: 1001, accountId: 2002, resource: "/email/messages", error: "billing" };
        await storeAll(inbox, notice("older", { sentAt: 1_000 }), notice("other", { subscription: 2, sentAt: 1_000 }));
        await inbox.subscriptions.record(learnt, { source: undefined, sentAt: 2_000 });
        await inbox.subscriptions.record({ ...learnt, error: "oldest" }, { source: undefined, sentAt: 500 });
        await inbox.subscriptions.record({ ...learnt, error: "its own" }, { source: "crm", sentAt: 2_000 });
        await storeAll(inbox, notice("late", { sentAt: 1_999 }));
        const told = ["2 /email/messages: other", "1001 /email/messages: billing", "1001 /email/messages crm: its own"];
        await tells(inbox, told);
        await restart();
        await tells(inbox, told);
        await storeAll(inbox, notice(undefined, { sentAt: 3_000 }));
        await tells(inbox, ["2 /email/messages: other", "1001 /email/messages crm: its own"]);
      },
    },

  "known: All that are recorded, those that work included, in the order of their notices.": {
    "with their source and their error, if they have any": async ({ inbox }) => {
      const one = { subscription: 1001, accountId: 2002, resource: "/email/messages" };
      await storeAll(inbox, notice(undefined), notice("gone", { subscription: 2, source: "crm" }));
      await inbox.subscriptions.record({ ...one, subscription: 3, error: undefined }, { source: "a", sentAt: 1_000 });
      // Not every inbox keeps the time of a notice.
      const known = await inbox.subscriptions.known();
      assert.equal(known[2]?.sentAt ?? 1_000, 1_000);
      const told = known.map(({ sentAt: _sentAt, ...rest }) => rest);
      assert.deepEqual(told, [
        { ...one, source: undefined, error: undefined },
        { ...one, subscription: 2, source: "crm", error: "gone" },
        { ...one, subscription: 3, source: "a", error: undefined },
      ]);
      await inbox.subscriptions.forget(3, undefined);
      assert.equal((await inbox.subscriptions.known()).length, 2);
    },
  },

  "put: The lifecycle notices of the subscription are forgotten.": {
    "with a source of that one alone, without one of all": async ({ inbox }) => {
      await storeAll(
        inbox,
        notice("a", { source: "a" }),
        notice("b", { source: "b" }),
        notice("d", { subscription: 2 }),
      );
      await inbox.tombstones.put({ subscription: 1001, source: "a", reason: "left" });
      await tells(inbox, ["1001 /email/messages b: b", "2 /email/messages: d"]);
      await inbox.tombstones.put({ subscription: 1001, source: undefined, reason: "left" });
      await tells(inbox, ["2 /email/messages: d"]);
    },
  },

  "erase: Lifecycle notices and gaps of the account are deleted too.": {
    "it goes for that account, and for no other": async ({ inbox }) => {
      await storeAll(inbox, notice("a", { accountId: 7 }), notice("b", { subscription: 2 }));
      await inbox.jobs.erase(7);
      await tells(inbox, ["2 /email/messages: b"]);
    },
  },
};

export const subscriptionsAfterACrash: InboxPromises = {
  "subscriptions: Those in error, in the order of their notices.": {
    "a successor tells of them until they work": async ({ inbox, succeed }) => {
      await storeAll(inbox, notice("a"), notice("b", { subscription: 2 }));
      const successor = await succeed();
      await tells(successor, ["1001 /email/messages: a", "2 /email/messages: b"]);
      await storeAll(successor, notice(undefined));
      await tells(successor, ["2 /email/messages: b"]);
    },
  },
};

/** What processes owe each other that unsubscribe at the same time. */
export const unsubscribes: InboxPromises = {
  "allowUnsubscribe: One count for all of them, by one clock, in one step; durable when it resolves to true.": {
    "of many that ask at once as many are allowed as one may, and of those each again": async (bench) => {
      const { inbox: other } = await bench.join();
      const ask = async (each: WorkingInbox, subscription: number, maxPerHour = 3): Promise<boolean | undefined> =>
        each.allowUnsubscribe?.({ subscription, source: undefined, maxPerHour });
      // Undefined: each process counts its own.
      if ((await ask(bench.inbox, 0, 0)) === undefined) return;
      const ids = Array.from({ length: 12 }, (_, index) => index + 1);
      const answers = await Promise.all(ids.map((one) => ask(one % 2 === 0 ? bench.inbox : other, one)));
      const allowed = ids.filter((_, index) => answers[index] === true);
      assert.equal(allowed.length, 3, `${allowed.length} unsubscribes were allowed, at most 3 may be`);
      for (const one of allowed)
        for (const each of [bench.inbox, other])
          assert.equal(await ask(each, one), true, "one that was allowed is not");
      assert.equal(await ask(other, 99, 0), false, "one is allowed where none may be");
    },
  },
};

/** Sooner or later: what is told is a copy. */
function tells(inbox: WorkingInbox, expected: readonly string[]): Promise<void> {
  return eventually(() => {
    const errored = inbox.subscriptions.errored();
    const told = errored.map(({ subscription, resource, source, error }) =>
      [subscription, resource, ...(source === undefined ? [] : [source])].join(" ").concat(`: ${error}`),
    );
    assert.deepEqual(told, expected);
  });
}

/** Its patience guards against a hang. */
async function eventually(check: () => void): Promise<void> {
  for (let left = 2_000; left > 0; left -= 1)
    try {
      return check();
    } catch {
      await wait(2);
    }
  check();
}
