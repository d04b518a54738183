import { memoryInbox } from "hookline";
import { expect, test } from "vitest";
import { fakeClock } from "../support/fake-clock.ts";
import { altered } from "../support/inboxes.ts";
import { emails, notingHandler, rig } from "../support/rig.ts";
import { deferred, turns } from "../support/turns.ts";

// `Work.expand` asks `dispatcher.working()`, which is true from the beginning of the sweep: a delivery that is kept while the sweep
// waits for a page is expanded at once. Until the sweep has ended it must be kept without events, as before the start.
test("unhandled jobs are given to their handlers before anything newer is expanded, also what comes during the sweep", async () => {
  const clock = fakeClock();
  const before = rig({ inbox: memoryInbox(), clock });
  before.receiver.on("contact", () => {});
  await before.receiver.start();
  await before.send(emails("older"));
  await before.receiver.idle();
  await before.receiver.close();

  const paging = deferred();
  const own = before.inbox;
  const inbox = altered(() => ({
    ...own,
    jobs: {
      ...own.jobs,
      unhandled: async (page) => {
        await paging.promise;
        return own.jobs.unhandled(page);
      },
    },
  }));
  const after = rig({ inbox, clock });
  const { seen, handler } = notingHandler();
  after.receiver.on("email", handler, { lane: "account" });
  await after.receiver.start();
  await after.send(emails("newer"));
  await turns();
  paging.resolve();
  await turns();
  await after.receiver.idle();
  expect(seen).toEqual(["older", "newer"]);
});
