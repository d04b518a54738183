import fc from "fast-check";
import { createReceiver, type Receiver } from "hookline";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import type { WorkingInbox } from "../../../src/adapter.ts";
import { createUnsubscribeRateLimit } from "../../../src/ingest/unsubscribe-rate-limit.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

const SECRET = "a signing secret";
const MINUTE_MS = 60_000;

describe("receivers on one schema", () => {
  test("answer 422 as often as one of them may, whoever is asked", async () => {
    const { receive } = await receivers({ count: 3, gate: { maxUnsubscribesPerHour: 10 } });
    const statuses = await Promise.all(range(90).map((subscription) => receive(subscription % 3, subscription)));
    expect(statuses.filter((status) => status === 422)).toHaveLength(10);
    expect(statuses.filter((status) => status === 200)).toHaveLength(80);
  });

  test("count a subscription once, whichever of them saw it", async () => {
    const { receive } = await receivers({ count: 2, gate: { maxUnsubscribesPerHour: 2 } });
    expect([await receive(0, 1), await receive(1, 1), await receive(1, 2)]).toEqual([422, 422, 422]);
    expect([await receive(0, 3), await receive(1, 3), await receive(1, 1)]).toEqual([200, 200, 200]);
  });

  test("count what a handler of another one unsubscribes", async () => {
    const errors: unknown[] = [];
    const { receive, all } = await receivers({
      count: 2,
      gate: { maxUnsubscribesPerHour: 1 },
      prepare: (own) =>
        void own
          .unsubscribeWhen(({ subscription }, unsubscribe) => (subscription < 100 ? unsubscribe("gone") : undefined))
          .on("email", async (_, ctx) => {
            await ctx.unsubscribe("not ours").catch((error: unknown) => errors.push(error));
          }),
    });
    expect(await receive(0, 1)).toBe(422);
    await all[1]!.start();
    expect(await receive(1, 100)).toBe(200);
    await all[1]!.idle();
    expect(errors).toMatchObject([{ code: "unsubscribe-limit-reached" }]);
  });

  test("begin anew with what the hour left, because a restart gives nothing back", async () => {
    const { database, receive } = await receivers({ count: 1, gate: { maxUnsubscribesPerHour: 1 } });
    expect(await receive(0, 1)).toBe(422);
    const next = receiverOn(openDatabase(database.connectionString), { maxUnsubscribesPerHour: 1 });
    expect([await next.receive(2), await next.receive(1)]).toEqual([200, 200]);
  });

  test("answer no 422 with a limit of 0, also for what was allowed before", async () => {
    const { database, receive } = await receivers({ count: 1, gate: { maxUnsubscribesPerHour: 1 } });
    expect(await receive(0, 1)).toBe(422);
    const next = receiverOn(openDatabase(database.connectionString), { maxUnsubscribesPerHour: 0 });
    expect(await next.receive(1)).toBe(200);
  });

  test("answer no 422 when the count cannot be read: the delivery is stored", async () => {
    const { query, receive, logs } = await receivers({ count: 2 });
    expect([await receive(0, 1), await receive(1, 1)]).toEqual([422, 422]);
    await query("alter table hookline.meta rename to other");
    expect([await receive(0, 1), await receive(1, 2)]).toEqual([200, 200]);
    for (const log of logs) expect(log.of("unsubscribe-limit-unknown")).toMatchObject([{ level: "error" }]);
    await query("alter table hookline.other rename to meta");
    expect(await receive(1, 2)).toBe(422);
  });

  test("answer no 422 while another transaction holds the count", async () => {
    const { query, receive, logs } = await receivers({ count: 1, gate: { timeoutMs: 100 } });
    expect(await receive(0, 1)).toBe(422);
    await query("begin");
    await query("select from hookline.meta for update");
    expect(await receive(0, 2)).toBe(200);
    expect(logs[0]!.of("unsubscribe-limit-unknown")).toMatchObject([{ facts: { timeoutMs: 100 } }]);
    await query("rollback");
  });

  test("answer no 422 where what is stored is not a count", async () => {
    const { query, receive } = await receivers({ count: 1 });
    expect(await receive(0, 1)).toBe(422);
    await query("update hookline.meta set value = 'x' where key = 'unsubscribes'");
    expect(await receive(0, 1)).toBe(200);
  });
});

