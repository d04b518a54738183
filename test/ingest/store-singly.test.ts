import { StorageError } from "hookline";
import { describe, expect, test } from "vitest";
import { createInboxWatch } from "../../src/inbox/standstill-watch.ts";
import type { NewDelivery, NewEvent, StoreResult } from "../../src/inbox/port/delivery.ts";
import type { WritingInbox } from "../../src/inbox/port/inbox.ts";
import { createInFlightBytes } from "../../src/ingest/body-limits.ts";
import { createDeliveryStore } from "../../src/ingest/store.ts";
import type { Admitted } from "../../src/ingest/types.ts";
import { deferred, turns, watch as record } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

type Answers = Awaited<ReturnType<WritingInbox["store"]>>;

const textOf = ({ delivery }: Pick<NewDelivery, "delivery">): string => Buffer.from(delivery.body).toString();

/** Each result names its delivery. */
function accept(given: readonly NewDelivery[]): StoreResult[] {
  return given.map((each) => ({ id: `id of ${textOf(each)}`, expanded: true, duplicates: [], conflicts: [] }));
}

/** What the dispatcher would make of a delivery: told apart by its object alone. */
function storing(store: (given: readonly NewDelivery[]) => Promise<Answers>) {
  const clock = fakeClock();
  const watch = createInboxWatch(clock);
  const calls: string[][] = [];
  const given: NewDelivery[] = [];
  const expanded: string[] = [];
  const expanding: string[] = [];
  const eventsOf = new Map<string, readonly NewEvent[]>();
  const told: { text: string; id: string; areItsOwn: boolean }[] = [];
  let commits = 0;
  const deliveries = createDeliveryStore({
    watch,
    inbox: stubInbox(() => ({
      store(all) {
        calls.push(all.map((each) => textOf(each)));
        given.push(...all);
        return store(all);
      },
    })) as WritingInbox,
    inFlightBytes: createInFlightBytes(1_000_000),
    timeoutMs: 1_000_000,
    clock,
    expand: (batch) =>
      batch.map((each) => {
        const text = textOf(each);
        expanded.push(text);
        if (text.startsWith("unexpanded")) return undefined;
        eventsOf.set(text, []);
        return eventsOf.get(text);
      }),
    expanding(_events, delivery) {
      expanding.push(textOf({ delivery }));
      return undefined;
    },
    stored: (admitted, { id }, events) =>
      told.push({ text: textOf(admitted), id, areItsOwn: events === eventsOf.get(textOf(admitted)) }),
    committed: () => void (commits += 1),
    isolateRequests: false,
    instruments: {},
  });

  /** Several in one turn of the event loop. @returns the ids, or the codes of what was refused */
  async function put(...texts: readonly string[]): Promise<readonly (string | undefined)[]> {
    const answers = await Promise.all(
      texts.map((text) => deliveries.store({ delivery: makeDelivery(text), idInQueue: `queued ${text}` } as Admitted)),
    );
    return answers.map((answer) => ("id" in answer ? answer.id : answer.code));
  }

  async function passSeconds(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await turns();
      await clock.advance(1_000);
    }
    await turns();
  }

  return {
    put,
    passSeconds,
    watch,
    calls,
    given,
    expanded,
    expanding,
    eventsOf,
    told,
    commits: () => commits,
  };
}

