import assert from "node:assert/strict";
import type { JobOutcome } from "../../../src/inbox/port/claims.ts";
import type { Expansion, NewEvent } from "../../../src/inbox/port/delivery.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { mail, notice, one, raw, told, UNHANDLED, type FullDelivery } from "./deliveries.ts";
import type { InboxBench, InboxPromises } from "./fixture.ts";
import { claimAll, claimOne, dead, done, findAll, recordsIn, recordsOf, retry, settleAll, storeAll } from "./verbs.ts";

/** The text of an error, of a header or of a name: what databases and files do not take, and what is long. */
const TEXTS: Readonly<Record<string, string>> = {
  NUL: "a\0b",
  "half a surrogate pair": "a\uD83D",
  "20 kB": "long ".repeat(4_000),
  nothing: "",
};

/** The dispatcher gives no others as lanes. */
const WELL_FORMED = Object.fromEntries(Object.entries(TEXTS).filter(([, text]) => !/\p{Surrogate}/u.test(text)));

type Part = "delivery" | "event" | "job";

/** A delivery of one record that is odd in something. */
function odd(id: string, part: Part, fields: object): FullDelivery {
  const given = mail([{ id, ...(part === "job" ? fields : {}) }]);
  const change = <T>(whole: T, name: Part): T => (part === name ? { ...whole, ...fields } : whole);
  return {
    delivery: change(given.delivery, "delivery"),
    events: given.events.map(({ event, ...rest }) => Object.assign(rest, { event: change(event, "event") })),
  };
}

type Make = (id: string) => FullDelivery;

const ODD_EVENTS: Readonly<Record<string, Make>> = {
  ...ofTexts("a lane", (lane) => ["job", { lane }]),
  ...ofTexts("a merge key", (mergeKey) => ["job", { mergeKey }]),
  ...ofTexts("a consumer", (consumer) => ["job", { consumer }]),
  "an account at the edge of safe integers": (id) => mail([id], { accountId: Number.MAX_SAFE_INTEGER }),
  "an account with a fraction": (id) => odd(id, "event", { accountId: 1.5 }),
  "a subscription beyond 64 bits": (id) => odd(id, "event", { subscription: 1e30 }),
};

const ODD_DELIVERIES: Readonly<Record<string, Make>> = {
  ...ofTexts("a source", (source) => ["delivery", { source }]),
  ...ofTexts("a header", (text) => ["delivery", { headers: { "content-type": text } }]),
  ...ofTexts("the name of its secret", (signedBy) => ["delivery", { signedBy }]),
  "a name of a header that is a member of all objects": (id) =>
    odd(id, "delivery", { headers: JSON.parse('{"__proto__":"a","constructor":"b"}') as object }),
  "a time with a fraction": (id) => odd(id, "delivery", { receivedAt: 1_767_323_045_000.5, sentAt: 1.25 }),
  ...ODD_EVENTS,
};

function ofTexts(
  where: string,
  fields: (text: string) => [Part, object],
): Record<string, (id: string) => FullDelivery> {
  return Object.fromEntries(
    Object.entries(TEXTS).map(([what, text]) => [`${what} in ${where}`, (id: string) => odd(id, ...fields(text))]),
  );
}

function casesOf<T>(
  all: Readonly<Record<string, T>>,
  sentence: string,
  proof: (bench: InboxBench, value: T) => Promise<void>,
): InboxPromises[string] {
  return Object.fromEntries(
    Object.entries(all).map(([what, value]) => [`${what} ${sentence}`, (bench: InboxBench) => proof(bench, value)]),
  );
}

/** Like the dispatcher: what was rejected comes again alone, then with a job of nobody, then with none. */
async function expandAll(inbox: WorkingInbox, all: readonly Expansion[]): Promise<void> {
  if (await takes(inbox.expand(all))) return;
  const without = (events: readonly NewEvent[], jobs: NewEvent["jobs"]): NewEvent[] =>
    events.map((event) => ({ ...event, jobs }));
  for (const alone of all) {
    const tries = [alone.events, without(alone.events, [UNHANDLED]), []];
    let isTaken = false;
    for (const events of tries) isTaken ||= await takes(inbox.expand([{ ...alone, events }]));
    assert.ok(isTaken, `delivery ${alone.id} was never expanded`);
  }
}