describe("the count in the tables", () => {
  test("never allows more than the limit, however many processes ask at once", async () => {
    const { database } = await empty();
    const inboxes = await Promise.all(range(4).map(() => opened(openDatabase(database.connectionString))));
    const asked = fc.record({
      maxPerHour: fc.integer({ min: 0, max: 8 }),
      calls: fc.array(fc.record({ by: fc.nat(3), subscription: fc.nat(15) }), { minLength: 1, maxLength: 40 }),
    });
    let round = 0;
    await fc.assert(
      fc.asyncProperty(asked, async ({ maxPerHour, calls }) => {
        // A fresh row: sources of other rounds do not count.
        await database.query("delete from hookline.meta where key = 'unsubscribes'");
        const source = String((round += 1));
        const answers = await Promise.all(
          calls.map(({ by, subscription }) => inboxes[by]!.allowUnsubscribe!({ subscription, source, maxPerHour })),
        );
        const allowed = new Set(calls.filter((_, index) => answers[index]).map(({ subscription }) => subscription));
        const different = new Set(calls.map(({ subscription }) => subscription));
        expect(allowed.size).toBe(Math.min(maxPerHour, different.size));
      }),
      { numRuns: 40 },
    );
  });

  test("answers as the count of one process does, over hours and with other limits in between", async () => {
    const { database } = await empty();
    const inbox = await opened(openDatabase(database.connectionString));
    // No sum of these passes is a multiple of 20 or 60 minutes: time goes on here meanwhile.
    const step = fc.oneof(
      { weight: 4, arbitrary: fc.record({ subscription: fc.nat(7), source: fc.constantFrom(undefined, "a") }) },
      { weight: 1, arbitrary: fc.integer({ min: 1, max: 9 }).map((sevens) => ({ minutes: sevens * 7 + 0.5 })) },
    );
    await fc.assert(
      fc.asyncProperty(fc.array(step, { maxLength: 25 }), async (steps) => {
        await database.query("delete from hookline.meta where key = 'unsubscribes'");
        const clock = fakeClock();
        const model = createUnsubscribeRateLimit(3, clock, {});
        for (const one of steps) {
          if ("minutes" in one) {
            await clock.advance(one.minutes * MINUTE_MS);
            await passed(database, one.minutes * MINUTE_MS);
          } else {
            const { subscription, source } = one;
            const expected = await model.allows(subscription, source);
            expect(await inbox.allowUnsubscribe!({ subscription, source, maxPerHour: 3 })).toBe(expected);
          }
        }
      }),
      { numRuns: 40 },
    );
  });

  test("forgets an allowed subscription after an hour: it counts again", async () => {
    const { database } = await empty();
    const inbox = await opened(openDatabase(database.connectionString));
    const allows = (subscription: number) =>
      inbox.allowUnsubscribe!({ subscription, source: undefined, maxPerHour: 1 });
    expect(await allows(1)).toBe(true);
    await passed(database, 61 * MINUTE_MS);
    expect([await allows(1), await allows(2)]).toEqual([true, false]);
  });

  test("gives nothing back when the server's clock went back, and recovers", async () => {
    const { database } = await empty();
    const inbox = await opened(openDatabase(database.connectionString));
    const allows = (subscription: number) =>
      inbox.allowUnsubscribe!({ subscription, source: undefined, maxPerHour: 1 });
    expect(await allows(1)).toBe(true);
    await passed(database, -30 * MINUTE_MS);
    expect(await allows(2)).toBe(false);
    // By the clock as it was: how long ago that is nobody knows.
    await passed(database, 61 * MINUTE_MS);
    expect(await allows(2)).toBe(false);
    await passed(database, 30 * MINUTE_MS);
    expect(await allows(2)).toBe(true);
  });

  test("never allows more than the limit within 60 minutes, whenever they begin", async () => {
    const { database } = await empty();
    const inbox = await opened(openDatabase(database.connectionString));
    let allowed = 0;
    for (let minutes = 0; minutes < 58; minutes += 6) {
      for (const one of [1, 2, 3])
        if (await inbox.allowUnsubscribe!({ subscription: minutes + one, source: undefined, maxPerHour: 10 }))
          allowed += 1;
      await passed(database, 6 * MINUTE_MS);
    }
    expect(allowed).toBe(10);
  });
});

interface Database {
  readonly connectionString: string;
  query(text: string, values?: readonly unknown[]): Promise<readonly unknown[]>;
}

/** For the count: all that it remembers is so much older. */
async function passed({ query }: Database, ms: number): Promise<void> {
  await query(
    `update hookline.meta set value = (select jsonb_build_object('at', (v->>'at')::float8 - $1::float8,
       'allowed', (select coalesce(jsonb_object_agg(key, value::float8 - $1::float8), '{}') from jsonb_each(v->'allowed')))
     from (select value::jsonb as v) as was) where key = 'unsubscribes'`,
    [ms],
  );
}

async function empty(): Promise<{ readonly database: Database }> {
  const { connectionString, drop } = await newDatabase();
  const client = new pg.Client({ connectionString });
  await client.connect();
  onTestFinished(async () => {
    await client.end();
    await drop();
  });
  const query = async (text: string, values: readonly unknown[] = []) =>
    (await client.query(text, values as unknown[])).rows as readonly unknown[];
  return { database: { connectionString, query } };
}

async function opened(inbox: WorkingInbox): Promise<WorkingInbox> {
  const { logger } = logRecorder();
  await inbox.open({ name: "default", clock: fakeClock(), log: logger, dedupeWindowMs: 1 });
  onTestFinished(() => inbox.close());
  return inbox;
}

interface Setup {
  readonly count: number;
  readonly gate?: { readonly maxUnsubscribesPerHour?: number; readonly timeoutMs?: number };
  /** @default a gate that always decides to unsubscribe */
  readonly prepare?: (receiver: Receiver<"network">) => void;
}

async function receivers({ count, gate = {}, prepare }: Setup) {
  const { database } = await empty();
  const own = range(count).map(() => receiverOn(openDatabase(database.connectionString), gate, prepare));
  return {
    database,
    query: database.query,
    logs: own.map(({ log }) => log),
    all: own.map(({ receiver }) => receiver),
    receive: (index: number, subscription: number) => own[index]!.receive(subscription),
  };
}

function receiverOn(
  inbox: WorkingInbox,
  gate: NonNullable<Setup["gate"]> = {},
  prepare: NonNullable<Setup["prepare"]> = (own) => void own.unsubscribeWhen((_, unsubscribe) => unsubscribe("a bug")),
) {
  const log = logRecorder();
  const receiver = createReceiver({
    secret: SECRET,
    storeTimeoutMs: 60_000,
    gate: { timeoutMs: 60_000, ...gate },
    inbox: inbox as WorkingInbox<"network">,
    log: log.logger,
  });
  prepare(receiver);
  onTestFinished(() => void receiver.close({ drainMs: 0 }));
  return {
    receiver,
    log,
    async receive(subscription: number): Promise<number> {
      const body = bodyOf({ subscription, payloads: [change("a")] });
      return (await receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }))).status;
    },
  };
}

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, index) => index);
}
