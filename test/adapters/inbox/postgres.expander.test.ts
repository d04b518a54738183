import { expect, onTestFinished, test, vi } from "vitest";
import type { Pool, Queries } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { heirWhereBlocked, reopenIf, type Life } from "../../../adapters/inbox/postgres/work/create-life.ts";
import { createPostgresWorker } from "../../../adapters/inbox/postgres/work/postgres-worker.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { deferred } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
import { openProcesses } from "./postgres-processes.ts";
import { openTables } from "./postgres-tables.ts";

/** A pool whose next query can be held up, before the server has it or before its answer comes. */
function holdable(pool: Pool) {
  let held: { readonly before: boolean; readonly reached: () => void; readonly go: Promise<void> } | undefined;
  const query: Queries["query"] = async (text, values) => {
    const mine = held;
    held = undefined;
    const stop = async (): Promise<void> => {
      mine?.reached();
      await mine?.go;
    };
    if (mine?.before === true) await stop();
    const rows = await pool.query(text, values);
    if (mine?.before === false) await stop();
    return rows as never;
  };
  return {
    pool: { ...pool, query },
    hold(when: "before" | "after") {
      const [reached, go] = [deferred(), deferred()];
      held = { before: when === "before", reached: reached.resolve, go: go.promise };
      return { reached: reached.promise, release: go.resolve };
    },
  };
}

test("a late answer that does not know yet that this worker expands leaves nothing unexpanded", async () => {
  const { pool, ident, work } = await openTables();
  await work();
  const [looks, steps] = [holdable(pool), holdable(pool)];
  const clock = wallClock();
  const worker = createPostgresWorker({
    ident: () => ident,
    host: () => ({ name: "default", clock, log: toLogger(false), dedupeWindowMs: 0 }),
    steps: steps.pool,
    pool: looks.pool,
    leaseMs: 3_600_000,
    goneMs: 3_600_000,
    maxJobs: Infinity,
    presence: { isHeld: () => true, hold: async () => true, isGone: async () => false, drop: async () => {} },
    ended() {},
  });
  onTestFinished(() => worker.leave());
  let wakes = 0;
  await worker.work({ begin() {}, end() {}, wake: () => void (wakes += 1), lost() {} });
  expect(worker.expander()).toBeUndefined();

  const [look, answer] = [looks.hold("before"), steps.hold("after")];
  await clock.advance(500);
  await Promise.all([look.reached, answer.reached]);
  await pool.query(`update ${ident}.shard set owner = null where id = 64`);
  look.release();
  await eventually(() => expect(worker.expander()).toBeDefined());
  const next = steps.hold("after");
  answer.release();
  await next.reached;
  expect(worker.expander()).toBeUndefined();
  // What was to be expanded meanwhile was another one's.
  const before = wakes;
  next.release();
  await eventually(() => expect(worker.expander()).toBeDefined());
  expect(wakes).toBe(before + 1);
});

test("where the worker that expands is full, another one that has room does so", async () => {
  const processes = await openProcesses();
  const full = await processes.start({ maxJobs: 20 });
  const other = await processes.start();
  await processes.passing(() => expect(other.inbox.stats().workers?.share).toBe(0.5));
  await storeAll(other.inbox, mail(Array.from({ length: 100 }, (_, nth) => `${nth}`)));
  await processes.passing(async () => {
    await full.inbox.claim({ max: 0, mergeMax: 1 });
    expect(full.inbox.stats().isFull).toBe(true);
  });
  await storeAll(full.inbox, mail(["waits"]));
  expect([await full.inbox.unexpanded(10), await other.inbox.unexpanded(10)]).toEqual([[], []]);
  await processes.passing(async () => expect(await other.inbox.unexpanded(10)).toHaveLength(1));
});

test("where all are full, each of them leaves the expansion to the next one more and more seldom, until it has room", () => {
  let fill = 1;
  const life = {
    id: 2,
    lanes: { fill: () => fill },
    owned: new Set([64]),
    handOver: { has: () => false },
    hasUnexpanded: true,
    blocked: { looks: 0, most: 10 },
  } as unknown as Life;
  const live = [3, 1, 2].map((id) => ({ id, handled: null, expands: false }));
  const gaps = (looks: number): number[] => {
    const found: number[] = [];
    for (let look = 1, last = 0; look <= looks; look += 1) {
      const heir = heirWhereBlocked(life, live);
      if (heir === undefined) continue;
      expect(heir).toBe(3);
      found.push(look - last);
      last = look;
    }
    return found;
  };
  expect(gaps(2_500)).toEqual([10, 20, 40, 80, 160, 320, 600, 600, 600]);
  fill = 0.9;
  expect(gaps(100)).toEqual([]);
  fill = 1;
  expect(gaps(10)).toEqual([10]);
  Object.assign(life, { id: 4, blocked: { looks: 0, most: 1 } });
  expect(heirWhereBlocked(life, live)).toBe(1);
  Object.assign(life, { blocked: { looks: 0, most: 1 } });
  const [stopping, me] = [
    { id: 5, handled: {}, expands: false },
    { id: 4, handled: null, expands: true },
  ];
  expect(heirWhereBlocked(life, [stopping, me])).toBeUndefined();
});

test("unhandled jobs are looked at again once the stores of an old worker have ended that were under way", () => {
  let time = 1_000;
  const clock = vi.spyOn(performance, "now").mockImplementation(() => time);
  onTestFinished(() => clock.mockRestore());
  const mine = { hasReopened: true, reopenAgainAt: Infinity };
  const reopensAt = (at: number, haveChanged: boolean): boolean => {
    time = at;
    mine.hasReopened = true;
    reopenIf(haveChanged, mine);
    return !mine.hasReopened;
  };
  expect([reopensAt(1_000, false), reopensAt(2_000, true), reopensAt(3_000, true)]).toEqual([false, true, true]);
  expect([42_999, 43_000, 90_000].map((at) => reopensAt(at, false))).toEqual([false, true, false]);
});

test("an expansion that is left to a worker with other handlers, which is gone at the next look, is tried again", async () => {
  const { start, rows, passing } = await openProcesses();
  const { inbox, heard } = await start();
  await inbox.store([{ ...mail(["a"]), events: undefined }]);
  await passing(() => expect(heard.wakes).toBeGreaterThan(0));
  const [unexpanded] = await inbox.unexpanded(1);
  await rows(`insert into hookline.worker (handled) values ('{"other": ["email.created"]}')`);
  const expansion = { id: unexpanded?.id ?? "", events: mail(["a"]).events ?? [], cursor: undefined };
  expect(await inbox.expand([expansion])).toEqual([undefined]);
  const before = heard.wakes; // a step on its way may see at once that the other one is gone
  await rows("delete from hookline.worker where handled is not null");
  await passing(() => expect(heard.wakes).toBeGreaterThan(before));
  expect(await inbox.expand([expansion])).toEqual([{ duplicates: [], conflicts: [] }]);
});