async function takes(call: Promise<unknown>): Promise<boolean> {
  return call.then(
    () => true,
    () => false,
  );
}

/** Settles like the dispatcher: what was rejected comes again alone, and then as dead. */
async function endAll(bench: InboxBench, outcomes: readonly JobOutcome[]): Promise<void> {
  const claims = await claimAll(bench.inbox);
  const settlements = claims.map((claim, index) => ({ claim, outcomes: [outcomes[index] ?? done] }));
  if (await takes(bench.inbox.settle(settlements))) return;
  for (const alone of settlements) {
    const buried = { claim: alone.claim, outcomes: [dead(bench)] };
    const isTaken = (await takes(bench.inbox.settle([alone]))) || (await takes(bench.inbox.settle([buried])));
    assert.ok(isTaken, `${recordsOf([alone.claim]).join()} was never settled`);
  }
}

function later(bench: InboxBench, fields: object): JobOutcome {
  return Object.assign({}, retry(bench, 1_000), fields);
}

const OUTCOMES: Readonly<Record<string, (bench: InboxBench) => JobOutcome>> = {
  ...Object.fromEntries(
    Object.entries(TEXTS).flatMap(([what, text]) => [
      [
        `${what} in the message of a retry`,
        (bench) => later(bench, { error: { name: "Error", message: text, at: 1 } }),
      ],
      [
        `${what} in the name of a dead job's error`,
        () => ({ to: "dead", error: { name: text, message: "no", at: 1 } }),
      ],
    ]) as [string, (bench: InboxBench) => JobOutcome][],
  ),
  "a delay with a fraction": (bench) => retry(bench, 1_234.567),
  "a time with a fraction": (bench) => later(bench, { at: bench.clock.now() + 0.5 }),
  "a time that is no number": (bench) => later(bench, { at: Number.NaN }),
  "a time beyond all": (bench) => later(bench, { at: 1e300, delayMs: 1e300 }),
  "an error's time that is no number": () => ({ to: "dead", error: { name: "a", message: "b", at: Number.NaN } }),
};

const WAITING = { states: ["waiting"] } as const;

