import { existsSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { systemClock } from "../../../src/clock.ts";
import { toLogger } from "../../../src/logger.ts";
import { startNode } from "../../cli/child.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { turns, until, watch } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { heldHandler, rig } from "../../support/rig.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { openInline } from "./inline-thread.ts";
import { telling } from "./observed-thread.ts";
import { beside, folderFor, onDisk, silence } from "./on-disk.ts";

/** An inbox on a file that another process works on, and whether its turn has come. */
async function standby(file: string) {
  const inbox = createSqliteInbox({ file });
  const seen = { begun: false };
  await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 1 });
  onTestFinished(() => inbox.close());
  await inbox.work({ begin: () => void (seen.begun = true), end() {}, wake() {}, lost() {} });
  return { inbox, seen };
}

test("a closed inbox is one file that stands alone, beside an empty lock", async () => {
  const { inbox, file } = await onDisk();
  await inbox.store([mail(["a"])]);
  expect(existsSync(`${file}-wal`)).toBe(true);
  await inbox.close();
  expect(["", "-wal", "-shm"].map((ending) => existsSync(`${file}${ending}`))).toEqual([true, false, false]);
});

test("an inbox that is closed while it opens leaves no thread behind", async () => {
  const seen = { closed: false };
  const inbox = createSqliteInbox({
    file: join(folderFor(), "inbox.db"),
    async openThread(options, events) {
      const channel = await openInline(options, events);
      const close = async (): Promise<void> => {
        seen.closed = true;
        await channel.close();
      };
      return { ...channel, close };
    },
  });
  const opened = inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 1 });
  const refused = expect(opened).rejects.toMatchObject({ code: "storage-failed" });
  await inbox.close();
  await refused;
  expect(seen.closed).toBe(true);
});

test("a close whose thread hangs ends all the same", async () => {
  const { setTimer, half } = silence();
  const seen = { abandoned: false };
  const file = join(folderFor(), "inbox.db");
  const inbox = createSqliteInbox({
    file,
    setTimer,
    async openThread(options, events) {
      const channel = await openInline(options, events);
      const abandon = (): void => void (seen.abandoned = true);
      onTestFinished(() => channel.close());
      return { ...channel, abandon, close: () => new Promise(() => {}) };
    },
  });
  await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 1 });
  const closed = watch(inbox.close());
  await turns();
  half();
  half();
  await until(() => closed.ended);
  expect(closed.error).toMatchObject({ code: "thread-hung" });
  expect(seen).toEqual({ abandoned: true });
});

describe("a close ends with the page under way of", () => {
  const JOBS = 6_000;

  /** An inbox with many jobs, and what its thread is asked. */
  async function filled() {
    const asked: string[] = [];
    const openThread = telling(openInline, ({ tasks }) => asked.push(...tasks.map(({ verb }) => verb)));
    const opened = await onDisk({ openThread });
    await opened.inbox.store([mail(Array.from({ length: JOBS }, (_, index) => `m-${index}`))]);
    const count = (verb: string): number => asked.filter((one) => one === verb).length;
    return { ...opened, count };
  }

  test("a drop of many, which the next process goes on with", async () => {
    const { inbox, count, restart } = await filled();
    const dropped = watch(inbox.jobs.drop({ states: ["waiting"] }));
    await until(() => count("runRequest") > 0);
    await inbox.close();
    expect(count("runRequest")).toBeLessThan(3);
    await until(() => dropped.ended);
    expect(dropped.error).toMatchObject({ code: "request-queued" });
    await restart();
    await eventually(() => expect(inbox.stats()).toMatchObject({ waiting: 0 }));
  });

  test("a drop of many that this process carries out because nobody works", async () => {
    const { inbox, file, host } = await filled();
    await inbox.close();
    const asked: string[] = [];
    const openThread = telling(openInline, ({ tasks }) => asked.push(...tasks.map(({ verb }) => verb)));
    const other = await beside(file, host, { openThread });
    const dropped = watch(other.jobs.drop({ states: ["waiting"] }));
    await until(() => asked.includes("runRequest"));
    await other.close();
    expect(asked.filter((verb) => verb === "runRequest").length).toBeLessThan(3);
    await until(() => dropped.ended);
    expect(dropped.error).toMatchObject({ code: "request-queued" });
  });

  test("a look for jobs that are hardly there", async () => {
    const { inbox, count } = await filled();
    const found = watch(inbox.jobs.find({ states: ["waiting"], types: ["booking"], limit: 10 }));
    await until(() => count("find") > 0);
    await inbox.close();
    expect(count("find")).toBeLessThan(3);
    await until(() => found.ended);
    expect(found.error).toMatchObject({ code: "storage-failed", message: expect.stringContaining("closed") });
  });
});

test("an inbox is told to let the process end where handlers outlive the close, and only there", async () => {
  for (const stuck of [true, false]) {
    let told = 0;
    const { receiver, send, pass } = rig({ inbox: stubInbox(() => ({ unref: () => void (told += 1) })) });
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    if (!stuck) last().end();
    const closed = watch(receiver.close());
    await pass(10_000);
    expect(closed.value).toMatchObject({ stuck: stuck ? 1 : 0 });
    expect(told).toBe(stuck ? 1 : 0);
  }
});

test("a handler that never ends does not keep the process after close(); its work is another's then", async () => {
  const file = join(folderFor(), "inbox.db");
  const child = startNode(["test/adapters/inbox/stuck-process.ts", file]);
  await child.says("out", /^answered 200, stuck 1\n/m);
  expect(await child.ended, child.err()).toBe(0);
  const { inbox, seen } = await standby(file);
  expect(seen.begun).toBe(true);
  const { claims } = await inbox.claim({ max: 1, mergeMax: 1 });
  expect(claims[0]?.jobs).toMatchObject([{ attempt: 2, deaths: 1 }]);
});

test("while it runs on after close() nobody else takes the work over, and its late success counts", async () => {
  const file = join(folderFor(), "inbox.db");
  const child = startNode(["test/adapters/inbox/stuck-process.ts", file, "signal"]);
  await child.says("out", /^answered 200, stuck 1\n/m);
  const { inbox, seen } = await standby(file);
  expect([seen.begun, inbox.stats()]).toMatchObject([false, { running: 1 }]);
  child.kill("SIGUSR2");
  expect(await child.ended, child.err()).toBe(0);
  await eventually(() => expect(seen.begun).toBe(true));
  expect(inbox.stats()).toMatchObject({ running: 0, waiting: 0 });
});
