import assert from "node:assert/strict";
import type { Claim } from "../../../src/inbox/port/claims.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { eventually } from "../../support/eventually.ts";
import { mail, one, raw, told } from "./deliveries.ts";
import type { InboxBench, InboxPromises } from "./fixture.ts";
import { claimAll, dead, done, findAll, recordsOf, settleAll, storeAll } from "./verbs.ts";

/** Longer than any worker takes between two looks at the others. */
const LOOK_MS = 600;

const lanes = (count: number, prefix = "m"): string[] =>
  Array.from({ length: count }, (_, index) => `${prefix}${index}`);

/** Lets time pass for all processes until something holds. */
async function passing({ clock }: InboxBench, check: () => Promise<void> | void): Promise<void> {
  await eventually(async () => {
    await clock.advance(LOOK_MS);
    await check();
  });
}

/** A process beside it, which has a share of the lanes, and nothing waits any more. */
async function share(bench: InboxBench): Promise<WorkingInbox> {
  const { inbox: other } = await bench.join();
  const both = [bench.inbox, other];
  let round = 0;
  await passing(bench, async () => {
    await storeAll(bench.inbox, mail(lanes(40, `share${(round += 1)}-`)));
    const seen = both.map((): string[] => []);
    for (const [index, inbox] of both.entries()) await drainOnce([inbox], seen[index] ?? []);
    assert.ok(
      seen.every(({ length }) => length > 0),
      "one of two that work gets nothing",
    );
  });
  await passing(bench, async () => {
    await drainOnce(both, []);
    assert.deepEqual(await findAll(bench.inbox, { states: ["waiting", "running"] }), []);
  });
  return other;
}

/** What each of them may claim, settled at once, until there were so many. */
async function drainAll(bench: InboxBench, inboxes: readonly WorkingInbox[], count: number): Promise<string[]> {
  const seen: string[] = [];
  const failures: unknown[] = [];
  await passing(bench, async () => {
    // What is wrong once must not be tried again.
    await drainOnce(inboxes, seen).catch((error: unknown) => failures.push(error));
    if (failures.length === 0) assert.ok(seen.length >= count, `of ${count} jobs there came ${seen.join(", ")}`);
  });
  if (failures.length > 0) throw failures[0];
  return seen;
}

async function drainOnce(inboxes: readonly WorkingInbox[], seen: string[]): Promise<void> {
  for (const inbox of inboxes) {
    for (const claim of await claimAll(inbox, { max: 1_000 })) {
      seen.push(...recordsOf([claim]).flat());
      await settleAll(inbox, claim, done);
    }
  }
}

/** Claims of either, and whose they are. */
async function claimBoth(inboxes: readonly WorkingInbox[]): Promise<{ inbox: WorkingInbox; claim: Claim }[]> {
  const found: { inbox: WorkingInbox; claim: Claim }[] = [];
  for (const inbox of inboxes) for (const claim of await claimAll(inbox, { max: 1_000 })) found.push({ inbox, claim });
  return found;
}

/** The one job that either may claim, and who does not have it. */
async function claimEither(bench: InboxBench, other: WorkingInbox) {
  const all: Awaited<ReturnType<typeof claimBoth>> = [];
  await passing(bench, async () => {
    all.push(...(await claimBoth([bench.inbox, other])));
    assert.equal(all.length, 1, `${all.length} claims of one job`);
  });
  const [{ inbox, claim }] = all as [{ inbox: WorkingInbox; claim: Claim }];
  return { inbox, claim, others: inbox === other ? bench.inbox : other };
}

