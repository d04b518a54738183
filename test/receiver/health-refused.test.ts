import { memoryInbox, StorageError, type RawRequest } from "hookline";
import { bodyConsumed } from "hookline/adapter";
import { describe, expect, test } from "vitest";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { bodyOf, signedRequest } from "../support/make-delivery.ts";
import { rig, type Rig, type RigOptions } from "../support/rig.ts";
import { hungInbox, stubInbox } from "../support/stub-inboxes.ts";

const MINUTE_MS = 60_000;
const SECRET = "a signing secret";

describe("what repeats for ever is a problem while it happened within the last 10 minutes:", () => {
  test.each<[string, number, (own: Rig) => Partial<RawRequest>, RigOptions?]>([
    ["body-too-large", 413, () => ({ body: Buffer.alloc(11) }), { maxBodyBytes: 10 }],
    [
      "content-encoding",
      415,
      ({ clock }) => ({ headers: { ...signed(clock.date()).headers, "Content-Encoding": "gzip" } }),
    ],
    ["body-consumed", 500, () => ({ body: () => Promise.reject(bodyConsumed("Mount it before `app.use(json())`.")) })],
    ["intake-full", 503, () => ({ body: chunks(11) }), { maxInFlightBytes: 10 }],
    ["secret-lookup-failing", 503, () => ({}), { secret: () => Promise.reject(new Error("no database")) }],
    ["internal", 503, () => ({ body: () => Promise.reject(new Error("a mount's bug")) })],
  ])("%s", async (code, status, change, options) => {
    const own = rig(options);
    const { receiver, clock, pass } = own;
    await receiver.start();
    const refuse = async (): Promise<void> => {
      expect(await receiver.receive({ ...signed(clock.date()), ...change(own) })).toMatchObject({ status });
    };
    await refuse();
    expect(await receiver.health()).toMatchObject({ live: true, ready: true });
    expect(await codesOf(receiver)).toEqual([code]);
    expect((await problemsOf(receiver, code))[0]?.message).toContain(` Seen once at 2026-05-06T07:08:09.000Z.`);
    await pass(9 * MINUTE_MS);
    await refuse();
    expect((await problemsOf(receiver, code))[0]?.message).toContain(
      " Seen 2 times, last at 2026-05-06T07:17:09.000Z.",
    );
    await pass(10 * MINUTE_MS - 1);
    expect(await codesOf(receiver)).toEqual([code]);
    await pass(1);
    expect(await codesOf(receiver)).toEqual([]);
    await refuse();
    expect((await problemsOf(receiver, code))[0]?.message).toContain("Seen once at");
  });

  test("handlers that fail or are late for five deliveries in a row, where the answer waits for them: until one is answered 200", async () => {
    const { receiver, clock, pass } = rig();
    let how: "fails" | "is late" | "works" = "fails";
    receiver.on("email", async (_event, { signal }) => {
      if (how === "fails") throw new Error("no");
      if (how === "is late") await new Promise((resolve) => signal.addEventListener("abort", resolve));
    });
    const answer = { answer: "after-handlers", timeoutMs: 1_000 } as const;
    const deliver = async (): Promise<number> => {
      const reply = receiver.receive(signed(clock.date()), answer);
      await pass(1_000);
      return (await reply).status;
    };
    for (let sent = 0; sent < 4; sent += 1) expect(await deliver()).toBe(503);
    expect(await codesOf(receiver)).toEqual([]);
    how = "is late";
    expect(await deliver()).toBe(503);
    expect(await codesOf(receiver)).toContain("handlers-failing");
    expect((await problemsOf(receiver, "handlers-failing"))[0]?.message).toContain(" Seen 5 times, last at ");
    how = "works";
    await pass(1_000);
    expect(await deliver()).toBe(200);
    expect(await codesOf(receiver)).not.toContain("handlers-failing");
  });

  test("with the exact fix, where the refusal brings one", async () => {
    const { receiver, clock } = rig();
    const body = () => Promise.reject(bodyConsumed("Mount it before `app.use(json())`."));
    await receiver.receive({ ...signed(clock.date()), body });
    expect(await problemsOf(receiver, "body-consumed")).toMatchObject([{ fix: "Mount it before `app.use(json())`." }]);
  });

  test("not after the wall clock was set back: the age of a refusal is unknown", async () => {
    const { receiver, clock } = rig({ maxBodyBytes: 10 });
    await receiver.receive(signed(clock.date()));
    clock.jump(-1);
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("a slow look-up of the secret is the same problem as one that fails", async () => {
    const { receiver, clock, pass } = rig({ secret: () => new Promise(() => {}), secretTimeoutMs: 10 });
    void receiver.receive(signed(clock.date()));
    await pass(10);
    expect(await codesOf(receiver)).toEqual(["secret-lookup-failing"]);
  });

  test("an inbox that is too small for a large delivery, though smaller ones are taken", async () => {
    const { receiver, send, offer, pass } = rig({ inbox: memoryInbox({ maxBytes: 10_000 }) });
    receiver.on("email", () => {});
    await receiver.start();
    expect(await offer(`${bodyOf()}${" ".repeat(10_000)}`)).toMatchObject({ status: 503 });
    await send();
    await pass();
    expect(await receiver.health()).toMatchObject({
      ready: true,
      problems: [toReported("inbox-too-small", "Seen once at 2026-05-06T07:08:09.000Z.")],
    });
    await pass(10 * MINUTE_MS);
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("storage that is late each time is reported until a delivery is stored in time, though all are stored", async () => {
    let delayMs = 20;
    const inbox = stubInbox((own) => ({
      async store(deliveries) {
        const results = await own.store(deliveries);
        if (delayMs > 0) await new Promise<void>((resolve) => void clock.setTimer(resolve, delayMs));
        return results;
      },
    }));
    const { receiver, clock, pass, offer } = rig({ inbox, storeTimeoutMs: 10 });
    receiver.on("email", () => {});
    await receiver.start();
    for (let count = 1; count <= 3; count += 1) {
      const replies = [offer(), offer()];
      await pass(30);
      expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([503, 503]);
      expect([receiver.stats().stored, await codesOf(receiver)]).toEqual([2 * count, ["storage-failing"]]);
    }
    delayMs = 0;
    expect(await offer()).toMatchObject({ status: 200 });
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("storage that is late and then fails is reported until the next delivery is stored, however many there were", async () => {
    let fails = true;
    const inbox = stubInbox((own) => ({
      async store(deliveries) {
        if (!fails) return own.store(deliveries);
        await new Promise<void>((resolve) => void clock.setTimer(resolve, 20));
        throw new StorageError("storage-failed", "locked");
      },
    }));
    const { receiver, clock, pass, offer } = rig({ inbox, storeTimeoutMs: 10 });
    receiver.on("email", () => {});
    await receiver.start();
    const replies = [offer(), offer(), offer(), offer()];
    await pass(30);
    expect((await Promise.all(replies)).map(({ status }) => status)).toEqual([503, 503, 503, 503]);
    expect(await codesOf(receiver)).toEqual(["storage-failing"]);
    fails = false;
    expect(await offer()).toMatchObject({ status: 200 });
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("five bodies in a row that are late: until a delivery is answered 200", async () => {
    const { receiver, clock, pass, send } = rig({ bodyTimeoutMs: 10 });
    receiver.on("email", () => {});
    await receiver.start();
    for (let count = 1; count <= 5; count += 1) {
      expect(await codesOf(receiver)).toEqual([]);
      const reply = receiver.receive({ ...signed(clock.date()), body: () => new Promise(() => {}) });
      await pass(10);
      expect(await reply).toMatchObject({ status: 408 });
    }
    expect(await codesOf(receiver)).toEqual(["bodies-late"]);
    await send();
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("storage that is late is reported like storage that fails", async () => {
    const { receiver, pass, offer } = rig({ inbox: hungInbox(), storeTimeoutMs: 10 });
    receiver.on("email", () => {});
    await receiver.start();
    void offer();
    await pass(10);
    expect(await codesOf(receiver)).toEqual(["storage-failing"]);
  });
});

describe("requests that do not verify are a problem", () => {
  test("once there are several, and none is right", async () => {
    const { receiver, send, clock, pass } = rig();
    receiver.on("email", () => {});
    await receiver.start();
    for (let count = 0; count < 4; count += 1) await forge(receiver, clock.date());
    expect(await codesOf(receiver)).toEqual([]);
    await receiver.receive({ ...signed(clock.date()), headers: {} });
    expect(await receiver.health()).toMatchObject({ ready: true });
    expect(await problemsOf(receiver, "all-signatures-invalid")).toEqual([
      toReported("all-signatures-invalid", "Seen 5 times, last at 2026-05-06T07:08:09.000Z."),
    ]);
    await send();
    await pass();
    expect(await codesOf(receiver)).toEqual([]);
    for (let count = 0; count < 4; count += 1) await forge(receiver, clock.date());
    expect(await codesOf(receiver)).toEqual([]);
    await forge(receiver, clock.date());
    expect(await codesOf(receiver)).toEqual(["all-signatures-invalid"]);
    await pass(10 * MINUTE_MS);
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("not when a stranger sends them among deliveries that verify", async () => {
    const { receiver, send, clock, pass } = rig();
    receiver.on("email", () => {});
    await receiver.start();
    for (let count = 0; count < 20; count += 1) {
      await forge(receiver, clock.date());
      if (count % 4 === 3) await send();
    }
    await pass();
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("of many applications on one server too, where none of them is known", async () => {
    const { receiver, clock } = rig({ secret: () => undefined });
    for (let count = 0; count < 5; count += 1) await receiver.receive(signed(clock.date()));
    expect(await codesOf(receiver)).toEqual(["all-signatures-invalid"]);
  });
});

describe("a clock that does not agree with the service's is a problem", () => {
  test("once several requests were too old or from the future, also among others that verify", async () => {
    const { receiver, send, clock, pass } = rig();
    receiver.on("email", () => {});
    await receiver.start();
    const [old, future] = [at(clock.now() - 8 * 24 * 60 * MINUTE_MS), at(clock.now() + 6 * MINUTE_MS)];
    for (const date of [old, old, future, future]) await receiver.receive(signed(date));
    await send();
    await pass();
    expect(await codesOf(receiver)).toEqual([]);
    await receiver.receive(signed(old));
    expect(await problemsOf(receiver, "clock-skew")).toEqual([
      toReported("clock-skew", "Seen 5 times, last at 2026-05-06T07:08:09.000Z."),
    ]);
    await pass(10 * MINUTE_MS);
    expect(await codesOf(receiver)).toEqual([]);
  });
});

function signed(date: Date, secret = SECRET): RawRequest {
  return signedRequest(bodyOf(), { secret, at: date });
}

function at(ms: number): Date {
  return new Date(ms);
}

async function forge(receiver: Rig["receiver"], date: Date): Promise<void> {
  expect(await receiver.receive(signed(date, "another secret"))).toMatchObject({ status: 401 });
}

/** A way to read that counts its bytes as they come. */
function chunks(bytes: number): AsyncIterable<Uint8Array> {
  return (async function* () {
    yield Buffer.alloc(bytes);
  })();
}
