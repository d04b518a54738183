import { watch } from "../support/event-loop.ts";
import { AGAIN_MS, assertCounts, assertProgress } from "./checks.ts";
import { specsFor } from "./handler-plans.ts";
import { show } from "./ledger.ts";
import { boot, close, pass, resume, start } from "./operations.ts";
import type { World } from "./world.ts";

const WAITS_MS = [0, 1_000, 10_000, 600_000, 3_600_000, 86_400_000] as const;
const MOST_ROUNDS = 60;
/** More than a page of them takes whose deliveries are long. */
const MOST_TURNS = 200;

/** No more troubles: time passes, all handlers succeed, and everything that was stored comes to its end. */
export async function settleDown(world: World): Promise<void> {
  const { trace, books } = world;
  trace.note("no more troubles from here");
  world.calm = true;
  world.faults.stop();
  if (world.life?.closing === true || world.doomed()) await world.die();
  const life = world.life ?? boot(world);
  start(world, life);
  await world.turns();
  await resume(world, life, 1);
  await pass(world, AGAIN_MS); // what failed is tried again, the sweep of unhandled jobs too
  for (let rounds = 0; rounds < MOST_ROUNDS && !(await isQuiet(world)); rounds += 1) {
    const calls = world.calls();
    const { waiting } = world.store.stats();
    for (const performance of world.open) performance.finish();
    await pass(world, WAITS_MS[Math.min(rounds, WAITS_MS.length - 1)] ?? 0);
    await world.turns();
    await world.look();
    if (world.calls() > calls || world.store.stats().waiting < waiting) rounds -= 1; // a long lane takes its time
    world.assertWhole();
  }
  if (!(await isQuiet(world))) books.broken("everything comes to its end", world.store.stats());
  world.assertWhole();
  await world.look();
  assertCounts(world);
  await assertProgress(world);
  assertAccounted(world);
  close(world, life, 10_000);
  await pass(world, 60_000); // a listener of `onDead` may still run
  await world.turns();
  if (!life.shut) books.broken("a close with nothing to do ends", "");
  world.assertWhole();
}

/** Unhandled jobs are reopened page by page: between two pages nothing waits and nothing runs, and yet there is more to come. */
async function isQuiet(world: World): Promise<boolean> {
  if (!isEmpty(world)) return false;
  const idle = watch(world.life?.receiver.idle() ?? Promise.resolve());
  for (let left = MOST_TURNS; !idle.ended && left > 0; left -= 1) await world.turns(1);
  return idle.ended && isEmpty(world);
}

function isEmpty({ store, life, books, faults }: World): boolean {
  const { waiting, running, unexpanded } = store.stats();
  return life?.started === true && waiting + running + unexpanded + faults.slow === 0 && books.calls.size === 0;
}

/** Every delivery that was acknowledged was stored, and every job has an end. */
function assertAccounted({ sent, books, life }: World): void {
  for (const { stored, acknowledged, arrival } of sent.values())
    if (acknowledged > stored) books.broken("nothing is lost", arrival.body);
  const unsettled = [...books.entries.values()].filter(({ state }) => state === "waiting" || state === "running");
  const left = [...books.entries.values()].filter(
    ({ state, consumer, wire }) =>
      state === "unhandled" &&
      specsFor(life?.plan ?? [], wire).some((spec) => (consumer ?? spec.consumer) === spec.consumer),
  );
  if (left.length > 0) books.broken("unhandled jobs go to those who handle them now", left.slice(0, 3).map(show));
  if (unsettled.length > 0) books.broken("every job has an end", unsettled.slice(0, 3).map(show));
}
