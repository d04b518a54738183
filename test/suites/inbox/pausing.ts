import assert from "node:assert/strict";
import { pausedBy } from "../../../src/inbox/pauses.ts";
import type { Claim, ClaimRules } from "../../../src/inbox/port/claims.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { ERASED_REASON } from "../../../src/inbox/port/jobs.ts";
import type { Pause, Pauses } from "../../../src/inbox/port/pauses.ts";
import { eventually } from "../../support/eventually.ts";
import { mail } from "./deliveries.ts";
import type { InboxBench, InboxPromises } from "./fixture.ts";
import { done, recordsOf, settleAll, storeAll } from "./verbs.ts";

/** Longer than any process takes between two looks at what others changed. */
const LOOK_MS = 1_000;

/** The rules as the dispatcher makes them of the pauses that are known now. */
export function rulesOf({ pauses }: WorkingInbox, given: Partial<ClaimRules> = {}): ClaimRules {
  const known = (): readonly Pause[] => pauses?.current() ?? [];
  const isPaused = (consumer: string, account: number | undefined): boolean => pausedBy(known())({ consumer, account });
  version += 1;
  return {
    fairness: "account",
    perAccount: () => Infinity,
    isHeld: isPaused,
    isPaused,
    get isPausing() {
      return known().length > 0;
    },
    version,
    resumed: version,
    ...given,
  };
}

let version = 0;

/** In the order of the inbox. */
async function claim(inbox: WorkingInbox, max = 100, given: Partial<ClaimRules> = {}): Promise<readonly Claim[]> {
  return (await inbox.claim({ max, mergeMax: 1, rules: rulesOf(inbox, given) })).claims;
}

const recordsIn = (claims: readonly Claim[]): string[] => recordsOf(claims).flat();

/** Where an inbox has no pauses it gives no turns: nobody can pause then. */
function ofPauses(
  run: (bench: InboxBench & { readonly pauses: Pauses }) => Promise<void>,
): (bench: InboxBench) => Promise<void> {
  return async (bench) => {
    const { pauses } = bench.inbox;
    if (pauses !== undefined) await run({ ...bench, pauses });
  };
}

const crm = { consumer: "crm", lane: undefined };

