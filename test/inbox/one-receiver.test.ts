import { expect, test } from "vitest";
import { forOneReceiver } from "../../src/inbox/one-receiver.ts";
import type { InboxHost } from "../../src/inbox/port/inbox.ts";
import { turns, watch } from "../support/event-loop.ts";

const NAMES = { one: {} as InboxHost, two: {} as InboxHost };

/** Opens and closes that end when they are told to, in the order of their begin. */
function held() {
  const steps: string[] = [];
  const pending: { readonly name: string; readonly end: PromiseWithResolvers<void> }[] = [];
  const step = (name: string): Promise<void> => {
    steps.push(name);
    const end = Promise.withResolvers<void>();
    pending.push({ name, end });
    return end.promise;
  };
  const inbox = forOneReceiver({
    name: "inbox",
    make: "inbox()",
    open: (host) => step(host === NAMES.one ? "open one" : "open two"),
    close: () => step("close"),
  });
  const ended = async (name: string, error?: Error): Promise<void> => {
    const index = pending.findIndex((each) => each.name === name);
    const [found] = pending.splice(index, 1);
    if (error === undefined) found?.end.resolve();
    else found?.end.reject(error);
    await turns();
  };
  return { inbox, steps, ended };
}

async function opened() {
  const bench = held();
  const open = bench.inbox.open(NAMES.one);
  await bench.ended("open one");
  await open;
  return bench;
}

test("an open waits for the close that still runs, whoever asks", async () => {
  for (const next of ["one", "two"] as const) {
    const { inbox, steps, ended } = await opened();
    const closed = watch(inbox.close());
    const open = watch(inbox.open(NAMES[next]));
    await turns();
    expect(steps).toEqual(["open one", "close"]);
    await ended("close");
    expect(closed).toEqual({ ended: true, value: undefined });
    expect(steps).toEqual(["open one", "close", `open ${next}`]);
    await ended(`open ${next}`);
    expect(open).toEqual({ ended: true, value: undefined });
  }
});

test("an open waits for the close that failed, too", async () => {
  const { inbox, ended } = await opened();
  const closed = watch(inbox.close());
  const open = watch(inbox.open(NAMES.two));
  await ended("close", new Error("no close"));
  await ended("open two");
  expect([closed.error, open]).toEqual([new Error("no close"), { ended: true, value: undefined }]);
});

test("who waits has it: a third one is refused, and closing it opens nothing", async () => {
  const { inbox, steps, ended } = await opened();
  const closed = inbox.close();
  const waiting = watch(inbox.open(NAMES.two));
  await expect(inbox.open(NAMES.one)).rejects.toMatchObject({ code: "inbox-shared" });
  const gone = watch(inbox.close());
  const next = watch(inbox.open(NAMES.one));
  await ended("close");
  await closed;
  await ended("close");
  await ended("close");
  expect(waiting.error).toMatchObject({ code: "storage-failed", message: expect.stringContaining("closed") });
  expect(gone.ended).toBe(true);
  expect(steps).not.toContain("open two");
  await ended("open one");
  expect(next).toEqual({ ended: true, value: undefined });
});

test("what opens after its close is closed, and the next open waits for that", async () => {
  const { inbox, steps, ended } = held();
  const late = watch(inbox.open(NAMES.one));
  const closed = watch(inbox.close());
  const next = watch(inbox.open(NAMES.two));
  await ended("close");
  expect([closed.ended, steps]).toEqual([true, ["open one", "close"]]);
  await ended("open one");
  expect(steps).toEqual(["open one", "close", "close"]);
  await ended("close");
  expect(late.error).toMatchObject({ code: "storage-failed" });
  expect(steps.at(-1)).toBe("open two");
  await ended("open two");
  expect(next).toEqual({ ended: true, value: undefined });
});

test("a second close waits for the first, and does nothing itself", async () => {
  const { inbox, steps, ended } = await opened();
  void inbox.close();
  const again = watch(inbox.close());
  await turns();
  expect(again.ended).toBe(false);
  await ended("close");
  expect([again.ended, steps]).toEqual([true, ["open one", "close"]]);
});

test("one that did not open is free, and one that is open is opened once", async () => {
  const { inbox, steps, ended } = held();
  const failed = watch(inbox.open(NAMES.one));
  await ended("open one", new Error("no open"));
  expect(failed.error).toEqual(new Error("no open"));
  const [open, again] = [watch(inbox.open(NAMES.two)), watch(inbox.open(NAMES.two))];
  await ended("open two");
  await inbox.open(NAMES.two);
  expect([open.ended, again.ended, steps]).toEqual([true, true, ["open one", "open two"]]);
});
