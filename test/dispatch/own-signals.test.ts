import type { AnyEvent } from "hookline";
import { expect, test } from "vitest";
import type { OwnSignal } from "../../src/protocol/own-signal-body.ts";
import { internalsOf } from "../../src/receiver/internals.ts";
import { bodyOf } from "../support/make-delivery.ts";
import { rig, type Rig } from "../support/rig.ts";

const target = { subscription: 0, accountId: 2002, resource: "/email/messages", source: undefined };

async function put({ receiver, pass }: Rig, signal: OwnSignal): Promise<void> {
  await internalsOf(receiver).ownSignals.put(target, signal);
  await pass();
}

async function started(): Promise<{ readonly own: Rig; readonly calls: (readonly [string, AnyEvent])[] }> {
  const own = rig();
  const calls: (readonly [string, AnyEvent])[] = [];
  own.receiver.on("email.changes", (event) => void calls.push(["default", event]));
  own.receiver.on("email.changes", (event) => void calls.push(["search", event]), { consumer: "search" });
  own.receiver.on("email.signal", (event) => void calls.push(["signals", event]), { consumer: "signals" });
  own.receiver.on("*", (event) => void calls.push(["all", event]), { consumer: "all" });
  await own.receiver.start();
  return { own, calls };
}

test("a signal for a gap calls each `.changes` handler, and says why", async () => {
  const { own, calls } = await started();
  await put(own, { cause: "gap" });
  expect(calls).toMatchObject([
    ["default", { type: "email.changes", signalled: true, cause: "gap" }],
    ["search", { type: "email.changes", signalled: true, cause: "gap" }],
  ]);
});

test("a signal for a run calls that consumer's alone, as any signal", async () => {
  const { own, calls } = await started();
  await put(own, { cause: "run", consumer: "search" });
  expect(calls).toMatchObject([["search", { type: "email.changes", signalled: true, changes: [] }]]);
  expect(calls[0]?.[1]).not.toHaveProperty("cause");
});

test("a signal of the service is none of these, whatever fields it has", async () => {
  const { own, calls } = await started();
  for (const hookline of [undefined, null, "gap", { cause: "other" }, { cause: "run" }])
    await own.send(bodyOf({ payloads: [], cause: "gap", hookline }));
  await own.pass();
  const consumers = calls.map(([consumer]) => consumer);
  expect(consumers.filter((consumer) => consumer === "signals")).toHaveLength(5);
  expect(calls.filter(([, event]) => "cause" in event)).toEqual([]);
});

test("what the receiver made itself is not counted as stored, nor observed as such", async () => {
  const { own } = await started();
  const stored: unknown[] = [];
  own.receiver.observe({ stored: ({ delivery }) => stored.push(delivery) });
  await put(own, { cause: "gap" });
  expect([own.receiver.stats().stored, stored]).toEqual([0, []]);
  await own.send();
  expect([own.receiver.stats().stored, stored.length]).toEqual([1, 1]);
});
