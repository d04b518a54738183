import { createReceiver, forwardInbox, memoryInbox } from "hookline";
import { workAfterResponse } from "hookline/adapter";
import { describe, expect, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { deciding } from "../adapters/harness.ts";
import { turns, watch } from "../support/event-loop.ts";
import { emails, heldHandler, rig } from "../support/rig.ts";
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

describe("where many processes work, it leaves its share to the others", () => {
  function shared(others: { work: boolean; readonly isHeld?: boolean } = { work: false }) {
    const own = memoryInbox() as WorkingInbox<"memory">;
    const left: { readonly end: () => void }[] = [];
    const asked: PromiseWithResolvers<boolean>[] = [];
    const leave = () => new Promise<void>((end) => void left.push({ end }));
    async function othersWork(): Promise<boolean> {
      if (others.isHeld !== true) return others.work;
      const one = Promise.withResolvers<boolean>();
      asked.push(one);
      return one.promise;
    }
    const { receiver, send } = rig({ inbox: { ...own, leave, othersWork } as WorkingInbox<"memory"> });
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    const work = () => watch(workAfterResponse(receiver) ?? Promise.reject(new Error("there is work")));
    return { receiver, send, calls, work, left, asked };
  }

  test("before it ends: the platform may freeze the process then", async () => {
    const { receiver, send, calls, work, left } = shared();
    await send();
    const first = work();
    await turns();
    expect([receiver.stats().role, left.length]).toEqual(["working", 0]);
    calls[0]?.end();
    await turns();
    expect([receiver.stats().role, left.length, first.ended]).toEqual(["receiving", 1, false]);
    left[0]?.end();
    await turns();
    expect(first.ended).toBe(true);
    await send();
    work();
    await turns();
    expect([receiver.stats().role, calls.length]).toEqual(["working", 2]);
  });

  test("not while the work of another request goes on, and one that comes as it leaves begins after it", async () => {
    const { receiver, send, calls, work, left } = shared();
    await send();
    const [first, second] = [work(), work()];
    await turns();
    calls[0]?.end();
    await turns();
    expect([left.length, first.ended]).toEqual([1, true]);
    await send();
    const third = work();
    await turns();
    expect([receiver.stats().role, calls.length]).toEqual(["receiving", 1]);
    left[0]?.end();
    await turns();
    expect([receiver.stats().role, calls.length, second.ended]).toEqual(["working", 2, true]);
    calls[1]?.end();
    await turns();
    left[1]?.end();
    await turns();
    expect([left.length, third.ended]).toEqual([2, true]);
  });

  test("and does not begin where another one works: its lanes would only go to and fro", async () => {
    const others = { work: true };
    const { receiver, send, calls, work, left } = shared(others);
    await send();
    const first = work();
    await turns();
    expect([first.ended, receiver.stats().role, calls.length, left.length]).toEqual([true, "receiving", 0, 0]);
    others.work = false;
    work();
    await turns();
    expect([receiver.stats().role, calls.length]).toEqual(["working", 1]);
    others.work = true;
    await send(emails("b"));
    const third = work();
    await turns();
    expect([third.ended, calls.length]).toEqual([false, 2]);
    await receiver.start();
    expect(receiver.stats().role).toBe("working");
  });

  test.each([true, new Error("no answer")])(
    "also where a visit beside it is answered late that another one works, or not at all: %s",
    async (late) => {
      const { receiver, send, calls, work, left, asked } = shared({ work: false, isHeld: true });
      await send();
      const first = work();
      await turns();
      const second = work();
      await turns();
      asked[0]?.resolve(false);
      await turns();
      calls[0]?.end();
      await turns();
      expect([receiver.stats().role, calls.length, left.length, first.ended]).toEqual(["working", 1, 0, true]);
      if (typeof late === "boolean") asked[1]?.resolve(late);
      else asked[1]?.reject(late);
      await turns();
      expect([receiver.stats().role, left.length, second.ended]).toEqual(["receiving", 1, false]);
      left[0]?.end();
    },
  );

  test("but not after start(), and not as the receiver closes", async () => {
    const started = shared();
    await started.receiver.start();
    const work = started.work();
    await turns();
    expect([work.ended, started.receiver.stats().role, started.left.length]).toEqual([true, "working", 0]);
    const closes = shared();
    await closes.send();
    const second = closes.work();
    await turns();
    const closed = closes.receiver.close();
    closes.calls[0]?.end();
    await closed;
    expect([second.ended, closes.left.length]).toEqual([true, 0]);
  });
});