export const pausing: InboxPromises = {
  "put: Durable when it resolves, and in `current` here. One of the same jobs is replaced.": {
    "each is known by its consumer and account": ofPauses(async ({ pauses }) => {
      const all = [{ consumer: "crm" }, { accountId: 7 }, { consumer: "crm", accountId: 7 }, { consumer: "7" }];
      for (const what of all) await pauses.put({ ...what, reason: "first", since: 1 });
      await pauses.put({ consumer: "crm", reason: 'it\'s "down" ü', since: 2 });
      const reasons = pauses.current().map(({ reason }) => reason);
      assert.deepEqual(reasons.toSorted(), ["first", "first", "first", 'it\'s "down" ü']);
      assert.equal(await pauses.remove({ accountId: 7 }), true);
      assert.equal(await pauses.remove({ accountId: 7 }), false);
      assert.equal(await pauses.remove({ accountId: 8 }), false);
      assert.equal(pauses.current().length, 3);
    }),

    "one that has ended is not given any more": ofPauses(async ({ pauses, clock }) => {
      await pauses.put({ accountId: 7, reason: "import", since: 1, until: clock.now() + 1_000 });
      const before = pauses.current();
      assert.equal(before.length, 1);
      assert.equal(pauses.current(), before, "the same list while nothing has changed");
      await clock.advance(1_000);
      assert.deepEqual(pauses.current(), []);
      assert.equal(await pauses.remove({ accountId: 7 }), false);
    }),

    "those that ended an hour ago and more are deleted when another one is put; one that ended lately is not": ofPauses(
      async ({ pauses, clock }) => {
        const until = clock.now() + 1_000;
        for (const accountId of [1, 2]) await pauses.put({ accountId, reason: "import", since: 1, until });
        await pauses.put({ accountId: 3, reason: "import", since: 1, until: until + 60_000 });
        clock.jump(1_000 + 60 * 60 * 1_000 + 1);
        await pauses.put({ accountId: 1, reason: "again", since: 2 });
        assert.equal(pauses.current().length, 1);
        clock.jump(-60 * 60 * 1_000);
        await pauses.put({ accountId: 4, reason: "other", since: 3 });
        assert.deepEqual(new Set(pauses.current().map(({ accountId }) => accountId)), new Set([1, 3, 4]));
      },
    ),

    "an erased account stays paused, without the reason that was given": ofPauses(async ({ inbox, pauses }) => {
      for (const what of [{ accountId: 7 }, { accountId: 7, consumer: "crm" }, { accountId: 8 }])
        await pauses.put({ ...what, reason: "Bob asked for it", since: 1 });
      assert.equal((await inbox.jobs.erase(7)).pauses, 2);
      const reasons = pauses.current().map(({ accountId, reason }) => `${accountId}: ${reason}`);
      assert.deepEqual(reasons.toSorted(), [`7: ${ERASED_REASON}`, `7: ${ERASED_REASON}`, "8: Bob asked for it"]);
      assert.equal((await inbox.jobs.erase(7)).pauses, 0);
    }),

    "it stays over a restart": ofPauses(async ({ pauses, restart }) => {
      await pauses.put({ accountId: 7, reason: "import", since: 1 });
      await restart();
      assert.equal(pauses.current().length, 1);
    }),
  },

  "waiting: Jobs that wait, of each of them.": {
    "those of a consumer, of an account, and of both; not what runs": ofPauses(async ({ inbox, pauses }) => {
      await storeAll(
        inbox,
        mail(["a", { id: "b", ...crm }], { accountId: 1 }),
        mail(["c", { id: "d", ...crm }], { accountId: 2 }),
      );
      const [running] = await claim(inbox, 1);
      assert.ok(running);
      const asked = [{ consumer: "default" }, { consumer: "crm" }, { accountId: 2 }, { accountId: 1, consumer: "crm" }];
      assert.deepEqual(await pauses.waiting([...asked, { accountId: 3 }]), [1, 2, 2, 1, 0]);
    }),
  },

  "rules: Who may start now, and in what order.": {
    "accounts take turns, and each one's lanes come in their order": ofPauses(async ({ inbox }) => {
      await storeAll(
        inbox,
        mail(["a", "b", "c"], { accountId: 1 }),
        mail(["d"], { accountId: 2 }),
        mail(["e", "f"], { accountId: 3 }),
      );
      assert.deepEqual(recordsIn(await claim(inbox, 2)), ["a", "d"]);
      await storeAll(inbox, mail(["g"], { accountId: 4 }));
      const rest = recordsIn(await claim(inbox));
      assert.deepEqual(new Set(rest.slice(0, 3)), new Set(["b", "e", "g"]));
      assert.deepEqual(new Set(rest.slice(3)), new Set(["c", "f"]));
    }),

    "a retry stands in the turn of its account": ofPauses(async (bench) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a"], { accountId: 1 }));
      const [first] = await claim(inbox);
      const now = clock.now();
      const error = { name: "Error", message: "no", at: now };
      await settleAll(inbox, first as Claim, { to: "retry", at: now + 10, delayMs: 10, counted: true, error });
      await storeAll(inbox, mail(["b", "c", "d"], { accountId: 2 }));
      await clock.advance(10);
      assert.deepEqual(new Set(recordsIn(await claim(inbox, 2))), new Set(["a", "b"]));
    }),

    "none of an account and consumer beyond `perAccount`, until one ends": ofPauses(async ({ inbox }) => {
      await storeAll(
        inbox,
        mail(["a", "b", "c", { id: "d", ...crm }], { accountId: 1 }),
        mail(["e"], { accountId: 2 }),
      );
      const limit = { perAccount: (consumer: string) => (consumer === "default" ? 2 : Infinity) };
      const claims = await claim(inbox, 100, limit);
      assert.deepEqual(new Set(recordsIn(claims)), new Set(["a", "b", "d", "e"]));
      assert.deepEqual(recordsIn(await claim(inbox, 100, limit)), []);
      const one = claims.find(({ jobs }) => jobs[0].consumer === "default");
      await settleAll(inbox, one as Claim, done);
      assert.deepEqual(recordsIn(await claim(inbox, 100, limit)), ["c"]);
    }),

    "what is held is not given, and costs nobody else anything": ofPauses(async ({ inbox, pauses }) => {
      await storeAll(inbox, mail(["a", { id: "b", ...crm }], { accountId: 1 }), mail(["c"], { accountId: 2 }));
      await pauses.put({ accountId: 1, consumer: "default", reason: "x", since: 1 });
      assert.deepEqual(new Set(recordsIn(await claim(inbox))), new Set(["b", "c"]));
      const { nextDueAt, suspects } = await inbox.claim({ max: 9, mergeMax: 1, rules: rulesOf(inbox) });
      assert.deepEqual([nextDueAt, suspects], [undefined, false]);
      await storeAll(inbox, mail(["d"], { accountId: 1 }));
      assert.deepEqual(recordsIn(await claim(inbox)), []);
      await pauses.remove({ accountId: 1, consumer: "default" });
      assert.deepEqual(recordsIn(await claim(inbox)), ["a", "d"]);
    }),

    "what is released because of a pause waits as before": ofPauses(async ({ inbox, pauses }) => {
      await storeAll(inbox, mail(["a"], { accountId: 1 }));
      const [running] = await claim(inbox);
      await pauses.put({ accountId: 1, reason: "x", since: 1 });
      await settleAll(inbox, running as Claim, { to: "release" });
      assert.deepEqual(recordsIn(await claim(inbox)), []);
      await pauses.remove({ accountId: 1 });
      const [again] = await claim(inbox);
      assert.equal(again?.jobs[0].attempt, 1);
    }),

    "what is paused can be dropped": ofPauses(async ({ inbox, pauses }) => {
      await storeAll(inbox, mail(["a", "b"], { accountId: 1 }));
      await pauses.put({ accountId: 1, reason: "x", since: 1 });
      await claim(inbox);
      assert.equal(await inbox.jobs.drop({ states: ["waiting"] }), 2);
      await pauses.remove({ accountId: 1 });
      assert.deepEqual(recordsIn(await claim(inbox)), []);
    }),
  },

  "stats: of `waiting`, those that a pause holds; the oldest one is of the others.": {
    "pausedWaiting is counted, and they are nobody's oldest": ofPauses(async ({ inbox, pauses }) => {
      await storeAll(
        inbox,
        mail(["a", "b"], { accountId: 1, receivedAt: 1_000 }),
        mail(["c"], { accountId: 2, receivedAt: 5_000 }),
      );
      await pauses.put({ accountId: 1, reason: "x", since: 1 });
      assert.deepEqual(recordsIn(await claim(inbox, 0)), []);
      await eventually(() => {
        const { waiting, pausedWaiting, oldestWaitingAt } = inbox.stats();
        assert.deepEqual([waiting, pausedWaiting, oldestWaitingAt], [3, 2, 5_000]);
      });
    }),
  },
};

