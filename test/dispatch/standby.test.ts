import { StorageError, type Claim, type UnhandledJob, type Worker, type WorkingInbox } from "hookline/adapter";
import { describe, expect, test } from "vitest";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { makeDelivery } from "../support/make-delivery.ts";
import { emails, heldHandler, recordingHandler, rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

/** A receiver on an inbox whose work another process can have meanwhile. */
function shared(change: (own: WorkingInbox<"memory">) => Partial<WorkingInbox<"memory">> = () => ({})) {
  const told: { worker: Worker | undefined; readonly claims: Claim[] } = { worker: undefined, claims: [] };
  const inbox = stubInbox((own) => ({
    async work(worker) {
      told.worker = worker;
      await own.work(worker);
    },
    async claim(limits) {
      const found = await own.claim(limits);
      told.claims.push(...found.claims);
      return found;
    },
    ...change(own),
  }));
  const opened = rig({ inbox, concurrency: 1 });
  const worker = (): Worker => {
    if (told.worker === undefined) throw new Error("It was not started.");
    return told.worker;
  };
  return { ...opened, worker, claims: told.claims };
}

describe("a process whose work another has", () => {
  test("stands by: nothing is claimed, nothing comes due, and idle() waits for nothing", async () => {
    const { receiver, send, pass, worker, claims } = shared();
    const { handler, seen } = recordingHandler(() => {
      throw new Error("no");
    });
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await pass();
    expect(seen).toEqual(["a"]);
    worker().end();
    expect(receiver.stats().role).toBe("standby");
    await receiver.idle();
    await send(emails("b"));
    worker().wake();
    await pass(3_600_000);
    expect([seen, claims.length]).toEqual([["a"], 1]);
  });

  test("stands still where it is to begin again and cannot, until it does", async () => {
    const { receiver, send, pass, worker } = shared();
    const { handler, seen } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await pass();
    await send(emails("a"));
    worker().end(new StorageError("storage-failed", "The table is gone."));
    await pass(10_000);
    worker().end(new StorageError("storage-failed", "The table is still gone."));
    await pass(6_000);
    expect((await receiver.health()).problems).toMatchObject([
      { code: "no-progress", message: expect.stringContaining("The table is still gone.") },
    ]);
    worker().begin();
    await pass(2_000);
    expect([seen, (await receiver.health()).problems]).toEqual([["a"], []]);
  });

  test("stands still where it begins again and again, and each time the inbox hangs", async () => {
    let ended = deferred();
    let hangs = false;
    const { receiver, send, pass, worker } = shared((own) => ({
      async claim(limits) {
        if (!hangs) return own.claim(limits);
        await ended.promise;
        return { claims: [], nextDueAt: undefined, suspects: false };
      },
    }));
    receiver.on("email", () => {});
    await receiver.start();
    await pass();
    hangs = true;
    await send(emails("a"));
    for (let life = 0; life < 4; life += 1) {
      await pass(5_000);
      worker().end(new StorageError("worker-stalled", "No step held."));
      ended.resolve();
      ended = deferred();
      await pass(1_000);
      worker().begin();
    }
    expect((await receiver.health()).problems).toMatchObject([{ code: "no-progress" }]);
    hangs = false;
    ended.resolve();
    await pass(2_000);
    expect((await receiver.health()).problems).toEqual([]);
  });

  test("drops what it had claimed and not begun", async () => {
    const { receiver, send, pass, worker, claims } = shared();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler, { lane: "none" });
    await receiver.start();
    await send(emails("a", "b"));
    await pass();
    expect([calls.length, claims.length]).toEqual([1, 2]);
    worker().lost(claims);
    worker().end();
    calls[0]?.end();
    await pass();
    expect(calls.length).toBe(1);
    expect(calls[0]?.ctx.signal.reason).toMatchObject({ code: "claim-lost" });
  });

  test("still waits in idle() for the handlers that run", async () => {
    const { receiver, send, pass, worker } = shared();
    const { calls, handler } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send(emails("a"));
    await pass();
    worker().end();
    const idle = watch(receiver.idle());
    await pass();
    expect([calls.length, idle.ended]).toEqual([1, false]);
    calls[0]?.end();
    await pass();
    expect(idle.ended).toBe(true);
  });

  test("expands what came meanwhile when it works again, and sweeps again", async () => {
    const swept: number[] = [];
    const { receiver, send, pass, worker } = shared((own) => ({
      jobs: { ...own.jobs, unhandled: (page) => (swept.push(seen.length), own.jobs.unhandled(page)) },
    }));
    const { handler, seen } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await pass();
    worker().end();
    await send(emails("a"));
    await pass(10_000);
    expect([seen, swept]).toEqual([[], [0]]);
    worker().begin();
    await pass();
    expect([seen, swept]).toEqual([["a"], [0, 0]]);
  });

  test("sweeps again where the work came back within a sweep, and works meanwhile", async () => {
    const pages = [deferred<readonly UnhandledJob[]>(), deferred<readonly UnhandledJob[]>()];
    let asked = 0;
    const { receiver, send, pass, worker } = shared((own) => ({
      jobs: { ...own.jobs, unhandled: () => pages[asked++]?.promise ?? Promise.resolve([]) },
    }));
    const { handler, seen } = recordingHandler();
    receiver.on("email", handler);
    await receiver.start();
    await turns();
    worker().end();
    worker().begin();
    await send(emails("a"));
    pages[0]?.resolve([]);
    await pass();
    expect([asked, seen]).toEqual([2, ["a"]]);
    pages[1]?.resolve([]);
    await receiver.idle();
  });

  test("does not expand what it was reading when it lost the work: it reads again", async () => {
    const read = deferred();
    const did: string[] = [];
    const { receiver, send, pass, worker } = shared((own) => ({
      async unexpanded(max) {
        did.push("read");
        const page = await own.unexpanded(max);
        await read.promise;
        return page;
      },
      expand: (expansions) => (did.push("expand"), own.expand(expansions)),
    }));
    receiver.on("email", () => {});
    await send(emails("a"));
    await receiver.start();
    await pass();
    worker().end();
    worker().begin();
    read.resolve();
    await pass();
    expect(did.slice(0, 3)).toEqual(["read", "read", "expand"]);
  });

  test("reopens nothing more for a tenure that is over", async () => {
    const pages = [deferred<readonly UnhandledJob[]>(), deferred<readonly UnhandledJob[]>()];
    let [asked, reopened] = [0, 0];
    const unhandled = { id: "1", delivery: makeDelivery(emails("a")), entry: 0 } as UnhandledJob;
    const { receiver, pass, worker } = shared((own) => ({
      jobs: {
        ...own.jobs,
        unhandled: () => pages[asked++]?.promise ?? Promise.resolve([]),
        reopen: async () => void (reopened += 1),
      },
    }));
    receiver.on("email", () => {});
    await receiver.start();
    await turns();
    worker().end();
    worker().begin();
    pages[0]?.resolve([unhandled]);
    await pass();
    expect([asked, reopened]).toEqual([2, 0]);
    pages[1]?.resolve([]);
    await pass();
  });

  test("says nothing of what fails because of it", async () => {
    const failing = { on: false };
    const { receiver, log, pass, worker } = shared((own) => ({
      async claim(limits) {
        if (!failing.on) return own.claim(limits);
        worker().end();
        throw new Error("another has it");
      },
    }));
    receiver.on("email", () => {});
    await receiver.start();
    await pass();
    failing.on = true;
    worker().wake();
    await pass(10_000);
    expect(log.of("inbox-failed")).toEqual([]);
  });
});
