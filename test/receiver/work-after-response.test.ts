import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { workAfterResponse } from "hookline/adapter";
import { expect, test } from "vitest";
import { deciding } from "../adapters/harness.ts";
import { turns, watch } from "../support/event-loop.ts";
import { heldHandler, rig } from "../support/rig.ts";
import { unopenableInbox } from "../support/stub-inboxes.ts";

test("work after the answer begins the receiver, and ends when nothing is left to do", async () => {
  const { receiver, send } = rig();
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  await send();
  const work = watch(workAfterResponse(receiver) ?? Promise.reject(new Error("there is work")));
  await turns();
  expect([receiver.stats().role, calls.length, work.ended]).toEqual(["working", 1, false]);
  calls[0]?.end();
  await turns();
  expect(work).toEqual({ ended: true, value: undefined });
});

test("there is none without handlers: a worker elsewhere has them, and here all would be unhandled", () => {
  expect(workAfterResponse(rig().receiver)).toBeUndefined();
});

test("there is none where the inbox only takes, or the receiver is made up", () => {
  const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), log: false });
  receiver.on("email", () => {});
  expect(workAfterResponse(receiver)).toBeUndefined();
  expect(workAfterResponse(deciding(async () => ({ status: 200, headers: {}, body: "" })))).toBeUndefined();
});

test("work that cannot begin ends quietly: the delivery is stored, and the next one tries again", async () => {
  const receiver = createReceiver({ secret: undefined, inbox: memoryInbox(), log: false });
  receiver.on("email", () => {});
  await expect(workAfterResponse(receiver)).resolves.toBeUndefined();
  const shut = createReceiver({ secret: "s", inbox: unopenableInbox(), log: false });
  shut.on("email", () => {});
  await expect(workAfterResponse(shut) ?? Promise.resolve()).resolves.toBeUndefined();
});
