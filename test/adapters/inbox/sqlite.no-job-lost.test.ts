import fc from "fast-check";
import type { Claim, InboxHost, JobOutcome, WorkingInbox } from "hookline/adapter";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { toLogger } from "../../../src/logger.ts";
import { mail, raw, type FullDelivery } from "../../suites/inbox/deliveries.ts";
import { turns } from "../../support/event-loop.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { fastTmpdir } from "../../support/fast-tmpdir.ts";
import { faultyChannels, type Fault } from "./faulty-thread.ts";
import { openInline } from "./inline-thread.ts";
import { readPlaces, type JobPlaces, type Place } from "./job-places.ts";
import { crashSqliteInbox, mortalSqliteInbox } from "./mortal-sqlite-inbox.ts";

const ERROR = { name: "Error", message: "no", at: 0 };
const SECOND_MS = 1_000;

type End = "done" | "retry" | "dead" | "release" | "unhandled";
type Op =
  | { readonly do: "store"; readonly lanes: readonly number[]; readonly isRaw: boolean }
  | { readonly do: "claim"; readonly max: number; readonly mergeMax: number; readonly ahead: number }
  | { readonly do: "settle"; readonly place: number; readonly to: End }
  | { readonly do: "expand" };
type Step =
  | { readonly do: "at once"; readonly ops: readonly Op[] }
  /** The process dies while these are under way. */
  | { readonly do: "crash"; readonly ops: readonly Op[] }
  /** Of the next commit. */
  | { readonly do: "fault"; readonly fault: Fault }
  | { readonly do: "pass"; readonly seconds: number };

const op: fc.Arbitrary<Op> = fc.oneof(
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("store" as const),
      lanes: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
      isRaw: fc.integer({ min: 0, max: 5 }).map((n) => n === 0),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("claim" as const),
      max: fc.integer({ min: 1, max: 4 }),
      mergeMax: fc.integer({ min: 1, max: 3 }),
      ahead: fc.nat(6),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({
      do: fc.constant("settle" as const),
      place: fc.nat(5),
      to: fc.constantFrom<End>("done", "done", "done", "retry", "dead", "release", "unhandled"),
    }),
  },
  { weight: 1, arbitrary: fc.constant({ do: "expand" } as const) },
);
const ops = fc.array(op, { minLength: 1, maxLength: 4 });
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 10, arbitrary: fc.record({ do: fc.constant("at once" as const), ops }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("crash" as const), ops }) },
  {
    weight: 2,
    arbitrary: fc.record({
      do: fc.constant("fault" as const),
      fault: fc.constantFrom<Fault>("dies before", "dies after", { errcode: 10 }, { errcode: 5 }),
    }),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("pass" as const), seconds: fc.constantFrom(1, 5, 60) }) },
);

test("whatever is stored, claimed, settled and fails: a job is done only if it was settled so, else the file has it", async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 10, maxLength: 40 }), async (steps) => {
      const world = await openWorld();
      try {
        for (const each of steps) await world.take(each);
        await world.rest();
      } finally {
        await world.end();
      }
    }),
    { includeErrorInReport: true, numRuns: Number(process.env["HOOKLINE_ROUNDS"] ?? 40) },
  );
});

interface Held {
  readonly claim: Claim;
  /** It was told, and may not have held: it is told again. */
  told?: End;
}

