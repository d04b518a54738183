import { describe, expect, test } from "vitest";
import { createEmulator, emulatorMatchers, type EmulatorMatchers, type EmulatorOptions } from "../../src/emulator.ts";
import { createJournal, type Attempt } from "../../src/emulator/deliveries/journal.ts";
import { sample } from "../../src/testing.ts";
import { DAY_MS, startEmulator, startPair, startReceiver } from "./support.ts";

declare module "vitest" {
  interface Matchers<R, T> extends EmulatorMatchers<R> {}
}
expect.extend(emulatorMatchers);

/** Durations and the receiver's port differ from run to run, and so does the text of a broken connection. */
function withoutRealTime(attempt: Attempt): object {
  const { status, headers } = attempt.answer ?? {};
  const answer = status === undefined ? undefined : { status, type: headers?.["content-type"] };
  return { ...attempt, durationMs: 0, url: "", failure: attempt.failure !== undefined, answer };
}

test("leaves the globals of the app under test as they are", async () => {
  const globals = () =>
    ["Request", "Response", "fetch", "Temporal"].map((name) => Reflect.get(globalThis, name) as unknown);
  const before = globals();
  const emulator = await startEmulator();
  await fetch(`${emulator.url}/emulator/state`);
  for (const [index, value] of globals().entries()) expect(value).toBe(before[index]);
});

test.each([
  ["DELETE", {}, 404],
  ["POST", { body: chunks("{}"), duplex: "half" }, 405],
] as const)("takes a %s without a Content-Length", async (method, sent, status) => {
  const emulator = await startEmulator();
  const { token } = await emulator.account();
  const request = { method, headers: { Authorization: `Bearer ${token}` }, ...sent };
  expect((await fetch(`${emulator.url}/v1/subscriptions/7`, request)).status).toBe(status);
});

describe("the same seed and program", () => {
  test("have the same journal twice, but for durations and the port", async () => {
    const stories = [];
    for (let run = 0; run < 2; run += 1) {
      const { emulator, receiver, account, id } = await startPair({ seed: 42 });
      const second = await emulator.subscribe(account, "/calendars/primary/events", receiver.url);
      receiver.answers.push(503, 500, undefined, 200, 429, 404, 200, 503);
      emulator.fault(id, ["duplicate", "slow-body", "lose-answer"]);
      emulator.fault(second, "unknown-values");
      for (let round = 0; round < 5; round += 1) {
        await account.receiveMail();
        await account.addEvent();
      }
      await emulator.advance(DAY_MS);
      await account.expireCredentials();
      await emulator.settled();
      stories.push(emulator.journal.map(withoutRealTime));
    }
    expect(stories[0]?.length).toBeGreaterThan(12);
    expect(stories[1]).toEqual(stories[0]);
  });

  test("another seed has other ids and another secret", async () => {
    const [one, other] = await Promise.all([startEmulator({ seed: 1 }), startEmulator({ seed: 2 })]);
    expect(other.secret).not.toBe(one.secret);
    expect((await other.account()).token).not.toBe((await one.account()).token);
  });

  test("reset begins anew", async () => {
    const { emulator, receiver, account } = await startPair();
    receiver.answers.push(503);
    const first = await account.receiveMail();
    await emulator.settled();
    await emulator.reset();
    expect(emulator).toMatchObject({ journal: [], attempts: 0, subscriptions: [] });
    await emulator.advance(DAY_MS);
    expect(emulator.attempts).toBe(0);
    const again = await emulator.account();
    expect(again.token).toBe(account.token);
    await emulator.subscribe(again, "/email/messages", receiver.url);
    expect((await again.receiveMail()).id).toBe(first.id);
    await emulator.settled();
    // The account of before has the same number, and is not the same.
    await account.receiveMail();
    await emulator.settled();
    expect(emulator.attempts).toBe(1);
  });
});

