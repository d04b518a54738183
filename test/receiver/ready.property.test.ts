import fc from "fast-check";
import { createReceiver, memoryInbox } from "hookline";
import { expect, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { findInternals } from "../../src/receiver/internals.ts";
import { controllableInbox } from "../support/controllable-inbox.ts";
import { turns, watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { bodyOf, signedRequest } from "../support/make-delivery.ts";

const SECRET = "a signing secret";
const TAKES: ReadonlySet<string | undefined> = new Set(["receiving", "starting", "standby", "working"]);
/** How long a failure of the storage is believed. */
const DOUBT_MS = 30_000;

type Order = "release" | "fail" | "hold";
type Step =
  | {
      readonly do: "start" | "close" | "takeWorkerLock" | "freeWorkerLock" | "set the secret" | "make room" | "nothing";
    }
  | { readonly do: "open" | "work" | "worked" | "store"; readonly order: Order }
  | { readonly do: "pass"; readonly ms: number };

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 5,
    arbitrary: fc.record({
      do: fc.constantFrom("start", "takeWorkerLock", "freeWorkerLock", "set the secret", "make room", "nothing"),
    }),
  },
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom("open", "work", "worked", "store", "store"),
      order: fc.constantFrom("release", "release", "fail", "hold"),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass"), ms: fc.constantFrom(1_000, DOUBT_MS) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("close") }) },
);

test(
  "ready says what the next delivery gets: 200 where it is true, 503 where it is false",
  { timeout: 60_000 },
  async () => {
    const told = { ready: 0, notReady: 0 };
    await fc.assert(
      fc.asyncProperty(fc.boolean(), fc.array(step, { maxLength: 25, size: "max" }), async (hasSecret, steps) => {
        const bench = openBench(hasSecret);
        try {
          for (const taken of [{ do: "nothing" } as const, ...steps]) {
            await bench.take(taken);
            await turns(3);
            const { ready, problems } = await bench.receiver.health();
            // Nobody can know that a storage fails before it does, nor that it is mended before something is stored.
            const surprise = bench.isSurprise();
            const status = await bench.deliver(problems.some(({ code }) => code === "inbox-full"));
            if (!surprise) expect([ready, status]).toEqual([status === 200, ready ? 200 : 503]);
            expect(problems.length > 0 || ready).toBe(true);
            told[ready ? "ready" : "notReady"] += 1;
          }
        } finally {
          await bench.end();
        }
      }),
      { numRuns: 150 },
    );
    for (const count of Object.values(told)) expect(count).toBeGreaterThan(100);
  },
);

function openBench(hasSecret: boolean) {
  const clock = fakeClock();
  const own = memoryInbox({ maxJobs: 4 }) as WorkingInbox<"memory">;
  const commands = controllableInbox(own);
  const secret: string[] = hasSecret ? [SECRET] : [];
  const receiver = createReceiver({ secret, inbox: commands.inbox, clock, log: false });
  /** Jobs stay: what is taken fills the inbox. */
  receiver.on("*", () => new Promise<void>(() => {}));
  let keep: Order = "release";
  let tried: Order = "release";
  let failedAt = -Infinity;
  let isHeld = false;

  const order = { release: commands.release, fail: commands.fail, hold: commands.hold };

  return {
    receiver,
    async take(taken: Step): Promise<void> {
      if ("order" in taken) {
        if (taken.do === "store") keep = taken.order;
        // What waited there is stored now, however late.
        if (taken.do === "store" && taken.order === "release" && isHeld) tried = "release";
        if (taken.do === "store" && taken.order !== "hold") isHeld = false;
        order[taken.order](taken.do);
      } else if (taken.do === "pass") await clock.advance(taken.ms);
      else if (taken.do === "start") watch(receiver.start());
      else if (taken.do === "close") void receiver.close({ drainMs: 0 });
      else if (taken.do === "takeWorkerLock" || taken.do === "freeWorkerLock") commands[taken.do]();
      else if (taken.do === "set the secret") secret.splice(0, 1, SECRET);
      else if (taken.do === "make room" && findInternals(receiver)?.state() !== "closed")
        void own.jobs.erase(2002).catch(() => {});
    },
    isSurprise: () => keep !== tried || (keep !== "release" && clock.now() - failedAt >= DOUBT_MS),
    /** @param isFull what fails then says nothing of the storage */
    async deliver(isFull: boolean): Promise<number> {
      const reply = watch(receiver.receive(signedRequest(bodyOf(), { secret: SECRET, at: clock.date() })));
      await turns();
      if (!reply.ended) await clock.advance(5_000);
      await turns(3);
      const status = reply.value?.status ?? 0;
      if (!isFull && secret.length > 0 && TAKES.has(findInternals(receiver)?.state())) {
        tried = keep;
        isHeld ||= keep === "hold";
        if (status !== 200) failedAt = clock.now();
      }
      return status;
    },
    async end(): Promise<void> {
      for (const verb of ["open", "work", "worked", "store"] as const) commands.release(verb);
      const closed = watch(receiver.close({ drainMs: 0 }));
      await turns();
      if (!closed.ended) await clock.advance(10_000);
    },
  };
}