export const pausingAfterACrash: InboxPromises = {
  "pauses: Where pauses are stored, for all processes on the inbox.": {
    "a successor finds them": async (bench) => {
      const { pauses } = bench.inbox;
      if (pauses === undefined) return;
      await pauses.put({ consumer: "crm", reason: "down", since: 1 });
      const { pauses: after } = await bench.succeed();
      assert.deepEqual(
        after?.current().map(({ consumer, reason }) => [consumer, reason]),
        [["crm", "down"]],
      );
    },
  },
};

export const pausingOfMany: InboxPromises = {
  "pauses: Those that have not ended, at most 2 s old.": {
    "another process learns of a pause, and of its end, and is woken": async (bench) => {
      const { pauses } = bench.inbox;
      if (pauses === undefined) return;
      const { inbox: other, heard } = await bench.join();
      const woken = heard.woken;
      await pauses.put({ accountId: 7, reason: "x", since: 1 });
      await eventually(async () => {
        await bench.clock.advance(LOOK_MS);
        assert.equal(other.pauses?.current().length, 1);
        assert.ok(heard.woken > woken);
      });
      await pauses.remove({ accountId: 7 });
      await eventually(async () => {
        await bench.clock.advance(LOOK_MS);
        assert.deepEqual(other.pauses?.current(), []);
      });
    },
  },
};
