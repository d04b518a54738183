import fc from "fast-check";
import { afterAll, beforeAll, expect, test } from "vitest";
import { mail, nobodys, SKIPPED, type FullDelivery } from "../../suites/inbox/deliveries.ts";
import { DAY_MS, KEEP, upkeepDatabase, type World } from "./postgres-upkeep-bench.ts";

let database: Awaited<ReturnType<typeof upkeepDatabase>>;
beforeAll(async () => {
  database = await upkeepDatabase();
});
afterAll(() => database.drop());

type State = "open" | "skipped" | "unhandled" | "dead" | "done";
type Step =
  | { readonly do: "store" | "store raw"; readonly states: readonly ("open" | "skipped" | "unhandled")[] }
  | { readonly do: "expand" }
  | { readonly do: "settle"; readonly as: "done" | "dead" | "unhandled"; readonly place: number }
  | { readonly do: "replay"; readonly place: number }
  | { readonly do: "pass"; readonly hours: number };

const states = fc.array(fc.constantFrom("open" as const, "open" as const, "skipped" as const, "unhandled" as const), {
  minLength: 1,
  maxLength: 3,
});
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ do: fc.constantFrom("store" as const, "store" as const, "store raw" as const), states }),
  fc.constant({ do: "expand" } as const),
  fc.record({
    do: fc.constant("settle" as const),
    as: fc.constantFrom("done" as const, "done" as const, "dead" as const, "unhandled" as const),
    place: fc.nat(30),
  }),
  fc.record({ do: fc.constant("replay" as const), place: fc.nat(30) }),
  fc.record({ do: fc.constant("pass" as const), hours: fc.integer({ min: 6, max: 72 }) }),
);

test("whatever is done, what something refers to stays, and what is old and unreferenced goes", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 30 }), async (steps) => {
      const world = await database.world();
      try {
        const model = createModel(world);
        for (const each of steps) await model.take(each);
        await model.take({ do: "pass", hours: 24 });
      } finally {
        await world.end();
      }
    }),
    { numRuns: Number(process.env["HOOKLINE_ROUNDS"] ?? 8) },
  );
}, 300_000);

interface ModelJob {
  readonly delivery: number;
  state: State;
  settledAt: number;
}

