import { memoryInbox, RetryLater, StorageError, type Inbox, type Receiver } from "hookline";
import { describe, expect, test } from "vitest";
import type { Claim } from "../../src/inbox/port/claims.ts";
import type { Worker, WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { turns } from "../support/event-loop.ts";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { bodyOf } from "../support/make-delivery.ts";
import { emails, heldHandler, recordingHandler, rig, type Rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

type Verbs = WorkingInbox<"memory">;

/** An inbox that is broken until `mend` is called. */
function mendable(broken: (own: Verbs) => Partial<Verbs>) {
  let isBroken = true;
  const inbox = stubInbox((own) => {
    const wrong = broken(own) as Record<string, (...given: unknown[]) => unknown>;
    const right = own as unknown as Record<string, (...given: unknown[]) => unknown>;
    return Object.fromEntries(
      Object.keys(wrong).map((verb) => [verb, (...given: unknown[]) => (isBroken ? wrong : right)[verb]?.(...given)]),
    );
  });
  return { inbox, mend: () => void (isBroken = false) };
}

async function passSeconds({ pass }: Pick<Rig, "pass">, seconds: number): Promise<void> {
  for (let second = 0; second < seconds; second += 1) await pass(1_000);
}

function rejectsOnAbort(signal: AbortSignal): Promise<never> {
  return new Promise((_, reject) => signal.addEventListener("abort", () => reject(signal.reason as Error)));
}

async function isGreen(receiver: Receiver): Promise<boolean> {
  const { live, ready, problems } = await receiver.health();
  return live && ready && problems.length === 0;
}

describe("an inbox that does not move is a problem after 15 s; where it gives no answer, or nothing, a restart is asked for after a minute", () => {
  const WAYS: readonly (readonly [string, string, (own: Verbs) => Partial<Verbs>, mayHelp: boolean])[] = [
    [
      "it withholds jobs that are due",
      "Nothing was started for 15 s: The inbox gives no work, although some is due.",
      () => ({ claim: async () => ({ claims: [], suspects: false, nextDueAt: undefined }) }),
      true,
    ],
    [
      "it withholds a job whose time has come by its own word",
      "Nothing was started for 15 s: The inbox gives no work, although some is due.",
      (own) => ({
        claim: async () => ({ claims: [], suspects: false, nextDueAt: 0 }),
        stats: () => ({ ...own.stats(), waiting: 0 }),
      }),
      true,
    ],
    [
      "it fails with an error that is not ours, whose text stays in the log",
      "Nothing was started for 15 s: Error, see the log.",
      () => ({ claim: () => Promise.reject(new Error("at host 10.0.0.7")) }),
      false,
    ],
    [
      "it gives no answer",
      "Nothing was started for 15 s: the inbox gives no answer.",
      () => ({ claim: () => new Promise(() => {}) }),
      true,
    ],
    [
      "it takes no outcome",
      "Nothing was settled for 15 s: The disk is slow.",
      () => ({ settle: () => Promise.reject(new StorageError("storage-failed", "The disk is slow.")) }),
      false,
    ],
  ];

  test.each(WAYS)("%s", async (_, message, broken, mayHelp) => {
    const { inbox, mend } = mendable(broken);
    const own = rig({ inbox, gaps: false });
    const { seen, handler } = recordingHandler();
    own.receiver.on("email", handler);
    await own.receiver.start();
    await own.send(emails("a"));
    await passSeconds(own, 14);
    expect(await codesOf(own.receiver)).not.toContain("no-progress");
    await passSeconds(own, 1);
    expect(await problemsOf(own.receiver, "no-progress")).toEqual([toReported("no-progress", message)]);
    await passSeconds(own, 44);
    expect(await own.receiver.health()).toMatchObject({ live: true });
    await passSeconds(own, 1);
    expect(await own.receiver.health()).toMatchObject({ live: !mayHelp });
    mend();
    await passSeconds(own, 41);
    await own.receiver.idle();
    expect([seen, await isGreen(own.receiver), own.clock.waiting]).toEqual([["a"], true, 0]);
  });

  test("it takes every claim back before its handler begins", async () => {
    let worker: Worker | undefined;
    let isBroken = true;
    const inbox = stubInbox((own) => ({
      work: (given) => ((worker = given), own.work(given)),
      async claim(limits) {
        const claimed = await own.claim(limits);
        if (isBroken) worker?.lost(claimed.claims);
        return claimed;
      },
    }));
    const own = rig({ inbox, gaps: false });
    const { seen, handler } = recordingHandler();
    own.receiver.on("email", handler);
    await own.receiver.start();
    await own.send(emails("a"));
    await passSeconds(own, 20);
    expect(await codesOf(own.receiver)).toContain("no-progress");
    expect(seen).toEqual([]);
    isBroken = false;
    await passSeconds(own, 2);
    expect([seen, await isGreen(own.receiver)]).toEqual([["a"], true]);
  });

  test.each([
    ["", false],
    [", and gives nothing for a time between, as where another process has them", true],
  ])(
    "it takes claims away while their handlers run, again and again%s: what starts comes to nothing",
    async (_how, isAwayBetween) => {
      let isAway = false;
      let worker: Worker | undefined;
      let isBroken = true;
      let running: readonly Claim[] = [];
      const inbox = stubInbox((own) => ({
        work: (given) => ((worker = given), own.work(given)),
        async claim(limits) {
          if (isAway) return { claims: [], suspects: false, nextDueAt: undefined };
          const claimed = await own.claim(limits);
          running = [...running, ...claimed.claims];
          return claimed;
        },
        async settle(settlements) {
          if (!isBroken) return own.settle(settlements);
          await own.settle(
            settlements.map(({ claim }) => ({ claim, outcomes: claim.jobs.map(() => ({ to: "release" })) })),
          );
          return settlements.map(() => false);
        },
      }));
      const own = rig({ inbox, gaps: false });
      const { seen, handler } = recordingHandler((_, { signal }) => isBroken && rejectsOnAbort(signal));
      own.receiver.on("email", handler);
      await own.receiver.start();
      await own.send(emails("a"));
      for (let seconds = 0; seconds < 26; seconds += 1) {
        await passSeconds(own, 1);
        isAway = false;
        worker?.wake();
        await own.pass();
        if (seconds % 5 !== 4) continue;
        isAway = isAwayBetween;
        worker?.lost(running);
        running = [];
      }
      expect(await codesOf(own.receiver)).toEqual(["no-progress"]);
      const [problem] = await problemsOf(own.receiver, "no-progress");
      expect(problem?.message).toContain("What this process runs was not settled for 16 s: Its jobs are taken away");
      expect([seen.length, (await own.receiver.health()).live]).toEqual([6, true]);
      isBroken = false;
      worker?.lost(running);
      await passSeconds(own, 2);
      expect([seen.length, await isGreen(own.receiver), own.clock.waiting]).toEqual([7, true, 0]);
    },
  );

  test.each(["a pause", "a delay of an account"])("also while %s stands that holds nothing", async (what) => {
    let isBroken = false;
    const inbox = stubInbox((own) => ({
      claim: async (limits) => (isBroken ? { claims: [], suspects: false, nextDueAt: undefined } : own.claim(limits)),
    }));
    const own = rig({ inbox, gaps: false, concurrency: 2 });
    const { receiver } = own;
    receiver.on("email", ({ accountId }) => {
      if (accountId === 9) throw new RetryLater({ afterSeconds: 3_600 }, { scope: "account" });
    });
    await receiver.start();
    if (what === "a pause") await receiver.flow.pause({ accountId: 9 }, { reason: "it has left" });
    else await own.send(bodyOf({ accountId: 9 }));
    await own.pass();
    if (what !== "a pause") await receiver.jobs.erase(9);
    isBroken = true;
    await own.send(emails("a"));
    await passSeconds(own, 16);
    expect(await codesOf(receiver)).toContain("no-progress");
  });

  test("the share of another process that cannot be taken over is told of, and no restart is asked for", async () => {
    const cause = new StorageError("storage-failed", "Somebody holds its row.");
    const standstill = { step: "claim", of: "The share of worker 2", seconds: 90, cause } as const;
    const inbox = stubInbox((own) => ({
      stats: () => ({ ...own.stats(), standstill }),
    }));
    const { receiver } = rig({ inbox });
    await receiver.start();
    const message = "The share of worker 2 was not started for 90 s: Somebody holds its row.";
    expect(await problemsOf(receiver, "no-progress")).toEqual([toReported("no-progress", message)]);
    expect(await receiver.health()).toMatchObject({ live: true, ready: true });
  });

  test.each<StorageError["code"]>(["disk-full", "storage-failed"])(
    "but no restart is asked for where the inbox says why it cannot store: %s",
    async (code) => {
      const inbox = stubInbox(() => ({
        claim: () => new Promise(() => {}),
        ready: () => ({ ready: false, error: new StorageError(code, "It cannot store.") }),
      }));
      const own = rig({ inbox });
      await own.receiver.start();
      await own.send(emails("a"));
      await passSeconds(own, 90);
      expect(await own.receiver.health()).toMatchObject({ live: true, ready: false });
      expect(await codesOf(own.receiver)).toContain("no-progress");
    },
  );
});

describe("no standstill is", () => {
  const TEN_MINUTES_S = 600;

  async function expectNone(inbox: Inbox<"memory">, prepare: (own: Rig) => Promise<void>): Promise<Rig> {
    const own = rig({ inbox, gaps: false, concurrency: 2 });
    await prepare(own);
    for (let seconds = 0; seconds < TEN_MINUTES_S; seconds += 20) {
      await own.pass(20_000);
      expect(await codesOf(own.receiver)).not.toContain("no-progress");
    }
    expect(await own.receiver.health()).toMatchObject({ live: true });
    return own;
  }

  test("an inbox without work: no timer runs", async () => {
    const { clock } = await expectNone(memoryInbox(), async ({ receiver, send }) => {
      receiver.on("email", () => {});
      await receiver.start();
      await send(emails("a"));
      await receiver.idle();
    });
    expect(clock.waiting).toBe(0);
  });

  test("all slots busy with handlers that take long, while more waits", async () => {
    const { handler } = heldHandler();
    await expectNone(memoryInbox(), async ({ receiver, send }) => {
      receiver.on("email", handler, { timeoutMs: 0 });
      await receiver.start();
      await send(emails("a", "b", "c", "d", "e", "f"));
      await turns();
    });
  });

  test("one slot busy, and the others free because the lane waits for it", async () => {
    const { handler } = heldHandler();
    await expectNone(memoryInbox(), async ({ receiver, send }) => {
      receiver.on("email", handler, { timeoutMs: 0, lane: "account", merge: false });
      await receiver.start();
      await send(emails("a", "b", "c"));
      await turns();
    });
  });

  test("a job that waits for its next attempt", async () => {
    await expectNone(memoryInbox(), async ({ receiver, send }) => {
      receiver.on("email", () => {
        throw new RetryLater({ afterMs: 3_600_000 });
      });
      await receiver.start();
      await send(emails("a"));
      await turns();
    });
  });

  test("what waits behind a pause, or behind its account's delay, also in a lane that accounts share", async () => {
    await expectNone(memoryInbox(), async ({ receiver, send, pass }) => {
      receiver.on(
        "email",
        ({ accountId }) => {
          if (accountId === 9) throw new RetryLater({ afterSeconds: 3_600 }, { scope: "account" });
        },
        { lane: ({ accountId }) => (accountId === 9 ? "other" : "shared") },
      );
      await receiver.flow.pause({ accountId: 1 }, { reason: "import" });
      await receiver.start();
      for (const accountId of [1, 2, 9]) await send(bodyOf({ accountId }));
      await turns();
      await pass();
      await send(bodyOf({ accountId: 9 }));
    });
  });

  test("a delivery for whose jobs there is no room while others run", async () => {
    const { handler } = heldHandler();
    const inbox = stubInbox((own) => ({
      unexpanded: async () => [],
      stats: () => ({ ...own.stats(), unexpanded: 1 }),
    }));
    await expectNone(inbox, async ({ receiver, send }) => {
      receiver.on("email", handler, { timeoutMs: 0 });
      await receiver.start();
      await send(emails("a"));
      await turns();
    });
  });

  test("a standby, which does not work", async () => {
    const inbox = stubInbox(() => ({
      work: async () => {},
      claim: async () => ({ claims: [], suspects: false, nextDueAt: undefined }),
    }));
    await expectNone(inbox, async ({ receiver, send }) => {
      await receiver.start();
      await send(emails("a"));
    });
  });

  test("a process that only receives", async () => {
    await expectNone(memoryInbox(), ({ send }) => send(emails("a")));
  });

  test.each([
    ["one account that is erased, and all that runs with it", [1], [2, 3]],
    ["one account after the other that is erased while a handler of another one runs for long", [1, 2, 3], []],
  ])("%s", async (_, first, then) => {
    const { calls, handler } = heldHandler();
    const own = rig({ gaps: false });
    own.receiver.on("email", handler);
    await own.receiver.start();
    for (const accountId of first) await own.send(bodyOf({ accountId }));
    await own.pass();
    await own.receiver.jobs.erase(1);
    if (then.length === 0) await own.receiver.jobs.erase(2);
    for (const accountId of then) await own.send(bodyOf({ accountId }));
    await passSeconds(own, 20);
    expect([calls.length, await isGreen(own.receiver)]).toEqual([3, true]);
    for (const { end } of calls) end();
  });

  test("an account of which nothing had begun that is erased beside a lost handler that ignores its signal", async () => {
    const { calls, handler } = heldHandler();
    const own = rig({ gaps: false, concurrency: 1, timeoutMs: 0 });
    own.receiver.on("email", handler);
    await own.receiver.start();
    for (const accountId of [1, 2]) await own.send(bodyOf({ accountId }));
    await own.pass();
    for (const accountId of [1, 2]) await own.receiver.jobs.erase(accountId);
    await passSeconds(own, 20);
    expect([calls.length, await codesOf(own.receiver)]).toEqual([1, []]);
    calls[0]?.end();
  });

  test("accounts that were erased one after the other, and all that ran with them, for more than a minute", async () => {
    const { calls, handler } = heldHandler();
    const own = rig({ gaps: false, timeoutMs: 0 });
    own.receiver.on("email", handler);
    await own.receiver.start();
    for (const accountId of [1, 2]) {
      await own.send(bodyOf({ accountId }));
      await own.pass();
      await own.receiver.jobs.erase(accountId);
      calls.at(-1)?.end();
    }
    await own.send(bodyOf({ accountId: 3 }));
    await passSeconds(own, 59);
    expect(await codesOf(own.receiver)).toEqual(["no-progress"]);
    await passSeconds(own, 2);
    expect([calls.length, await isGreen(own.receiver)]).toEqual([3, true]);
    for (const { end } of calls) end();
  });

  test("a receiver that closes, nor one that is closed", async () => {
    const inbox = stubInbox(() => ({ claim: () => Promise.reject(new Error("no")) }));
    const own = rig({ inbox });
    own.receiver.on("email", () => {});
    await own.receiver.start();
    await own.send(emails("a"));
    await passSeconds(own, 20);
    expect(await codesOf(own.receiver)).toContain("no-progress");
    const closed = own.receiver.close();
    expect(await codesOf(own.receiver)).toEqual(["closing"]);
    await closed;
    await passSeconds(own, 60);
    expect(await own.receiver.health()).toMatchObject({ live: true, problems: [{ code: "closing" }] });
    expect(own.clock.waiting).toBe(0);
  });
});
