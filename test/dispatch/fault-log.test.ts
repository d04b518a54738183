import { memoryInbox } from "hookline";
import { expect, test } from "vitest";
import { turns } from "../support/event-loop.ts";
import type { LogRecorder } from "../support/log-recorder.ts";
import { emails, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const JOBS = 50;
const ids = Array.from({ length: JOBS }, (_, index) => `m-${index}`);

/** Lines that were told, and those that they say were left out. */
function counted({ of }: LogRecorder, code: string) {
  const lines = of(code);
  const left = lines.map(({ facts }) => Number(facts["suppressed"] ?? 0));
  return { lines: lines.length, all: left.reduce((sum, count) => sum + 1 + count, 0) };
}

test("a full disk that takes no settle has a line a second in the log, whatever the jobs", async () => {
  let tries = 0;
  const inbox = stubInbox(() => ({
    settle(settlements) {
      tries += settlements.length;
      return Promise.reject(new Error("full disk"));
    },
  }));
  const all = rig({ inbox, concurrency: JOBS });
  all.receiver.on("email", () => {});
  await all.receiver.start();
  await all.send(emails(...ids));
  await all.pass(10_000);
  expect(tries).toBeGreaterThan(5 * JOBS);
  expect(counted(all.log, "settle-failed").lines).toBeLessThanOrEqual(11);
  await all.pass(1_000);
  // The last try's lines wait for the end of their second.
  expect(counted(all.log, "settle-failed").all).toBeGreaterThanOrEqual(tries - 2 * JOBS);
});

test("an inbox that does not say what is next has a line a second in the log, whatever comes meanwhile", async () => {
  let failures = 0;
  const inbox = stubInbox(() => ({
    claim() {
      failures += 1;
      return Promise.reject(new Error("locked"));
    },
  }));
  const all = rig({ inbox });
  all.receiver.on("email", () => {});
  await all.receiver.start();
  for (const id of ids) {
    await all.send(emails(id));
    await turns(2);
  }
  expect(failures).toBeGreaterThan(10);
  expect(counted(all.log, "inbox-failed").lines).toBe(1);
  await all.clock.advance(999);
  await all.pass(1);
  expect(counted(all.log, "inbox-failed").lines).toBe(2);
});

test("a memory inbox that is full has a line a second of what it drops, with how much in all", async () => {
  const all = rig({ inbox: memoryInbox({ maxJobs: 2 }) });
  all.receiver.on("contact", () => {});
  await all.receiver.start();
  for (const id of ids) await all.send(emails(id));
  expect(all.log.of("memory-dropped")).toMatchObject([{ level: "error", facts: { count: 1 } }]);
  await all.pass(1_000);
  const [, last, ...more] = all.log.of("memory-dropped");
  expect([last?.facts["count"], more]).toEqual([JOBS - all.inbox.stats().unhandled, []]);
});