/** What must be there, by the rules alone. */
function createModel(world: World) {
  const deliveries = new Map<number, { readonly day: number; readonly full: FullDelivery; isExpanded: boolean }>();
  const jobs = new Map<number, ModelJob>();
  let count = 0;

  function toEntry(state: State) {
    count += 1;
    if (state === "unhandled") return nobodys(`${count}`);
    return state === "open" ? { id: `${count}` } : { id: `${count}`, ...SKIPPED };
  }

  function addJobs(delivery: number, first: number, full: FullDelivery): void {
    const all = full.events.flatMap((event) => event.jobs);
    for (const [place, { state }] of all.entries())
      jobs.set(first + place, { delivery, state: state === "waiting" ? "open" : state, settledAt: world.clock.now() });
  }

  async function store(given: readonly State[], isRaw: boolean): Promise<void> {
    const full = mail(given.map(toEntry), { receivedAt: world.clock.now(), filler: "x".repeat(3_000) });
    const isExpanded = !isRaw && [...deliveries.values()].every((one) => one.isExpanded);
    const [id = 0] = await world.store([full], isRaw);
    deliveries.set(id, { day: world.today(), full, isExpanded });
    if (isExpanded) addJobs(id, id + 1, full);
  }

  async function expand(): Promise<void> {
    const next = [...deliveries].find(([, one]) => !one.isExpanded);
    if (next === undefined) return;
    const [id, one] = next;
    addJobs(id, await world.expand(id, one.full), one.full);
    one.isExpanded = true;
  }

  const jobAt = (place: number, isWanted: (job: ModelJob) => boolean): [number, ModelJob] | undefined => {
    const fitting = [...jobs].filter(([, job]) => isWanted(job));
    return fitting[place % Math.max(1, fitting.length)];
  };

  async function settle(as: "done" | "dead" | "unhandled", place: number): Promise<void> {
    const [id, job] = jobAt(place, ({ state }) => state === "open") ?? [];
    if (id === undefined || job === undefined) return;
    await world.settle(id, as);
    [job.state, job.settledAt] = [as, world.clock.now()];
  }

  /** By the day that was read long ago. */
  async function replay(place: number): Promise<void> {
    const [id, job] = jobAt(place, ({ state }) => state === "done" || state === "dead") ?? [];
    const delivery = job && deliveries.get(job.delivery);
    if (id === undefined || job === undefined || delivery === undefined) return;
    // Its writer may have been idle for long.
    await store(["skipped"], false);
    const made = await world.writer.transaction((_queries, make) =>
      make([
        {
          delivery: job.delivery,
          day: delivery.day,
          entry: 0,
          type: "email.updated",
          consumer: "default",
          lane: "a",
          mergeKey: undefined,
          account: 1,
          subscription: 1,
          receivedAt: 0,
          replayOf: id,
        },
      ]),
    );
    jobs.set(made[0] ?? 0, { delivery: job.delivery, state: "open", settledAt: 0 });
  }

  async function pass(hours: number): Promise<void> {
    await world.pass(hours * 3_600_000);
    await world.retain();
    const now = world.clock.now();
    for (const [id, { state, settledAt }] of jobs)
      if (
        (state === "dead" && settledAt <= now - KEEP.keepDeadMs) ||
        (state === "unhandled" && settledAt <= now - KEEP.keepUnhandledMs)
      )
        jobs.delete(id);
    for (const [id, { day, isExpanded }] of deliveries) {
      const isOld = (day + 1) * DAY_MS <= now - KEEP.keepDoneMs;
      const isNeeded =
        !isExpanded ||
        [...jobs.values()].some((job) => job.delivery === id && !["done", "skipped"].includes(job.state));
      if (!isOld || isNeeded) continue;
      deliveries.delete(id);
      for (const [job, { delivery }] of jobs) if (delivery === id) jobs.delete(job);
    }
    await check();
  }

  async function check(): Promise<void> {
    const stored = await world.rows<{ id: number; body: Buffer }>("select id, body from hl.delivery order by id");
    const expected = [...deliveries].toSorted(([a], [b]) => a - b);
    expect(stored.map(({ id }) => id)).toEqual(expected.map(([id]) => id));
    for (const [place, { body }] of stored.entries())
      expect(body.equals(expected[place]?.[1].full.delivery.body ?? new Uint8Array(0))).toBe(true);
    const listed = await world.rows<{ id: number; state: State }>(
      `with listed as (
         select id + 1 as first, jobs, absent from hl.delivery where jobs is not null union all select first_job, jobs, absent from hl.job_list)
       select first + place - 1 as id, case
         when exists (select from hl.job where id = first + place - 1) then 'open'
         when exists (select from hl.dead where id = first + place - 1) then 'dead'
         when exists (select from hl.unhandled where id = first + place - 1) then 'unhandled'
         when line->2 is null then 'skipped' else 'done' end as state
       from listed cross join lateral jsonb_array_elements(jobs::jsonb) with ordinality as lines (line, place)
       where not (place - 1)::int = any (absent) order by 1`,
    );
    expect(listed.map(({ id, state }) => [id, state])).toEqual(
      [...jobs].toSorted(([a], [b]) => a - b).map(([id, { state }]) => [id, state]),
    );
    for (const table of ["job", "dead", "unhandled", "unexpanded"])
      expect(
        await world.count(
          table,
          `not exists (select from ${world.ident}.delivery as d where d.id = ${table}.delivery and d.day in (${table}.day, 0))`,
        ),
      ).toBe(0);
  }

  return {
    async take(given: Step): Promise<void> {
      switch (given.do) {
        case "store":
        case "store raw":
          return store(given.states, given.do === "store raw");
        case "expand":
          return expand();
        case "settle":
          return settle(given.as, given.place);
        case "replay":
          return replay(given.place);
        case "pass":
          return pass(given.hours);
      }
    },
  };
}