export const sharing: InboxPromises = {
  "claim: Each lane is of one worker's share at a time; `claim` gives those of this process's share, and its `nextDueAt` and `suspects` are of it.":
    {
      "of two that work each gets some lanes, and each job comes once": async (bench) => {
        const other = await share(bench);
        const both = [bench.inbox, other];
        await storeAll(bench.inbox, mail(lanes(100)));
        const seen: string[] = [];
        await passing(bench, async () => {
          const found = await claimBoth(both);
          seen.push(...recordsOf(found.map(({ claim }) => claim)).flat());
          assert.equal(seen.length, 100);
        });
        assert.deepEqual(seen.toSorted(), lanes(100).toSorted());
      },

      "lanes that go to one that joins go with nothing of them running": async (bench) => {
        const { inbox } = bench;
        const ids = lanes(64);
        await storeAll(inbox, mail(ids.flatMap((lane) => [lane, { id: `${lane}-next`, lane: `default ${lane}` }])));
        const running = await claimAll(inbox, { max: 1_000 });
        assert.equal(running.length, 64);
        const { inbox: other } = await bench.join();
        // Lanes with nothing in them go at once.
        await passing(bench, () => assert.notEqual(other.stats().workers?.share, 0));
        for (let look = 0; look < 4; look += 1) {
          await bench.clock.advance(LOOK_MS);
          await findAll(other); // as long as a look takes
          assert.deepEqual(recordsOf(await claimAll(other, { max: 1_000 })), []);
        }
        for (const claim of running) await settleAll(inbox, claim, done);
        const seen = await drainAll(bench, [other, inbox], 64);
        assert.deepEqual(seen.toSorted(), ids.map((lane) => `${lane}-next`).toSorted());
      },
    },

  "store: Resolves when all deliveries are durable; a StorageError in a place says that this delivery is perhaps not stored.":
    {
      "what two processes store in one lane comes in the order of their answers": async (bench) => {
        const other = await share(bench);
        const both = [bench.inbox, other];
        const ids = lanes(12);
        for (const [index, id] of ids.entries()) await storeAll(both[index % 2] as WorkingInbox, mail([one(id)]));
        assert.deepEqual(await drainAll(bench, both, ids.length), ids);
      },
    },

  "store: A delivery is stored with all its jobs and unique keys atomically.": {
    "a unique key that one process stored is a duplicate for another, at once": async (bench) => {
      const { inbox: other } = await bench.join();
      const open = told({ key: "tracking:1:7", content: "open" });
      const changed = told({ key: "tracking:1:7", content: "click" });
      assert.deepEqual((await storeAll(bench.inbox, open))[0]?.duplicates, []);
      const [again, conflict] = [await storeAll(other, open), await storeAll(other, changed)];
      assert.deepEqual([again[0]?.duplicates, conflict[0]?.conflicts], [[0], [0]]);
    },
  },

  "idInQueue: If the same was stored within the window of unique keys, nothing is stored.": {
    "what a queue brings to two processes at once is stored once": async (bench) => {
      const { inbox: other } = await bench.join();
      const queued = Array.from({ length: 20 }, (_, index) => ({ ...mail([`q-${index}`]), idInQueue: `q-${index}` }));
      const stored = await Promise.all([storeAll(bench.inbox, ...queued), storeAll(other, ...queued.toReversed())]);
      assert.equal(stored.flat().filter(({ isRepeated }) => isRepeated).length, 20);
      assert.equal((await findAll(other)).length, 20);
    },
  },

  "expand: One worker expands at a time: returns `undefined` for an expansion that was lost to another one, or is left to it; nothing changed.":
    {
      "one of two is given what is unexpanded, and the other one's expansion changes nothing": async (bench) => {
        const { inbox } = bench;
        const { inbox: other } = await bench.join();
        await storeAll(inbox, raw(mail(["a"])));
        await passing(bench, async () => {
          const found = await Promise.all([inbox, other].map((each) => each.unexpanded(10)));
          assert.equal(found.flat().length, 1, "not one of two is given the delivery");
        });
        const [first] = await inbox.unexpanded(10);
        const [expander, idle] = first === undefined ? [other, inbox] : [inbox, other];
        const [delivery] = await expander.unexpanded(10);
        const expansion = { id: delivery?.id ?? "", events: mail(["a"]).events, cursor: undefined };
        assert.deepEqual(await idle.expand([expansion]), [undefined]);
        assert.deepEqual(await findAll(inbox), []);
        assert.equal((await expander.expand([expansion])).length, 1);
        assert.equal((await findAll(idle)).length, 1);
      },
    },

  "find: At most `limit` jobs after `after`, in the order of ids; `next` is the `after` of the next page.": {
    "any process lists what waits and what runs, whose ever it is": async (bench) => {
      const other = await share(bench);
      await storeAll(bench.inbox, mail([one("a"), one("b")]));
      await claimEither(bench, other);
      for (const inbox of [bench.inbox, other]) {
        const jobs = await findAll(inbox, { states: ["waiting", "running"] });
        assert.deepEqual(
          jobs.map(({ state }) => state),
          ["running", "waiting"],
        );
      }
    },
  },

  "drop: Deletes waiting, dead and unhandled jobs; running ones stay.": {
    "those of another process, which does not run them any more": async (bench) => {
      const other = await share(bench);
      await storeAll(bench.inbox, mail([one("a"), one("b"), one("c")]));
      const { inbox, claim, others } = await claimEither(bench, other);
      const [, b] = await findAll(others, { states: ["running", "waiting"] });
      assert.equal(await others.jobs.drop({ ids: [claim.jobs[0].id, b?.id ?? ""] }), 1);
      await settleAll(inbox, claim, done);
      assert.deepEqual(await drainAll(bench, [inbox, others], 1), ["c"]);
    },
  },

  "erase: Deletes every job and delivery of the account in any state, unexpanded deliveries too; running claims are lost.":
    {
      "a claim of another process is lost, which is told so": async (bench) => {
        const { inbox, heard } = bench;
        await storeAll(inbox, mail([one("a"), one("b")]));
        const [claim] = await claimAll(inbox);
        const { inbox: other } = await bench.join();
        assert.equal((await other.jobs.erase(2002)).count, 2);
        await passing(bench, () => assert.deepEqual(heard.lost, [claim]));
        assert.deepEqual(await inbox.settle([{ claim: claim as Claim, outcomes: [done] }]), [false]);
        assert.deepEqual(await findAll(other), []);
      },
    },

  "replay: Adds a new job at the tail of the lane for each, ignoring unique keys.": {
    "a dead letter of another process runs again, once": async (bench) => {
      const other = await share(bench);
      await storeAll(bench.inbox, mail(["a"]));
      const { inbox, claim, others } = await claimEither(bench, other);
      await settleAll(inbox, claim, dead(bench));
      assert.equal(await others.jobs.replay({ states: ["dead"] }), 1);
      const again = await claimEither(bench, other);
      assert.equal(again.claim.jobs[0].replayOf, claim.jobs[0].id);
      await settleAll(again.inbox, again.claim, done);
      await bench.clock.advance(LOOK_MS);
      assert.deepEqual(await claimBoth([bench.inbox, other]), []);
    },
  },

  "find: Synchronous, from a cache at most 1 s old; a hit keeps the tombstone for another 30 days.": {
    "after a second every process knows what another one put, and lifted": async (bench) => {
      const { tombstones } = bench.inbox;
      const { inbox: other } = await bench.join();
      await tombstones.put({ subscription: 5, source: undefined, reason: "gone" });
      await passing(bench, () => assert.equal(other.tombstones.find(5, undefined)?.reason, "gone"));
      await tombstones.lift(5, undefined);
      await passing(bench, () => assert.equal(other.tombstones.isEmpty, true));
    },
  },

  "stopWork: What does not run here goes to the others at once, and not when its last handler has ended.": {
    "a process that comes while it stops has all lanes but that of the handler, which goes on": async (bench) => {
      const { inbox } = bench;
      if (inbox.stopWork === undefined) return;
      await storeAll(inbox, mail([one("runs")]));
      const [claim] = await claimAll(inbox);
      inbox.stopWork();
      const { inbox: other } = await bench.join();
      await storeAll(other, mail(lanes(30)));
      // A few lanes may share what can only go as a whole with the one that runs.
      await drainAll(bench, [other], 20);
      assert.deepEqual(await inbox.settle([{ claim: claim as Claim, outcomes: [done] }]), [true]);
      await passing(bench, async () => {
        await drainOnce([other], []);
        assert.deepEqual(await findAll(other, { states: ["waiting", "running"] }), []);
      });
    },
  },

  "othersWork: Where many work: whether another process works now, as far as its heart tells.": {
    "from when it joins until it leaves or closes": async (bench) => {
      const { inbox } = bench;
      if (inbox.othersWork === undefined) return;
      const { inbox: other } = await bench.join();
      await inbox.leave?.();
      let works: boolean | undefined;
      void inbox.othersWork().then((answer) => (works = answer));
      await passing(bench, () => assert.equal(works, true));
      await other.close();
      assert.equal(await inbox.othersWork(), false);
    },
  },

  "leave: Where many work: this process is no worker any more, until `work` is called again.": {
    "the others have all its lanes at once, and a share of them is its again later": async (bench) => {
      const { inbox } = bench;
      if (inbox.leave === undefined) return;
      const { inbox: other } = await bench.join();
      await inbox.leave();
      await storeAll(other, mail(lanes(40)));
      assert.deepEqual((await drainAll(bench, [other], 40)).toSorted(), lanes(40).toSorted());
      await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
      await passing(bench, () => assert.equal(inbox.stats().workers?.alive, 2));
      await passing(bench, async () => {
        await storeAll(other, mail(lanes(40, "later")));
        const mine: string[] = [];
        await drainOnce([inbox], mine);
        await drainOnce([other], []);
        assert.ok(mine.length > 0, "one that works again gets nothing");
      });
    },
  },

  "close: Unsettled claims end.": {
    "the others have all its lanes at once: what it ran has died once, what it had not claimed never": async (
      bench,
    ) => {
      await storeAll(bench.inbox, mail([one("a"), one("b"), "c"]));
      assert.equal((await claimAll(bench.inbox)).length, 2);
      const { inbox: other } = await bench.join();
      await bench.inbox.close();
      const found: Claim[] = [];
      await passing(bench, async () => {
        found.push(...(await claimAll(other)));
        assert.equal(found.length, 2);
      });
      assert.deepEqual(recordsOf(found), [["a"], ["c"]]);
      assert.deepEqual(
        found.map(({ jobs }) => jobs[0].deaths),
        [1, 1],
      );
      for (const claim of found) await settleAll(other, claim, done);
      const next = await claimAll(other);
      assert.deepEqual(
        next.map(({ jobs: [{ attempt, deaths }] }) => [attempt, deaths]),
        [[1, 0]],
      );
    },
  },

  "stats: Where many work, `waiting`, `running` and `blockedLanes` are of this process's share, and exact, while it works; all else is of the whole, from a query at most 5 s old.":
    {
      "each tells how many work, what its share is, and since when the oldest of all waits": async (bench) => {
        const { inbox } = bench;
        const alone = inbox.stats().workers;
        assert.deepEqual([alone?.alive, alone?.share], [1, 1]);
        const { inbox: other } = await bench.join();
        await passing(bench, () => {
          const [mine, others] = [inbox.stats().workers, other.stats().workers];
          assert.deepEqual([mine?.alive, others?.alive], [2, 2]);
          assert.equal((mine?.share ?? 0) + (others?.share ?? 0), 1);
        });
        const stored = mail(["a"]);
        await storeAll(inbox, stored);
        await passing(bench, () => {
          for (const each of [inbox, other])
            assert.equal(each.stats().oldestWaitingAt, stored.delivery.receivedAt, "not of the whole");
        });
      },
    },
};
