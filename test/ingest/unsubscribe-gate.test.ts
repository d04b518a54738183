import type { Gate } from "hookline";
import { describe, expect, test, vi } from "vitest";
import { send } from "../support/http.ts";
import { changes, expectBare, mounted, type Mounted, type Setup } from "../support/mounted.ts";

/** What a user's program may answer against the types. */
type AnyGate = (...args: Parameters<Gate>) => unknown;

function gated(gate: AnyGate, setup: Setup = {}): Promise<Mounted> {
  return mounted({ ...setup, prepare: (own) => void own.unsubscribeWhen(gate as Gate) });
}

describe("the gate's decision", () => {
  test.each<[string, AnyGate]>([
    ["at once", (_, unsubscribe) => unsubscribe("account deleted")],
    ["by promise", async (_, unsubscribe) => unsubscribe("account deleted")],
  ])("is 422, and observers and the log get its reason: %s", async (_, gate) => {
    const notified: unknown[] = [];
    const { deliver, receiver, log } = await gated(gate);
    receiver.observe({ unsubscribed: (moment) => void notified.push(moment) });
    expectBare(await deliver(), 422);
    expect(notified).toEqual([{ subscription: 1001, reason: "account deleted" }]);
    expect(log.of("unwanted")).toMatchObject([
      {
        facts: { status: 422, subscription: 1001, reason: "account deleted" },
        message: expect.stringContaining("422 deletes it"),
      },
    ]);
    expect(receiver.stats()).toMatchObject({ answered: { 422: 1 }, stored: 0, refused: {} });
  });

  test("is not remembered: it is asked each time", async () => {
    let wanted = false;
    const { deliver } = await gated((_, unsubscribe) => (wanted ? undefined : unsubscribe("account deleted")));
    expectBare(await deliver(), 422);
    wanted = true;
    expectBare(await deliver(), 200);
  });

  test("is made of the ids as numbers, the resource and the source, and of nothing else", async () => {
    const gate = vi.fn<AnyGate>(() => undefined);
    const { deliver } = await gated(gate, { mount: { source: "tenant-a" } });
    expectBare(await deliver(changes().replace("1001", '"1001"')), 200);
    expect(gate.mock.calls.map(([delivery]) => delivery)).toEqual([
      { subscription: 1001, accountId: 2002, resource: "/email/messages", source: "tenant-a" },
    ]);
  });

  test("has no source where the mount has none", async () => {
    const gate = vi.fn<AnyGate>(() => undefined);
    const { deliver } = await gated(gate);
    expectBare(await deliver(), 200);
    expect(gate.mock.calls[0]?.[0]).not.toHaveProperty("source");
  });

  test("is asked for before the delivery is stored, once for all of its entries", async () => {
    const gate = vi.fn<AnyGate>(() => undefined);
    const { deliver, receiver } = await gated((...asked) => {
      expect(receiver.stats().stored).toBe(0);
      return gate(...asked);
    });
    const payloads = ["a", "b", "c"].map((id) => ({ id, changeType: "created" }));
    expectBare(await deliver(changes({ payloads })), 200);
    expect(gate).toHaveBeenCalledTimes(1);
    expect(receiver.stats().stored).toBe(1);
  });

  test("holds while the receiver only receives, and while it works", async () => {
    const { deliver, receiver } = await gated((_, unsubscribe) => unsubscribe("gone"));
    expectBare(await deliver(), 422);
    await receiver.start();
    expectBare(await deliver(), 422);
  });

  test("has at most 1,000 characters of reason", async () => {
    const { deliver, log } = await gated((_, unsubscribe) => unsubscribe("x".repeat(5_000_000)));
    expectBare(await deliver(), 422);
    expect(log.of("unwanted")).toMatchObject([{ facts: { reason: `${"x".repeat(999)}\u2026` } }]);
  });

  test("has a reason without half of a letter at its end, and with all others", async () => {
    const { deliver, log } = await gated((_, unsubscribe) => unsubscribe(`\u{1f600}${"x".repeat(996)}\u{1f600}xyz`));
    expectBare(await deliver(), 422);
    expect(log.of("unwanted")).toMatchObject([{ facts: { reason: `\u{1f600}${"x".repeat(996)}\u2026` } }]);
  });

  test.each([undefined, null, 5, {}, new Error("gone")])("is none for a reason that is no text: %#", async (reason) => {
    const { deliver, log } = await gated((_, unsubscribe) => unsubscribe(reason as string));
    expectBare(await deliver(), 200);
    expect(log.of("gate-failed")).toMatchObject([
      {
        facts: {
          err: {
            message: expect.stringContaining("reason, expected a text"),
            fix: expect.stringContaining("Say in a few words why"),
          },
        },
      },
    ]);
  });

  test("comes from one gate: a second one is a mistake in the program", async () => {
    const { receiver } = await gated(() => undefined);
    expect(() => receiver.unsubscribeWhen(() => undefined)).toThrow(expect.objectContaining({ code: "gate-doubled" }));
  });
});

describe("the gate is not asked", () => {
  const gate: AnyGate = (_, unsubscribe) => unsubscribe("whatever it is");

  test.each([
    ["no JSON", "<html>"],
    ["no envelope", "{}"],
    ["no subscription", '{"accountId":2,"resource":"/contacts"}'],
    ["no account", '{"subscription":1,"resource":"/contacts"}'],
    ["no resource", '{"subscription":1,"accountId":2}'],
    ["an id that is no number", '{"subscription":"one","accountId":2,"resource":"/contacts"}'],
    ["an id beyond 2^53", '{"subscription":9007199254740993,"accountId":2,"resource":"/contacts"}'],
    ["no body", ""],
  ])("about a delivery with %s: it is stored", async (_, body) => {
    const { deliver, receiver } = await gated(gate);
    expectBare(await deliver(body), 200);
    expect(receiver.stats().stored).toBe(1);
  });

  test("about a handshake", async () => {
    const { deliver } = await gated(gate);
    expect(await deliver("", { target: "/?validationToken=t" })).toMatchObject({ status: 200, body: "t" });
  });

  test("about what is not signed", async () => {
    const { deliver, url } = await gated(gate);
    expectBare(await send(url, { body: changes() }), 401);
    expectBare(await deliver(changes(), { secret: "another secret" }), 401);
  });
});

test("a receiver without a gate stores what no tombstone is for, and logs no failure", async () => {
  const { deliver, receiver, log } = await mounted();
  await receiver.unsubscribe(1002, "gone");
  expectBare(await deliver(changes({ subscription: 1001 })), 200);
  expect(log.of("gate-failed")).toEqual([]);
});