async function openWorld() {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
  const file = join(folder, "inbox.db");
  let channels = faultyChannels(openInline);
  const clock = fakeClock();
  const host: InboxHost = { name: "default", clock, log: toLogger(false), dedupeWindowMs: SECOND_MS };
  const given = new Map<string, FullDelivery>();
  const acknowledged = new Set<string>();
  /** What was told of each job, whether it held or not, and what is known to have held. */
  const [told, held] = [new Map<string, Set<End>>(), new Map<string, End>()];
  let count = 0;
  let claims: Held[] = [];
  let inbox: WorkingInbox;

  async function begin(): Promise<void> {
    channels = faultyChannels(openInline); // a fault that is still to come dies with its process
    inbox = mortalSqliteInbox({ file, openThread: channels.open });
    claims = [];
    await inbox.open(host);
    await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
  }

  function outcomeOf(to: End): JobOutcome {
    switch (to) {
      case "retry":
        return { to, at: clock.now() + SECOND_MS, delayMs: SECOND_MS, counted: true, error: ERROR };
      case "dead":
      case "unhandled":
        return { to, error: ERROR };
      default:
        return { to };
    }
  }

  async function store(lanes: readonly number[], isRaw: boolean): Promise<void> {
    count += 1;
    const delivery = mail(
      lanes.map((lane) => ({
        id: `${count}`,
        lane: lane === 0 ? undefined : `lane ${lane}`,
        mergeKey: lane === 1 ? "key" : undefined,
      })),
      { filler: `${count}` },
    );
    given.set(String(delivery.delivery.body), delivery);
    const [stored] = await inbox.store([isRaw ? raw(delivery) : delivery]);
    if (stored !== undefined && "id" in stored) acknowledged.add(stored.id);
  }

  async function expand(): Promise<void> {
    const open = await inbox.unexpanded(3).catch(() => []);
    const expansions = open.map(({ id, delivery }) => ({
      id,
      events: given.get(String(delivery.body))?.events ?? [],
      cursor: undefined,
    }));
    await inbox.expand(expansions).catch(() => {});
  }

  async function claim({
    max,
    mergeMax,
    ahead,
  }: Pick<Op & { do: "claim" }, "max" | "mergeMax" | "ahead">): Promise<number> {
    const of = inbox;
    const claimed = await of.claim({ max, mergeMax, ahead: () => ahead }).catch(() => undefined);
    if (claimed === undefined || of !== inbox) return 0;
    const alone = claimed.claims.length === 0 && claimed.suspects;
    const more = alone ? await of.claim({ max: 1, mergeMax: 1, suspects: true }).catch(() => undefined) : undefined;
    if (of !== inbox) return 0;
    const all = [...claimed.claims, ...(more?.claims ?? [])];
    for (const { jobs } of all)
      for (const { id, lane } of jobs) {
        expect([id, held.get(id)], "it runs again").toEqual([id, undefined]);
        const beside = claims.filter(
          ({
            claim: {
              jobs: [other],
            },
          }) => lane !== undefined && other.lane === lane,
        );
        expect(beside, `two at once in ${lane}`).toEqual([]);
      }
    if (all.length > 0) checkOrder(all, readPlaces(file));
    claims.push(...all.map((each) => ({ claim: each })));
    return all.length;
  }

  /** Nothing that is open stands before it in its lane. */
  function checkOrder(all: readonly Claim[], { places, lanes }: JobPlaces): void {
    for (const { jobs } of all) {
      const [{ id, lane }] = jobs;
      if (lane === undefined) continue;
      const before = [...places].filter(
        ([other, place]) =>
          lanes.get(other) === lane && Number(other) < Number(id) && (place === "job" || place === "fresh"),
      );
      expect(before, `job ${id} overtook them`).toEqual([]);
    }
  }

  async function settle(place: number, to: End): Promise<void> {
    const [one] = claims.splice(place % Math.max(claims.length, 1), 1);
    if (one === undefined) return;
    const of = inbox;
    one.told ??= to;
    const { claim: ended, told: now } = one;
    for (const { id } of ended.jobs) told.set(id, (told.get(id) ?? new Set()).add(now));
    const outcome = outcomeOf(now);
    const ok = await of.settle([{ claim: ended, outcomes: ended.jobs.map(() => outcome) }]).catch(() => undefined);
    if (of !== inbox) return;
    if (ok === undefined) claims.push(one);
    if (ok?.[0] === true && (now === "done" || now === "dead" || now === "unhandled"))
      for (const { id } of ended.jobs) held.set(id, now);
  }

  const run = (all: readonly Op[]): Promise<unknown> =>
    Promise.all(
      all.map((each) => {
        if (each.do === "store") return store(each.lanes, each.isRaw);
        if (each.do === "claim") return claim(each);
        return each.do === "expand" ? expand() : settle(each.place, each.to);
      }),
    );

  function check(): void {
    const { deliveries, places } = readPlaces(file);
    expect(
      [...acknowledged].filter((id) => !deliveries.has(id)),
      "they were acknowledged, and are not stored",
    ).toEqual([]);
    for (const [id, place] of places) {
      const known = held.get(id);
      const may: readonly Place[] =
        known === undefined ? ["job", "fresh", ...toPlaces(told.get(id) ?? [])] : toPlaces([known]);
      expect(may, `job ${id}`).toContain(place);
    }
  }

  async function take(given_: Step): Promise<void> {
    switch (given_.do) {
      case "at once":
        await run(given_.ops);
        break;
      case "crash": {
        const under = run(given_.ops);
        await turns(1);
        await crashSqliteInbox(inbox);
        await begin();
        await under.catch(() => {});
        break;
      }
      case "fault":
        channels.next(given_.fault);
        break;
      default:
        await clock.advance(given_.seconds * SECOND_MS);
    }
    check();
  }

  await begin();
  return {
    take,
    /** Another process does all that is left. */
    async rest(): Promise<void> {
      await crashSqliteInbox(inbox);
      await begin();
      for (let idle = 0; idle < 3;) {
        await clock.advance(60 * SECOND_MS);
        await expand();
        const claimed = await claim({ max: 10, mergeMax: 3, ahead: 0 });
        while (claims.length > 0) await settle(0, "done");
        idle = claimed === 0 ? idle + 1 : 0;
      }
      check();
      expect([...readPlaces(file).places.values()].filter((place) => place === "job" || place === "fresh")).toEqual([]);
    },
    async end(): Promise<void> {
      await inbox.close();
      rmSync(folder, { recursive: true, force: true });
    },
  };
}

function toPlaces(ends: Iterable<End>): Place[] {
  return [...ends].flatMap((to): Place[] =>
    to === "done" ? ["nowhere"] : to === "dead" || to === "unhandled" ? [to] : [],
  );
}
