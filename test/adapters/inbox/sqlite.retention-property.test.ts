import fc from "fast-check";
import type { StoredJob } from "hookline/adapter";
import { expect, test } from "vitest";
import { nobodys, raw, SKIPPED, type FullDelivery, type MailEntry } from "../../suites/inbox/deliveries.ts";
import { KEEP_DONE_MS, KEEP_UNHANDLED_MS, MINUTE_MS, retentionBench } from "./retention-bench.ts";

const ERROR = { name: "Error", message: "no", at: 0 };

type Step =
  | { readonly do: "store" | "store raw"; readonly entries: readonly ("waiting" | "skipped" | "unhandled")[] }
  | { readonly do: "expand" }
  | { readonly do: "settle"; readonly to: "done" | "dead" | "unhandled" | "retry"; readonly max: number }
  | { readonly do: "replay" | "drop"; readonly place: number }
  | { readonly do: "pass"; readonly minutes: number };

const entries = fc.array(
  fc.constantFrom("waiting" as const, "waiting" as const, "skipped" as const, "unhandled" as const),
  {
    minLength: 1,
    maxLength: 3,
  },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom("store" as const, "store raw" as const), entries }),
  fc.constant({ do: "expand" } as const),
  fc.record({
    do: fc.constant("settle" as const),
    to: fc.constantFrom("done" as const, "done" as const, "dead" as const, "unhandled" as const, "retry" as const),
    max: fc.integer({ min: 1, max: 5 }),
  }),
  fc.record({ do: fc.constantFrom("replay" as const, "drop" as const), place: fc.nat(30) }),
  fc.record({ do: fc.constant("pass" as const), minutes: fc.integer({ min: 1, max: 15 }) }),
);

test("whatever is done, nothing goes before its time, and everything goes after it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const world = await openWorld();
      try {
        for (const each of steps) await world.take(each);
        await world.rest();
      } finally {
        await world.end();
      }
    }),
    { numRuns: Number(process.env["HOOKLINE_ROUNDS"] ?? 25) },
  );
});

async function openWorld() {
  const { inbox, clock, mailNow, settleDue, pass, all, rows, end } = await retentionBench();
  const stored = new Map<string, FullDelivery>();
  let count = 0;

  function toEntry(state: "waiting" | "skipped" | "unhandled"): MailEntry {
    count += 1;
    if (state === "unhandled") return nobodys(`${count}`);
    return state === "waiting" ? { id: `${count}` } : { id: `${count}`, ...SKIPPED };
  }

  async function keep(delivery: FullDelivery, isRaw: boolean): Promise<void> {
    const [result] = await inbox.store([isRaw ? raw(delivery) : delivery]);
    if (result === undefined || !("id" in result)) throw new Error("It was not stored.");
    if (!result.expanded) stored.set(result.id, delivery);
  }

  async function expand(): Promise<void> {
    for (const { id } of await inbox.unexpanded(3)) {
      await inbox.expand([{ id, events: stored.get(id)?.events ?? [], cursor: undefined }]);
      stored.delete(id);
    }
  }

  /** What time alone may take away. */
  function isOver({ state, receivedAt, settledAt = Infinity }: StoredJob): boolean {
    if (state === "unhandled") return settledAt <= clock.now() - KEEP_UNHANDLED_MS;
    return (state === "done" || state === "skipped") && receivedAt <= clock.now() - KEEP_DONE_MS;
  }

  async function letPass(minutes: number): Promise<void> {
    const before = await all();
    const deliveries = rows("unexpanded");
    await pass(minutes);
    const after = await all();
    const left = new Map(after.map((job) => [job.id, job]));
    expect(after).toEqual(before.filter(({ id }) => left.has(id)));
    expect(before.filter((job) => !left.has(job.id) && !isOver(job))).toEqual([]);
    expect(rows("unexpanded")).toBe(deliveries);
    for (const job of after) expect(await inbox.jobs.get(job.id)).toMatchObject({ job });
  }

  async function change(verb: "replay" | "drop", place: number): Promise<void> {
    const jobs = await all();
    const job = jobs[place % Math.max(jobs.length, 1)];
    if (job === undefined) return;
    const { id, state, consumer } = job;
    const isTaken =
      verb === "replay"
        ? state !== "waiting" && consumer !== undefined
        : state === "waiting" || state === "dead" || state === "unhandled";
    expect(await inbox.jobs[verb]({ ids: [id] })).toBe(isTaken ? 1 : 0);
  }

  function checkCounts(): void {
    expect(inbox.stats()).toMatchObject({
      unexpanded: rows("unexpanded"),
      waiting: rows("job"),
      dead: rows("dead"),
      unhandled: rows("unhandled"),
    });
    for (const table of ["job", "dead", "unhandled", "unexpanded", "job_list"])
      expect(rows(table, `NOT EXISTS (SELECT 1 FROM delivery WHERE delivery.id = ${table}.delivery)`)).toBe(0);
  }

  return {
    async take(given: Step): Promise<void> {
      switch (given.do) {
        case "store":
        case "store raw":
          await keep(mailNow(...given.entries.map(toEntry)), given.do === "store raw");
          break;
        case "expand":
          await expand();
          break;
        case "settle": {
          const [at, delayMs] = [clock.now() + 30 * MINUTE_MS, 30 * MINUTE_MS];
          const outcome =
            given.to === "retry"
              ? ({ to: "retry", at, delayMs, counted: true, error: ERROR } as const)
              : ({ to: given.to, error: ERROR } as const);
          await settleDue(outcome, given.max);
          break;
        }
        case "pass":
          await letPass(given.minutes);
          break;
        default:
          await change(given.do, given.place);
      }
      checkCounts();
    },
    /** Everything is settled, and its time goes by: only the dead are left, with their deliveries. */
    async rest(): Promise<void> {
      while (rows("unexpanded") > 0) await expand();
      while (rows("job") > 0) {
        await settleDue();
        await pass(30);
      }
      await letPass(KEEP_DONE_MS / MINUTE_MS + 2);
      const dead = new Set((await all()).flatMap(({ state, deliveryId }) => (state === "dead" ? deliveryId : [])));
      expect((await all()).filter(({ deliveryId }) => !dead.has(deliveryId))).toEqual([]);
      expect(rows("delivery", "id NOT IN (SELECT delivery FROM dead)") + rows("unhandled")).toBe(0);
      checkCounts();
    },
    end,
  };
}
