import { memoryInbox } from "hookline";
import { expect, test } from "vitest";
import { bodyOf, change } from "../support/make-delivery.ts";
import { failingHandler, rig } from "../support/rig.ts";

const MAX_JOBS = 1_000;

test.each([
  ["without a handler", "contact", { unhandled: MAX_JOBS, dead: 0 }],
  ["whose handler gives up", "email", { unhandled: 0, dead: MAX_JOBS }],
] as const)("entries of long deliveries %s are at most `maxJobs` jobs: the newest", async (_, name, left) => {
  const { receiver, inbox, send, log } = rig({ inbox: memoryInbox({ maxJobs: MAX_JOBS }), gaps: false, attempts: 1 });
  receiver.on(name, failingHandler().handler);
  const payloads = Array.from({ length: 5 * MAX_JOBS }, (__, index) => change(String(index)));
  for (let times = 0; times < 2; times += 1) await send(bodyOf({ payloads }));
  await receiver.start();
  await receiver.idle();
  expect(inbox.stats()).toMatchObject({ ...left, waiting: 0, unexpanded: 0 });
  const { jobs } = await inbox.jobs.find({ limit: 1 });
  expect(jobs[0]?.event).toMatchObject({ id: String(4 * MAX_JOBS) });
  expect(log.of("memory-dropped")[0]).toMatchObject({ level: "error" });
});
