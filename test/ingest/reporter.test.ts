import { GiveUp } from "hookline";
import { describe, expect, test, vi } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { send } from "../support/http.ts";
import { changes, expectBare, mounted } from "../support/mounted.ts";

const notice = (lifecycleEvent: string, error?: string): string =>
  JSON.stringify({ subscription: 1001, accountId: 2002, resource: "/email/messages", lifecycleEvent, error });

describe("the log", () => {
  test("has a line a second for each cause, and says how many it left out", async () => {
    const clock = fakeClock();
    const { url, deliver, log, receiver } = await mounted({ clock });
    const unsigned = () => send(url, { body: "x" });
    for (let count = 0; count < 20; count += 1) await unsigned();
    await deliver(changes(), { secret: "another secret" });
    expect(log.lines.map(({ facts }) => [facts["code"], facts["suppressed"]])).toEqual([
      ["signature-missing", undefined],
      ["signature-wrong", undefined],
    ]);
    await clock.advance(999);
    await unsigned();
    expect(log.lines).toHaveLength(2);
    await clock.advance(1);
    expect(log.lines).toHaveLength(3);
    await unsigned();
    await unsigned();
    await clock.advance(60_000);
    await unsigned();
    const lines = log.of("signature-missing").map(({ facts }) => facts["suppressed"]);
    expect(lines).toEqual([undefined, 19, 1, undefined]);
    expect(receiver.stats().refused["signature-missing"]).toBe(24);
  });

  test("has a line a second for unwanted deliveries too", async () => {
    const clock = fakeClock();
    const { deliver, log, receiver } = await mounted({ clock });
    await receiver.unsubscribe(1001, "gone");
    for (let count = 0; count < 5; count += 1) expectBare(await deliver(), 422);
    await clock.advance(1_000);
    expect(log.of("unwanted").map(({ facts }) => facts["suppressed"])).toEqual([undefined, 3]);
  });

  test("says for every refusal what to do", async () => {
    const { url, deliver, log } = await mounted({ maxBodyBytes: 100 });
    await send(url, { method: "GET" });
    await send(url);
    await deliver("x".repeat(101));
    await deliver("", { target: "/?validationToken=" });
    await deliver("x", { headers: { "Content-Encoding": "br" } });
    await deliver("x", { secret: "another secret" });
    expect(log.lines).toHaveLength(6);
    for (const { facts, message } of log.lines) {
      expect(facts).toMatchObject({
        code: expect.any(String),
        status: expect.any(Number),
        fix: expect.stringMatching(/\w\.$/),
      });
      expect(message).toMatch(/\w.*\.$/);
    }
    expect(log.of("method-not-allowed")[0]?.facts).not.toHaveProperty("err");
  });

  test("warns once of each parser that ran before the mount, with its fix", async () => {
    const clock = fakeClock();
    const { receiver, log, signed } = await mounted({ clock });
    const parsed = async (parsedBefore?: string): Promise<void> => {
      const request = { method: "POST", url: "/", headers: signed(changes()), body: Buffer.from(changes()) };
      expect(await receiver.receive({ ...request, parsedBefore })).toMatchObject({ status: 200 });
      await clock.advance(1_000);
    };
    for (const fix of [undefined, "Mount it first.", "Mount it first.", "Skip its path."]) await parsed(fix);
    const message: unknown = expect.stringContaining("bytes survived");
    expect(log.lines).toMatchObject([
      { level: "warn", facts: { code: "parsed-before", fix: "Mount it first." }, message },
      { level: "warn", facts: { code: "parsed-before", fix: "Skip its path." }, message },
    ]);
  });

  test("is not filled by an unauthenticated client through an observer that throws", async () => {
    const { url, receiver, log } = await mounted({ clock: fakeClock() });
    receiver.observe({
      refused: () => {
        throw new Error("observer throws");
      },
    });
    for (let count = 0; count < 20; count += 1) await send(url);
    expect(log.of("observer-failed")).toHaveLength(1);
  });

  test("is not filled by a gate that fails for every delivery", async () => {
    const { deliver, log } = await mounted({
      clock: fakeClock(),
      prepare: (own) =>
        void own.unsubscribeWhen(() => {
          throw new Error("the database is away");
        }),
    });
    for (let count = 0; count < 20; count += 1) expectBare(await deliver(), 200);
    expect(log.of("gate-failed")).toHaveLength(1);
  });

  test("changes no answer when it throws", async () => {
    const fail = (): never => {
      throw new Error("the log is full");
    };
    const { url, deliver, receiver } = await mounted({ log: { debug: fail, info: fail, warn: fail, error: fail } });
    expectBare(await send(url, { method: "GET" }), 405, "allow");
    expectBare(await deliver(changes(), { secret: "another secret" }), 401);
    expectBare(await deliver(changes({ subscription: 1002 })), 200);
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(), 422);
  });

  test("is silent about deliveries that are stored and handled", async () => {
    const { deliver, receiver, log } = await mounted({ prepare: (own) => void own.on("email", () => {}) });
    await receiver.start();
    for (let count = 0; count < 5; count += 1) expectBare(await deliver(), 200);
    await receiver.idle();
    expect(log.lines).toEqual([]);
  });

  test("has the service's own trouble with a subscription as an error, with its text, handler or not", async () => {
    for (const handled of [true, false]) {
      const { deliver, receiver, log } = await mounted({
        prepare: (own) => void (handled && own.on("lifecycle.error", () => {})),
      });
      await receiver.start();
      expectBare(await deliver(notice("error", "the grant was withdrawn")), 200);
      await receiver.idle();
      expect(log.of("subscription-errored")).toMatchObject([
        { level: "error", facts: { subscription: 1001, accountId: 2002, error: "the grant was withdrawn" } },
      ]);
      // Of a calendar it is often somebody's address.
      expect(log.of("subscription-errored")[0]?.facts).not.toHaveProperty("resource");
    }
  });

  test("has it also where it was stored before start()", async () => {
    const { deliver, receiver, log } = await mounted();
    expectBare(await deliver(notice("error", "the grant was withdrawn")), 200);
    await receiver.start();
    await receiver.idle();
    expect(log.of("subscription-errored")).toHaveLength(1);
  });

  test("warns once of an event without a handler, with the line to write", async () => {
    const { deliver, receiver, log } = await mounted();
    await receiver.start();
    for (let count = 0; count < 3; count += 1) expectBare(await deliver(), 200);
    await receiver.idle();
    expect(log.of("unhandled")).toMatchObject([
      { level: "warn", facts: { event: "email.created", fix: expect.stringContaining('on("email.created"') } },
    ]);
  });

  test("has no content unless it is asked for, and then at debug", async () => {
    const silent = await mounted();
    const { deliver, receiver, log } = await mounted({ logContent: true, secret: "short" });
    for (const own of [silent.receiver, receiver]) await own.start();
    const body = changes({ payloads: [{ id: "m-1", changeType: "created", subject: "Lunch?" }] });
    expectBare(await silent.deliver(body), 200);
    expectBare(await deliver(body, { secret: "short" }), 200);
    await Promise.all([silent.receiver.idle(), receiver.idle()]);
    expect(silent.log.text()).not.toContain("Lunch?");
    expect(log.lines.filter(({ level }) => level === "debug")).toMatchObject([
      { facts: { event: { subject: "Lunch?" } } },
    ]);
    expect(log.lines.filter(({ level }) => level !== "debug").map(({ facts }) => facts)).not.toContain("Lunch?");
  });

  test("is nothing where it is switched off", async () => {
    const write = vi.spyOn(process.stderr, "write");
    const { url } = await mounted({ log: false });
    await send(url, { method: "GET" });
    expect(write).not.toHaveBeenCalled();
    write.mockRestore();
  });
});

