import { expect, test } from "vitest";
import type { Expansion } from "../../src/inbox/port/delivery.ts";
import { emails, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** Three deliveries of another process, the second of which the inbox does not expand; then others, a second each. */
async function expandBacklog(refuses: (bad: Expansion) => boolean) {
  const inbox = stubInbox((own) => ({
    expand: (all) =>
      all.some((each) => each.id === "2" && refuses(each)) ? Promise.reject(new Error("54000")) : own.expand(all),
  }));
  const own = rig({ inbox, gaps: false });
  const { seen, handler } = recordingHandler();
  for (const id of ["a", "bad", "c"]) await own.send(emails(id));
  own.receiver.on("email", handler);
  await own.receiver.start();
  for (let second = 0; second < 20; second += 1) {
    await own.send(emails("fresh"));
    await own.pass(1_000);
  }
  await own.receiver.idle();
  return { ...own, seen: seen.filter((id) => id !== "fresh") };
}

test("an event that the inbox takes with other jobs alone is an unhandled one, and what came behind it is handled", async () => {
  const { seen, inbox, log } = await expandBacklog(({ events }) =>
    events.some(({ jobs }) => jobs.some(({ state }) => state === "waiting")),
  );
  expect([seen, inbox.stats()]).toMatchObject([["a", "c"], { unhandled: 1, unexpanded: 0 }]);
  expect(log.of("event-not-expanded").length).toBeGreaterThan(0);
});

test("an event that the inbox does not take in any form makes no job", async () => {
  const { seen, inbox } = await expandBacklog(({ events }) => events.length > 0);
  expect([seen, inbox.stats()]).toMatchObject([["a", "c"], { unhandled: 0, unexpanded: 0 }]);
});

test("deliveries that can be read one by one alone are expanded", async () => {
  const inbox = stubInbox((own) => ({
    unexpanded: (max) => (max > 1 ? Promise.reject(new Error("a bad page")) : own.unexpanded(max)),
  }));
  const { receiver, send, pass } = rig({ inbox, gaps: false });
  const { seen, handler } = recordingHandler();
  for (const id of ["a", "b", "c"]) await send(emails(id));
  receiver.on("email", handler);
  await receiver.start();
  for (let second = 0; second < 10; second += 1) await pass(1_000);
  expect(seen).toEqual(["a", "b", "c"]);
});
