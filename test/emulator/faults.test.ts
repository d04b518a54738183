import { describe, expect, test } from "vitest";
import { createReceiver, memoryInbox } from "../../src/index.ts";
import { nodeReceiver } from "../../adapters/http/node.ts";
import type { Fault } from "../../src/emulator.ts";
import { serve, startEmulator, startPair, type Pair } from "./support.ts";

const entriesOf = ({ receiver }: Pair) =>
  receiver.received.map(({ body }) => (JSON.parse(body) as { readonly payloads: readonly { id: string }[] }).payloads);

async function receive({ emulator, account }: Pair, count = 1): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let sent = 0; sent < count; sent += 1) ids.push((await account.receiveMail()).id);
  await emulator.settled();
  return ids;
}

describe("a fault of every delivery, until it is taken back", () => {
  test("duplicate: the same bytes and signature twice", async () => {
    const pair = await startPair();
    pair.emulator.fault(pair.id, "duplicate");
    await receive(pair);
    const [first, second] = pair.receiver.received;
    expect(pair.receiver.received).toHaveLength(2);
    expect(second?.body).toBe(first?.body);
    expect(second?.headers["x-aurinko-signature"]).toBe(first?.headers["x-aurinko-signature"]);
    pair.emulator.fault(pair.id, undefined);
    await receive(pair);
    expect(pair.receiver.received).toHaveLength(3);
  });

  test("reorder: each pair changes places, and the last one of an odd number follows after a second", async () => {
    const pair = await startPair();
    pair.emulator.fault(pair.id, "reorder");
    const [a, b, c] = await receive(pair, 3);
    const ids = () => entriesOf(pair).flatMap((entries) => entries.map(({ id }) => id));
    expect(ids()).toEqual([b, a]);
    await pair.emulator.advance(1_000);
    expect(ids()).toEqual([b, a, c]);
  });

  test("split: an entry each; merge: all of a second in one", async () => {
    const pair = await startPair();
    const entries = ["m-1", "m-2", "m-3"].map((id) => ({ id, changeType: "updated" }));
    pair.emulator.fault(pair.id, "split");
    await pair.emulator.emit(pair.id, entries);
    await pair.emulator.settled();
    expect(entriesOf(pair)).toEqual(entries.map((entry) => [entry]));
    pair.emulator.fault(pair.id, "merge");
    for (const entry of entries) await pair.emulator.emit(pair.id, [entry]);
    await pair.emulator.settled();
    expect(entriesOf(pair)).toHaveLength(3);
    await pair.emulator.advance(1_000);
    expect(entriesOf(pair)[3]).toEqual(entries);
  });

  test("what was held back is sent when the fault is taken back", async () => {
    const pair = await startPair();
    pair.emulator.fault(pair.id, "merge");
    const [held] = await receive(pair);
    pair.emulator.fault(pair.id, undefined);
    const [next] = await receive(pair);
    expect(entriesOf(pair).map(([entry]) => entry?.id)).toEqual([held, next]);
  });

  test("delay, and a batch of 30,000 entries about as many records", async () => {
    const pair = await startPair();
    pair.emulator.fault(pair.id, { delayMs: 5_000 });
    await receive(pair);
    await pair.emulator.advance(4_999);
    expect(pair.receiver.received).toEqual([]);
    await pair.emulator.advance(1);
    expect(pair.receiver.received).toHaveLength(1);
    pair.emulator.fault(pair.id, { entries: 30_000 });
    await receive(pair);
    expect(new Set(entriesOf(pair)[1]?.map(({ id }) => id)).size).toBe(30_000);
  });

  test("lose-answer: a 200 that the service never saw, so it sends again", async () => {
    const pair = await startPair();
    pair.emulator.fault(pair.id, "lose-answer");
    await receive(pair);
    expect(pair.emulator.journal).toMatchObject([
      { status: undefined, answer: { status: 200 }, failure: "the answer was lost", outcome: "redelivery" },
    ]);
    pair.emulator.fault(pair.id, undefined);
    await pair.emulator.advance(1_000);
    expect(pair.emulator.journal[1]).toMatchObject({ status: 200, attempt: 2 });
  });

  test("slow-body: ten pieces in nine seconds", async () => {
    const pair = await startPair();
    pair.emulator.fault(pair.id, "slow-body");
    const [id] = await pair.account.receiveMail().then((mail) => [mail.id]);
    await pair.emulator.advance(8_999);
    expect(pair.receiver.received).toEqual([]);
    await pair.emulator.advance(1);
    expect(entriesOf(pair)[0]?.[0]?.id).toBe(id);
    expect(pair.emulator.journal[0]).toMatchObject({ status: 200, at: new Date("2026-01-02T03:04:05Z") });
  });

  test("silence: half of the body, then nothing for 30 s", async () => {
    const pair = await startPair({ deliveryTimeoutMs: 60_000 });
    pair.emulator.fault(pair.id, "silence");
    await pair.account.receiveMail();
    await pair.emulator.advance(29_999);
    expect(pair.emulator.attempts).toBe(0);
    await pair.emulator.advance(1);
    expect(pair.emulator.journal).toMatchObject([{ failure: "the connection was cut after 30 s of silence" }]);
    expect(pair.receiver.received).toEqual([]);
  });

  test("unknown-values: fields and a change that nobody knows", async () => {
    const pair = await startPair();
    pair.emulator.fault(pair.id, "unknown-values");
    const [id] = await receive(pair);
    expect(JSON.parse(pair.receiver.received[0]?.body ?? "")).toMatchObject({
      schemaVersion: 2,
      payloads: [
        { id, changeType: "created", hint: { folder: "inbox" } },
        { id, changeType: "archived", hint: { folder: "inbox" } },
      ],
    });
  });
});