describe("a batch that the inbox rejects is stored one by one:", () => {
  test("each delivery with its own events, its own id in the queue and its own answer", async () => {
    const own = storing(async (given) => {
      if (given.some((each) => textOf(each) === "bad")) throw new Error("22021");
      return accept(given);
    });
    const texts = ["a", "unexpanded", "bad", "b"];
    expect(await own.put(...texts)).toEqual(["id of a", "id of unexpanded", "storage-failed", "id of b"]);
    expect(own.calls).toEqual([texts, ...texts.map((text) => [text])]);
    for (const each of own.given) {
      expect(each.idInQueue).toBe(`queued ${textOf(each)}`);
      expect(each.events).toBe(own.eventsOf.get(textOf(each)));
    }
    expect(own.told).toEqual(["a", "unexpanded", "b"].map((text) => ({ text, id: `id of ${text}`, areItsOwn: true })));
  });

  test("no delivery is expanded twice, and each one's jobs are told of after its own commit", async () => {
    const own = storing(async (given) => {
      if (given.length > 1) throw new Error("no");
      return accept(given);
    });
    await own.put("a", "b", "c");
    expect([own.expanded, own.expanding, own.commits()]).toEqual([["a", "b", "c"], ["a", "b", "c"], 4]);
  });

  test("the error of the one that fails is its own", async () => {
    const own = storing(async (given) => {
      if (given.length > 1) throw new Error("one of them");
      if (textOf(given[0] as NewDelivery) === "b") throw new StorageError("inbox-full", "Full.");
      return accept(given);
    });
    expect(await own.put("a", "b", "c")).toEqual(["id of a", "inbox-full", "id of c"]);
  });

  test.each([
    ["as soon as one of the first two is stored, all are tried", 1, 5],
    ["where the first two fail, the others are not", 2, 3],
  ])("%s", async (_, failing, calls) => {
    const own = storing(async (given) => {
      if (given.length > 1 || Number(textOf(given[0] as NewDelivery)) < failing) throw new Error("no");
      return accept(given);
    });
    const answers = await own.put("0", "1", "2", "3");
    expect(own.calls).toHaveLength(calls);
    expect(answers.filter((answer) => answer === "storage-failed")).toHaveLength(failing === 1 ? 1 : 4);
  });

  test("a batch of one is not tried twice", async () => {
    const own = storing(() => Promise.reject(new Error("no")));
    expect(await own.put("a")).toEqual(["storage-failed"]);
    expect(own.calls).toEqual([["a"]]);
  });
});

describe("a store that gives no answer", () => {
  test("is not tried one by one: what waits for an answer may be stored", async () => {
    const own = storing(() => new Promise(() => {}));
    const answers = record(own.put("a", "b", "c"));
    await own.passSeconds(40);
    expect(answers.value).toEqual(["storage-failed", "storage-failed", "storage-failed"]);
    expect(own.calls).toEqual([["a", "b", "c"]]);
    expect(own.watch.standstill()).toMatchObject({ step: "store", cause: { code: "inbox-hung" } });
  });

  test("until after its limit has stored all the same: its jobs are told of", async () => {
    const { promise, resolve } = deferred<StoreResult[]>();
    const own = storing((given) => promise.then(() => accept(given)));
    record(own.put("a", "b"));
    await own.passSeconds(40);
    resolve([]);
    await turns();
    expect(own.told.map(({ id }) => id)).toEqual(["id of a", "id of b"]);
    expect(own.watch.standstill()).toBeUndefined();
    expect(own.watch.written).toBe(1);
  });

  test("while deliveries are tried one by one fails that one alone", async () => {
    const own = storing(async (given) => {
      if (given.length > 1) throw new Error("no");
      return textOf(given[0] as NewDelivery) === "b" ? new Promise<never>(() => {}) : accept(given);
    });
    const answers = record(own.put("a", "b", "c"));
    await own.passSeconds(40);
    expect(answers.value).toEqual(["id of a", "storage-failed", "id of c"]);
  });
});

test("an answer of the inbox is one, also where it says no: no standstill", async () => {
  const own = storing(() => Promise.reject(new Error("no")));
  for (let second = 0; second < 30; second += 1) {
    await own.put("a", "b");
    await own.passSeconds(1);
  }
  expect(own.watch.standstill()).toBeUndefined();
  expect(own.watch.written).toBe(0);
});

test("an answer that refuses every delivery is nothing written", async () => {
  const own = storing(async (given) => given.map(() => new StorageError("inbox-full", "Full.")));
  expect(await own.put("a", "b")).toEqual(["inbox-full", "inbox-full"]);
  expect(own.watch.written).toBe(0);
});
