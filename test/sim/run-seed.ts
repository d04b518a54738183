import { assertCounts, assertLog, assertProgress } from "./checks.ts";
import { boot, move, start, type Sent } from "./operations.ts";
import { governed } from "./seeded-globals.ts";
import { settleDown } from "./settle-down.ts";
import type { StoreName } from "./stores.ts";
import { createWorld, Violation, type World } from "./world.ts";

/** How one seed went. */
export interface Outcome {
  readonly seed: number;
  /** The same for the same story. */
  readonly hash: string;
  readonly calls: number;
  /** What happened, line by line. */
  readonly trace: readonly string[];
  /** The rule that does not hold. */
  readonly failure: string | undefined;
}

const HOUR_MS = 3_600_000;

/** Lives through one world. Everything random in it comes from the seed, `Math.random` included; the times of a thread or a server do not. */
export async function runSeed(seed: number, store?: StoreName): Promise<Outcome> {
  const world = await createWorld(seed, store);
  let failure: string | undefined;
  // An inbox that closes lets its program end, even while it waits for a server; the world goes on.
  const alive = setInterval(() => {}, HOUR_MS);
  try {
    await governed(world, async () => {
      await live(world);
      await settleDown(world);
    });
  } catch (error) {
    failure = error instanceof Violation ? error.message : String(error instanceof Error ? error.stack : error);
  } finally {
    await world.end();
    clearInterval(alive);
  }
  return { seed, hash: world.trace.hash(), calls: world.calls(), trace: world.trace.lines, failure };
}

async function live(world: World): Promise<void> {
  const { dice, temper } = world;
  const sentBefore: Sent[] = [];
  let unstarted = false;
  for (let step = 0; step < temper.steps; step += 1) {
    if (world.life?.closing === true && (world.life.shut || dice.chance(0.15))) {
      if (world.life.shut) world.leave();
      else await world.die();
    }
    if (world.life === undefined && dice.chance(0.7)) {
      boot(world);
      unstarted = true;
    }
    if (unstarted && world.life !== undefined && dice.chance(0.7)) {
      start(world, world.life);
      unstarted = false;
    }
    await move(world, dice.weighted(temper.moves), sentBefore);
    const settled = dice.pick([0, 1, 3, 10, 10]);
    await world.turns(settled);
    if (world.doomed()) await world.die();
    assertLog(world);
    world.assertWhole();
    if (settled < 10) continue;
    await world.look();
    assertCounts(world);
    await assertProgress(world);
    world.assertWhole();
  }
}