describe("observers", () => {
  test("see what is stored, refused and unsubscribed, until they end it", async () => {
    const seen: unknown[] = [];
    const { deliver, receiver } = await mounted({ mount: { source: "tenant-a" } });
    const end = receiver.observe({
      stored: ({ delivery }) => void seen.push(["stored", delivery.source, Object.keys(delivery).toSorted()]),
      refused: (moment) => void seen.push(["refused", moment]),
      unsubscribed: (moment) => void seen.push(["unsubscribed", moment]),
    });
    await deliver();
    await deliver(changes(), { secret: "another secret" });
    await receiver.unsubscribe(1001, "gone");
    end();
    await deliver();
    expect(seen).toEqual([
      ["stored", "tenant-a", ["id", "receivedAt", "source"]],
      ["refused", { status: 401, code: "signature-wrong" }],
      ["unsubscribed", { subscription: 1001, reason: "gone" }],
    ]);
  });

  test("that throw or reject change nothing, for the sender, the handlers or each other", async () => {
    const seen: string[] = [];
    const names = [
      "stored",
      "refused",
      "unsubscribed",
      "started",
      "succeeded",
      "failed",
      "retried",
      "dead",
      "duplicate",
    ];
    const bad = (fail: () => unknown): object => Object.fromEntries(names.map((name) => [name, fail]));
    const { deliver, receiver, log } = await mounted({
      attempts: 1,
      prepare: (own) =>
        void own
          .on("email", (event) => void seen.push(event.id))
          .on("contact", () => {
            throw new GiveUp("not ours");
          }),
    });
    receiver.observe(
      bad(() => {
        throw new Error("observer throws");
      }),
    );
    receiver.observe(bad(() => Promise.reject(new Error("observer rejects"))));
    receiver.observe({ stored: () => void seen.push("stored"), succeeded: () => void seen.push("succeeded") });
    await receiver.start();
    expectBare(await deliver(), 200);
    expectBare(await deliver(changes({ resource: "/contacts" })), 200);
    expectBare(await deliver(changes(), { secret: "another secret" }), 401);
    await receiver.idle();
    await receiver.unsubscribe(1001, "gone");
    expectBare(await deliver(), 422);
    expect(seen.toSorted()).toEqual(["m-1", "stored", "stored", "succeeded"]);
    expect(receiver.stats()).toMatchObject({ succeeded: 1, dead: 1, stored: 2, answered: { 200: 2, 401: 1, 422: 1 } });
    // A line a second; which of the two is logged is not defined.
    expect(String(log.of("observer-failed")[0]?.facts["err"])).toMatch(/^Error: observer (throws|rejects)$/);
  });
});