describe("emit", () => {
  test.each([
    ["/email/tracking", "tracking.open"],
    ["/email/tracking", "tracking.initial"],
    ["/booking/935", "booking"],
    ["/calendars/c-1/events", "calendarEvent.changes"],
    ["/tasklists/default/tasks", "task.signal"],
    ["/contacts", "lifecycle.error"],
    ["/contacts", "contact.deleted"],
  ] as const)("to %s of a sample of %s has the subscription's envelope", async (resource, name) => {
    const { emulator, receiver, id } = await startPair({}, resource);
    await emulator.emit(id, sample(name));
    await emulator.settled();
    const body = JSON.parse(receiver.received[0]?.body ?? "") as Record<string, unknown>;
    expect(body).toMatchObject({ subscription: id, accountId: 2001, resource });
    expect(body).not.toHaveProperty("type");
  });

  test("of an event of another resource is refused", async () => {
    const { emulator, id } = await startPair();
    await expect(emulator.emit(id, sample("contact.created"))).rejects.toMatchObject({ code: "emit-invalid" });
    await expect(emulator.emit(id, sample("unknown", { reason: "not-json" }))).rejects.toMatchObject({
      code: "emit-invalid",
    });
  });
});

describe("the journal", () => {
  const attempt = { body: "{}" } as Attempt;

  test("has the latest 10,000 attempts, and the number of all", () => {
    const journal = createJournal(() => {});
    for (let at = 0; at < 10_100; at += 1) journal.add({ ...attempt, delivery: at });
    expect(journal.attempts).toHaveLength(10_000);
    expect(journal.attempts[0]?.delivery).toBe(100);
    expect(journal.total).toBe(10_100);
  });

  test("has at most 64 MiB of requests and answers", () => {
    const body = "x".repeat(20 * 1024 ** 2);
    for (const large of [{ body }, { answer: { status: 200, headers: {}, body } }]) {
      const journal = createJournal(() => {});
      for (let at = 0; at < 5; at += 1) journal.add({ ...attempt, ...large });
      expect(journal.attempts).toHaveLength(3);
    }
  });
});

describe("the matcher", () => {
  test("finds attempts by their fields, and by those of the body", async () => {
    const { emulator, receiver, account, id } = await startPair();
    receiver.answers.push(503);
    const { id: message } = await account.receiveMail();
    await emulator.advance(60_000);
    expect(emulator).toHaveDelivered();
    expect(emulator).toHaveDelivered({ subscription: id, status: 200, attempt: 2, times: 1 });
    expect(emulator).toHaveDelivered({ body: { payloads: [{ id: message, changeType: "created" }] }, times: 2 });
    expect(emulator).not.toHaveDelivered({ body: { payloads: [{ id: message, changeType: "deleted" }] } });
    expect(emulator).not.toHaveDelivered({ outcome: "unsubscribed" });
    expect(() => expect(emulator).toHaveDelivered({ status: 500 })).toThrow(
      /expected an attempt like \{"status":500\}, got 0 of 2:\n.*attempt 1: 503, redelivery/,
    );
  });
});

describe("createEmulator", () => {
  test.each([
    { port: -1 },
    { seed: 1.5 },
    { secret: " " },
    { clock: "fast" as "real" },
    { startAt: new Date(NaN) },
    { deliveryTimeoutMs: 0 },
    { pageSize: 0 },
    { redelivery: { timestamp: "new" as "kept" } },
    { redelivery: { giveUpAfter: 0 } },
  ] satisfies EmulatorOptions[])("refuses %j", async (options) => {
    await expect(createEmulator(options)).rejects.toMatchObject({ code: "option-invalid" });
  });

  test("says that a port is taken", async () => {
    const { url } = await startEmulator();
    await expect(createEmulator({ port: Number(new URL(url).port) })).rejects.toMatchObject({ code: "port-taken" });
  });

  test("ends with close, also in the middle of a delivery, and twice", async () => {
    const receiver = await startReceiver();
    const emulator = await createEmulator();
    const account = await emulator.account();
    await emulator.subscribe(account, "/contacts", receiver.url);
    receiver.answers.push("hang");
    await account.addContact();
    await emulator.close();
    await emulator[Symbol.asyncDispose]();
    await expect(fetch(emulator.url)).rejects.toThrow("fetch failed");
  });
});

/** A body of unknown length. */
function chunks(text: string): ReadableStream {
  return new Blob([text]).stream();
}
