import { expect, onTestFinished, test } from "vitest";
import type { Pool, Queries } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createPostgresWorker } from "../../../adapters/inbox/postgres/work/postgres-worker.ts";
import { toLogger } from "../../../src/logger.ts";
import { wallClock } from "../../suites/inbox/wall-clock.ts";
import { deferred } from "../../support/event-loop.ts";
import { eventually } from "../../support/eventually.ts";
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