/** What one value may break, for it alone: nothing else of its batch, of its lane or of the inbox. */
export const oddValues: InboxPromises = {
  "store: No text and no number in a delivery keeps it, or another, from being stored; what the store does not hold, such as NUL, it replaces.":
    {
      ...casesOf(
        ODD_DELIVERIES,
        "keeps nothing from being stored, nor from being claimed later",
        async (bench, make) => {
          const { inbox } = bench;
          await storeAll(inbox, mail(["a"]), make("b"), mail(["c"]));
          await bench.restart();
          const claims = await claimAll(inbox);
          assert.deepEqual(recordsOf(claims), [["a"], ["b"], ["c"]]);
          assert.deepEqual(
            await inbox.settle(claims.map((claim) => ({ claim, outcomes: [done] }))),
            claims.map(() => true),
          );
          assert.deepEqual([inbox.ready(), inbox.stats().waiting], [{ ready: true }, 0]);
        },
      ),

      ...casesOf(WELL_FORMED, "in a lane is one lane, in order, after a restart too", async (bench, lane) => {
        const { inbox } = bench;
        await storeAll(inbox, mail([{ id: "a", lane }]), mail([{ id: "b", lane }]));
        await bench.restart();
        const [first, ...others] = await claimAll(inbox);
        assert.ok(first !== undefined);
        assert.deepEqual([recordsOf([first]), others], [[["a"]], []]);
        await storeAll(inbox, mail([{ id: "c", lane }]));
        await settleAll(inbox, first, done);
        const second = await claimOne(inbox);
        assert.deepEqual(recordsOf([second]), [["b"]]);
        await settleAll(inbox, second, done);
        assert.deepEqual(recordsOf(await claimAll(inbox)), [["c"]]);
      }),

      ...casesOf(TEXTS, "in a unique key is told once", async ({ inbox }, key) => {
        await storeAll(inbox, told({ key, content: "a" }));
        const [again] = await storeAll(inbox, told({ key, content: "a" }));
        assert.deepEqual([again?.duplicates, (await claimAll(inbox)).length], [[0], 1]);
      }),

      ...casesOf(TEXTS, "in the id of a queue is stored once", async ({ inbox }, idInQueue) => {
        await storeAll(inbox, { ...mail(["a"]), idInQueue });
        const [again, other] = await storeAll(inbox, { ...mail(["a"]), idInQueue }, mail(["b"]));
        assert.deepEqual([again?.isRepeated, other?.isRepeated], [true, undefined]);
        assert.deepEqual(recordsOf(await claimAll(inbox)), [["a"], ["b"]]);
      }),

      "an id of 1 kB comes back whole": async (bench) => {
        const id = "é😀".repeat(171);
        await storeAll(bench.inbox, mail([id]), mail(["b"]));
        await bench.restart();
        assert.deepEqual(recordsOf(await claimAll(bench.inbox)), [[id], ["b"]]);
      },

      "an account at the edge of safe integers is erased, and no other": async ({ inbox }) => {
        const edge = Number.MAX_SAFE_INTEGER;
        await storeAll(inbox, mail(["a"], { accountId: edge }), mail(["b"], { accountId: edge - 1 }), mail(["c"]));
        assert.equal((await inbox.jobs.erase(edge)).count, 1);
        assert.deepEqual(recordsOf(await claimAll(inbox)), [["b"], ["c"]]);
      },
    },

  "expand: After a rejection expansions come again one by one, and one that is never taken comes with other jobs, or none.":
    casesOf(ODD_EVENTS, "keeps no other from being expanded", async (bench, make) => {
      const { inbox } = bench;
      const given = [mail(["a"]), make("b"), mail(["c"])];
      const stored = await storeAll(inbox, ...given.map(raw));
      await expandAll(
        inbox,
        given.map(({ events }, index) => ({ id: stored[index]?.id ?? "", events, cursor: undefined })),
      );
      assert.deepEqual([await inbox.unexpanded(10), inbox.stats().unexpanded], [[], 0]);
      const records = recordsOf(await claimAll(inbox)).flat();
      assert.deepEqual(
        records.filter((id) => id !== "b"),
        ["a", "c"],
      );
    }),

  "settle: After a rejection, which may have written, each settlement comes again alone; one that is never taken while others are, as dead.":
    casesOf(OUTCOMES, "keeps no other from being settled", async (bench, make) => {
      const { inbox, clock } = bench;
      await storeAll(inbox, mail(["a"]), mail([one("b")]), mail(["c"]), mail([one("behind b")]));
      const wanted = make(bench);
      await endAll(bench, [done, wanted, retry(bench, 1_000)]);
      const [buried, waiting] = [await recordsIn(inbox, { states: ["dead"] }), await recordsIn(inbox, WAITING)];
      assert.deepEqual(await findAll(inbox, { states: ["running"] }), []);
      assert.deepEqual([waiting.includes("a"), waiting.includes("c"), buried.includes("c")], [false, true, false]);
      assert.ok(
        buried.includes("b") || (wanted.to === "retry" && waiting.includes("b")),
        "the job has not ended as told",
      );
      await bench.restart();
      await clock.advance(2_000);
      const records = new Set(recordsOf(await claimAll(inbox)).flat());
      assert.ok(records.has("c"), "another job of the call is not tried again");
      if (buried.includes("b")) assert.ok(records.has("behind b"), "the lane of the job is closed");
      assert.deepEqual(inbox.ready(), { ready: true });
    }),

  "put: Resolves when durable.": casesOf(
    TEXTS,
    "in a reason keeps no tombstone from being put",
    async (bench, reason) => {
      const { tombstones } = bench.inbox;
      await tombstones.put({ subscription: 1, source: undefined, reason });
      await tombstones.put({ subscription: 2, source: undefined, reason: "a bug" });
      await bench.restart();
      const found = [1, 2, 3].map((subscription) => tombstones.find(subscription, undefined)?.subscription);
      assert.deepEqual(found, [1, 2, undefined]);
      assert.equal((await tombstones.list()).length, 2);
    },
  ),

  "subscriptions: Written atomically with the jobs of a lifecycle notice.": casesOf(
    TEXTS,
    "in the error of a notice keeps no notice from being recorded",
    async (bench, error) => {
      const { inbox } = bench;
      await storeAll(inbox, notice(error, { subscription: 1 }), notice("invalid_grant", { subscription: 2 }));
      await bench.restart();
      const errored = inbox.subscriptions.errored().map(({ subscription }) => subscription);
      assert.deepEqual([errored, inbox.stats().unhandled], [[1, 2], 2]);
    },
  ),
};
