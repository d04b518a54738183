import { memoryInbox } from "hookline";
import { describe, expect, test } from "vitest";
import type { Worker, WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { emails, rig } from "../support/rig.ts";

/** An inbox on which many may work, with one delivery stored before this process works. */
async function onManyWorkers(change: (own: WorkingInbox<"memory">) => Partial<WorkingInbox<"memory">> = () => ({})) {
  const clock = fakeClock();
  const own = memoryInbox() as WorkingInbox<"memory">;
  let worker: Worker | undefined;
  const inbox: WorkingInbox<"memory"> = {
    ...own,
    capabilities: { ...own.capabilities, workers: "many" },
    work: (given) => own.work((worker = given)),
    ...change(own),
  };
  return { ...rig({ inbox, clock }), clock, worker: () => worker };
}

describe("where many work", () => {
  test("the inbox hears what this process handles, once for each consumer", async () => {
    const { receiver, worker } = await onManyWorkers();
    receiver.on("tracking.open", () => {});
    receiver.on("tracking", () => {}, { consumer: "audit" });
    await receiver.start();
    expect(worker()?.handled?.filter(({ type }) => type === "tracking.open")).toEqual([
      { type: "tracking.open", consumer: "default" },
      { type: "tracking.open", consumer: "audit" },
    ]);
  });

  test("unhandled jobs are looked at when the inbox says so, as often as it does, and not at the start", async () => {
    let looks = 0;
    const { receiver, worker, pass } = await onManyWorkers((own) => ({
      jobs: { ...own.jobs, unhandled: (page) => ((looks += 1), own.jobs.unhandled(page)) },
    }));
    receiver.on("email", () => {});
    await receiver.start();
    await pass(10_000);
    expect(looks).toBe(0);
    worker()?.reopen?.();
    await pass();
    expect(looks).toBe(1);
    worker()?.reopen?.();
    worker()?.reopen?.();
    await pass();
    expect(looks).toBeGreaterThan(1);
    await receiver.idle();
    await receiver.close();
    const before = looks;
    worker()?.reopen?.();
    await pass();
    expect(looks).toBe(before);
  });

  test("an expansion that was lost to another worker is not counted, and not tried over and over", async () => {
    let tries = 0;
    let isLost = true;
    const { receiver, worker, send, pass } = await onManyWorkers((own) => ({
      expand: async (expansions) => {
        tries += 1;
        return isLost ? expansions.map(() => undefined) : own.expand(expansions);
      },
    }));
    receiver.on("email.deleted", () => {});
    await send(emails("a"));
    await receiver.start();
    await pass(10_000);
    expect([tries, receiver.stats().skipped]).toEqual([1, 0]);
    isLost = false;
    worker()?.wake();
    await pass();
    expect([tries, receiver.stats().skipped]).toEqual([2, 1]);
  });
});
