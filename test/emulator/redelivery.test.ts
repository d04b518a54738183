import { describe, expect, test } from "vitest";
import { DAY_MS, serve, startEmulator, startPair, type Pair } from "./support.ts";

/** Seconds between the attempts of the first delivery. */
function delays({ emulator }: Pair): readonly number[] {
  const times = emulator.journal.filter(({ delivery }) => delivery === 1).map(({ at }) => at.getTime() / 1_000);
  return times.slice(1).map((time, index) => time - (times[index] ?? 0));
}

describe("the law of redelivery (protocol 6.3, 8)", () => {
  test("1, 2, 4 ... s, never more than 600 s, and without an end", async () => {
    const pair = await startPair();
    pair.receiver.answers.push(...Array.from({ length: 200 }, () => 503));
    await pair.account.receiveMail();
    await pair.emulator.advance(DAY_MS);
    const doubled = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512];
    expect(delays(pair)).toEqual([...doubled, ...Array.from({ length: delays(pair).length - 10 }, () => 600)]);
    expect(pair.emulator.journal).toHaveLength(1 + 10 + 142);
    expect(pair.emulator.subscriptions[0]?.waiting).toBe(1);
  });

  test.each([201, 202, 204, 301, 302, 400, 401, 404, 408, 410, 421, 429, 500, 503])(
    "%d is tried again, and 200 settles",
    async (status) => {
      const pair = await startPair();
      pair.receiver.answers.push(status);
      await pair.account.receiveMail();
      await pair.emulator.advance(1_000);
      await pair.emulator.advance(DAY_MS);
      expect(pair.emulator.journal.map((attempt) => [attempt.status, attempt.outcome])).toEqual([
        [status, "redelivery"],
        [200, "acknowledged"],
      ]);
      expect(pair.emulator.subscriptions[0]).toMatchObject({ waiting: 0, active: true });
    },
  );

  test("422 removes the subscription, with all that waits for it", async () => {
    const pair = await startPair();
    pair.receiver.answers.push(503, 422);
    await pair.account.receiveMail();
    await pair.account.receiveMail();
    await pair.emulator.advance(DAY_MS);
    await pair.account.receiveMail();
    await pair.emulator.advance(DAY_MS);
    expect(pair.emulator.journal.map(({ outcome }) => outcome)).toEqual(["redelivery", "unsubscribed"]);
    expect(pair.emulator.subscriptions).toEqual([]);
    await expect(pair.emulator.emit(pair.id, [])).rejects.toMatchObject({ code: "subscription-not-found" });
  });

  test("a connection that is cut, a port without a server and a redirect are no answer", async () => {
    const pair = await startPair();
    pair.receiver.answers.push(undefined, 307);
    await pair.account.receiveMail();
    await pair.emulator.advance(5_000);
    expect(pair.emulator.journal.map(({ status, outcome }) => [status, outcome])).toEqual([
      [undefined, "redelivery"],
      [307, "redelivery"],
      [200, "acknowledged"],
    ]);
    await pair.receiver.close();
    await pair.account.receiveMail();
    await pair.emulator.settled();
    expect(pair.emulator.journal.at(-1)).toMatchObject({ status: undefined, outcome: "redelivery" });
    expect(pair.emulator.journal.at(-1)?.failure).toMatch(/ECONNREFUSED|socket hang up/);
  });

  test("an answer after the limit is none", async () => {
    const pair = await startPair({ clock: "real", deliveryTimeoutMs: 50 });
    pair.receiver.answers.push("hang");
    await pair.account.receiveMail();
    await pair.emulator.settled();
    expect(pair.emulator.journal[0]).toMatchObject({ status: undefined, failure: "no answer in 0.05 s" });
  });
});

describe("what the service's description leaves open", () => {
  const headers = ["x-aurinko-request-timestamp", "x-aurinko-signature"] as const;
  const signatures = ({ receiver }: Pair) =>
    receiver.received.map((request) => headers.map((name) => request.headers[name]));

  test("a redelivery keeps timestamp and signature", async () => {
    const pair = await startPair();
    pair.receiver.answers.push(503);
    await pair.account.receiveMail();
    await pair.emulator.advance(5_000);
    const [first, second] = signatures(pair);
    expect(second).toEqual(first);
    expect(pair.receiver.received[1]?.body).toBe(pair.receiver.received[0]?.body);
  });

  test("or it is signed anew", async () => {
    const pair = await startPair({ redelivery: { timestamp: "renewed" } });
    pair.receiver.answers.push(503);
    await pair.account.receiveMail();
    await pair.emulator.advance(5_000);
    const [first, second] = signatures(pair);
    expect(Number(second?.[0])).toBe(Number(first?.[0]) + 1);
    expect(second?.[1]).not.toBe(first?.[1]);
  });

  test("a subscription is sent to once at a time, and in order", async () => {
    const emulator = await startEmulator({ clock: "real" });
    const order: string[] = [];
    const { url } = await serve((request, response) => {
      const token = new URL(request.url ?? "", "http://localhost").searchParams.get("validationToken");
      if (token !== null) return void response.end(token);
      let body = "";
      order.push("begins");
      request.on("data", (chunk: Buffer) => (body += chunk.toString()));
      request.on("end", () =>
        // Long enough for another request to arrive meanwhile.
        setTimeout(() => {
          order.push(/"id":"([^"]+)"/.exec(body)?.[1] ?? "");
          response.end();
        }, 30),
      );
    });
    const account = await emulator.account();
    const id = await emulator.subscribe(account, "/contacts", url);
    for (const record of ["c-1", "c-2", "c-3"]) await emulator.emit(id, [{ id: record, changeType: "updated" }]);
    await emulator.settled();
    expect(order).toEqual(["begins", "c-1", "begins", "c-2", "begins", "c-3"]);
  });

  test("a failing delivery does not hold up the next one", async () => {
    const pair = await startPair();
    pair.receiver.answers.push(503);
    await pair.account.receiveMail();
    await pair.account.receiveMail();
    await pair.emulator.advance(5_000);
    expect(pair.emulator.journal.map(({ delivery }) => delivery)).toEqual([1, 2, 1]);
  });

  test("or it does, in its subscription alone", async () => {
    const pair = await startPair({ redelivery: { headOfLine: true } });
    const other = await pair.emulator.subscribe(pair.account, "/contacts", pair.receiver.url);
    pair.receiver.answers.push(503, 503);
    await pair.account.receiveMail();
    await pair.emulator.settled();
    await pair.account.receiveMail();
    await pair.account.addContact();
    await pair.emulator.advance(60_000);
    const deliveriesOf = (id: number) =>
      pair.emulator.journal.filter(({ subscription }) => subscription === id).map(({ delivery }) => delivery);
    expect(deliveriesOf(pair.id)).toEqual([1, 1, 2]);
    expect(deliveriesOf(other)).toEqual([3, 3]);
  });

  test("it may end after some attempts", async () => {
    const pair = await startPair({ redelivery: { giveUpAfter: 3 } });
    pair.receiver.answers.push(500, 500, 500);
    await pair.account.receiveMail();
    await pair.emulator.advance(DAY_MS);
    expect(pair.emulator.journal.map(({ outcome }) => outcome)).toEqual(["redelivery", "redelivery", "given-up"]);
    expect(pair.emulator.subscriptions[0]?.waiting).toBe(0);
  });
});