describe("what a receiver of ours makes of", () => {
  async function withReceiver(): Promise<Pair & { readonly statuses: () => readonly (number | undefined)[] }> {
    const emulator = await startEmulator();
    const { secret, clock } = emulator;
    const receiver = createReceiver({ secret, inbox: memoryInbox(), clock, log: false });
    const { url } = await serve(nodeReceiver(receiver, { path: "/webhooks" }));
    const account = await emulator.account();
    const id = await emulator.subscribe(account, "/email/messages", url);
    const statuses = () => emulator.journal.map(({ status }) => status);
    return { emulator, account, id, receiver: { url, received: [], answers: [], close: async () => {} }, statuses };
  }

  test("a wrong signature: 401, and 200 for the same delivery when it is signed rightly", async () => {
    const pair = await withReceiver();
    pair.emulator.fault(pair.id, "wrong-signature");
    await receive(pair);
    pair.emulator.fault(pair.id, undefined);
    await pair.emulator.advance(1_000);
    expect(pair.statuses()).toEqual([401, 200]);
  });

  test.each([
    [299, 200],
    [301, 401],
    [-6 * 86_400, 200],
    [-8 * 86_400, 401],
  ])("a clock that is %d s off: %d", async (clockSkewSeconds, status) => {
    const pair = await withReceiver();
    pair.emulator.fault(pair.id, { clockSkewSeconds });
    await receive(pair);
    expect(pair.statuses()).toEqual([status]);
  });

  test("a replay after a forgery: what is sent again is a request of the service", async () => {
    const pair = await withReceiver();
    pair.emulator.fault(pair.id, ["wrong-signature"]);
    await receive(pair);
    await pair.emulator.advance(1_000);
    pair.emulator.fault(pair.id, "replay");
    await receive(pair);
    expect(pair.statuses()).toEqual([401, 200, 200, 200]);
  });

  test("an old request that is replayed: it has its old timestamp, and its answer decides nothing", async () => {
    const pair = await withReceiver();
    await receive(pair);
    await pair.emulator.advance(8 * 86_400_000);
    pair.emulator.fault(pair.id, "replay");
    await receive(pair);
    const [old, fresh, replayed] = pair.emulator.journal.toSorted(
      (a, b) => Number(a.outcome === "ignored") - Number(b.outcome === "ignored"),
    );
    expect(fresh).toMatchObject({ status: 200, outcome: "acknowledged" });
    expect(replayed).toMatchObject({ status: 401, outcome: "ignored", body: old?.body, headers: old?.headers });
    await pair.emulator.advance(600_000);
    expect(pair.emulator.attempts).toBe(3);
  });

  test.each(["unknown-values", "slow-body", "split", { entries: 2_000 }] satisfies Fault[])(
    "%j: 200",
    async (fault) => {
      const pair = await withReceiver();
      pair.emulator.fault(pair.id, fault);
      await pair.account.receiveMail();
      await pair.emulator.advance(10_000);
      expect(pair.statuses()).toEqual([200]);
    },
  );
});

describe("a script", () => {
  test("is one fault for each of the next deliveries, of their first attempt alone", async () => {
    const pair = await startPair();
    pair.emulator.fault(pair.id, ["lose-answer", undefined, "duplicate"]);
    await receive(pair, 4);
    await pair.emulator.advance(1_000);
    expect(pair.emulator.journal.map(({ delivery, attempt, status }) => [delivery, attempt, status])).toEqual([
      [1, 1, undefined],
      [2, 1, 200],
      [3, 1, 200],
      [4, 1, 200],
      [5, 1, 200],
      [1, 2, 200],
    ]);
  });

  test.each([
    ["loud"],
    [{ entries: 0 }],
    [{ delayMs: 1.5 }],
    [{ entries: 1, delayMs: 1 }],
    [null],
    [["duplicate", "loud"]],
  ])("of %j is refused", async (fault) => {
    const pair = await startPair();
    expect(() => pair.emulator.fault(pair.id, fault as Fault)).toThrow(
      expect.objectContaining({ code: "fault-invalid" }) as Error,
    );
  });
});
