import type { FlowTarget } from "hookline";
import type { StoredJob } from "../../src/inbox/port/jobs.ts";
import { signedRequest } from "../support/make-delivery.ts";
import { ACCOUNTS, makeArrival, nameOf, type Arrival } from "./arrivals.ts";
import { assertClosed, assertIdle } from "./checks.ts";
import { changePlan, CONSUMERS } from "./handler-plans.ts";
import { SECRET, type Life } from "./process.ts";
import type { Move } from "./world-options.ts";
import type { World } from "./world.ts";

/** Makes something happen, and does not wait for what follows from it. */
export async function move(world: World, what: Move, sentBefore: Sent[]): Promise<void> {
  const { dice, clock, trace, life } = world;
  switch (what) {
    case "arrive":
      for (let count = dice.int(1, 3); count > 0; count -= 1) {
        const kind = dice.weighted(world.temper.arrivals);
        const hadBig = sentBefore.some(({ arrival }) => arrival.events.length > 1_000);
        const arrival = makeArrival(dice, kind === "big" && hadBig ? "changes" : kind);
        send(world, { arrival, at: clock.date() }, sentBefore);
      }
      return;
    case "again": {
      const sent = sentBefore.filter(({ arrival }) => arrival.events.length < 1_000).at(-dice.int(1, 12));
      if (sent !== undefined) send(world, dice.chance(0.5) ? sent : { ...sent, at: clock.date() }, sentBefore);
      return;
    }
    case "pass":
      return pass(world, dice.pick([1, 10, 100, 1_000, 1_000, 10_000, 30_000, 300_000, 3_600_000]));
    case "jump": {
      const ms = dice.pick([1, -1]) * dice.pick([500, 5_000, 60_000, 3_600_000, 2 * 86_400_000, 9 * 86_400_000]);
      trace.note(`the wall clock jumps by ${ms} ms`);
      await world.turns(1); // between two turns of the loop
      return world.jump(ms);
    }
    case "die":
      trace.note("the process dies");
      return world.die();
    case "die-often":
      return dieOften(world);
    case "deploy":
      world.plan = changePlan(dice, world.plan);
      trace.note("a deploy");
      if (life === undefined) return;
      if (dice.chance(0.3)) return world.die();
      return close(world, life, dice.pick([0, 1_000, 10_000, 60_000]));
    case "by-hand":
      return life?.started === true ? world.alone(() => byHand(world)) : undefined;
    case "pause":
      return life?.started === true && !life.closing ? pause(world, life) : undefined;
    case "resume":
      return life?.started === true && !life.closing ? resume(world, life) : undefined;
    case "idle":
      if (life?.started === true && !life.closing) void life.receiver.idle().then(() => assertIdle(world, life));
      return;
    case "turn":
  }
}

/** Process after process dies as soon as it works, over all that it has claimed: a crash loop with a full house. */
async function dieOften(world: World): Promise<void> {
  for (let deaths = world.dice.int(2, 4); deaths > 0; deaths -= 1) {
    if (world.life === undefined || world.life.closing) await world.die();
    const life = world.life ?? boot(world);
    if (!life.started) start(world, life);
    await world.turns();
    world.trace.note("the process dies, as the one before it");
    await world.die();
  }
}

/** Somebody pauses a consumer, an account, or one of the other. */
async function pause({ dice, clock, flow, trace, books }: World, life: Life): Promise<void> {
  const what = dice.pick<FlowTarget>([
    { consumer: dice.pick(CONSUMERS) },
    { accountId: dice.pick(ACCOUNTS) },
    { consumer: dice.pick(CONSUMERS), accountId: dice.pick(ACCOUNTS) },
  ]);
  const until = dice.chance(0.3) ? new Date(clock.now() + dice.pick([1_000, 60_000, 7_200_000])) : undefined;
  trace.note(`pause ${JSON.stringify(what)} until ${until?.getTime() ?? "resumed"}`);
  const holds = flow.pausing(what, until?.getTime());
  life.receiver.flow.pause(what, { reason: "a pause", until }).then(
    () => (life.alive ? holds() : undefined),
    (error: unknown) => life.closing || !life.alive || books.broken("pause", String(error)),
  );
}

/** Somebody resumes what is paused, some of it. */
export async function resume({ dice, store, flow, trace, books }: World, life: Life, chance = 0.7): Promise<void> {
  for (const { consumer, accountId } of store.pauses?.current() ?? []) {
    if (!dice.chance(chance)) continue;
    const what = { consumer, accountId };
    trace.note(`resume ${JSON.stringify(what)}`);
    const holdsNoMore = flow.resuming(what);
    life.receiver.flow.resume(what).then(
      () => (life.alive ? holdsNoMore() : undefined),
      (error: unknown) => life.closing || !life.alive || books.broken("resume", String(error)),
    );
  }
}

/** A request of the service. */
export interface Sent {
  readonly arrival: Arrival;
  readonly at: Date;
}

function send(world: World, sent: Sent, sentBefore: Sent[]): void {
  const { arrival, at } = sent;
  const { life, trace } = world;
  if (life === undefined) return;
  sentBefore.push(sent);
  const known = world.sent.get(nameOf(arrival)) ?? { arrival, stored: 0, acknowledged: 0 };
  world.sent.set(nameOf(arrival), known);
  const types = arrival.events.length > 5 ? `${arrival.events.length} events` : arrival.events.map(said).join(", ");
  trace.note(`a delivery: ${types}`);
  const isOld = at.getTime() !== world.clock.now();
  const request = signedRequest(arrival.body, { secret: SECRET, at, source: arrival.source });
  void life.receiver.receive(request).then(({ status }) => {
    if (!life.alive) return;
    trace.note(`answered ${status}`);
    if (status === 200) known.acknowledged += 1;
    if (known.acknowledged > known.stored) world.books.broken("stored before it is acknowledged", arrival.body);
    const mayFail = life.closing || world.temper.faults > 0;
    if (status !== 200 && !(status === 503 && mayFail) && !(status === 401 && isOld))
      world.books.broken("what is signed is stored", { status, body: arrival.body });
  });
}

function said({ type, account, record }: Arrival["events"][number]): string {
  return `${type} ${account ?? ""}/${record ?? ""}`;
}

export async function pass(world: World, ms: number): Promise<void> {
  world.trace.note(`${ms} ms pass`);
  await world.turns(2); // no time passes within a turn of the loop
  await world.clock.advance(ms);
}

/** Boots, and starts sooner or later. */
export function boot(world: World): Life {
  const life = world.boot();
  const { plan } = life;
  world.trace.note(
    `process ${life.number}: ${plan.map(({ names, consumer, lane, merge, attempts }) => `${names.join("+")}@${consumer}/${lane ?? ""}/${merge ? "" : "single"}/${attempts}`).join(", ")}`,
  );
  return life;
}

export function start(world: World, life: Life): void {
  life.receiver.start().then(
    () => {
      life.started = true;
    },
    (error: unknown) => {
      if (!life.closing) world.books.broken("start", String(error));
    },
  );
}

export function close(world: World, life: Life, drainMs: number): void {
  if (life.closing) return;
  world.trace.note(`close within ${drainMs} ms`);
  life.closing = true;
  const before = world.tally();
  void life.receiver.close({ drainMs }).then((closed) => {
    // A successor that began meanwhile has settled jobs too.
    if (!life.alive || (world.life !== undefined && world.life !== life)) return;
    world.trace.note(`closed: ${JSON.stringify(closed)}`);
    assertClosed(world, life, { closed, before });
  });
}

/** What somebody does who looks inside. */
async function byHand(world: World): Promise<void> {
  const { dice, store, keeping, trace, books } = world;
  if (world.life?.shut !== false) return; // meanwhile
  const found = await store.jobs.find({ limit: 5_000 });
  const jobs = found.jobs.filter(({ state }) => state !== "done" && state !== "skipped");
  const kind = dice.weighted({ replay: 4, drop: 2, erase: 1 });
  if (kind === "erase") {
    const account = dice.pick(ACCOUNTS);
    trace.note(`erase ${account}`);
    if (world.life !== undefined) world.life.erased = true;
    keeping.erased(account);
    await store.jobs.erase(account);
    return;
  }
  const can = (job: StoredJob): boolean =>
    kind === "replay"
      ? job.consumer !== undefined && (job.state === "dead" || job.state === "unhandled")
      : job.state !== "running";
  const chosen = jobs.filter(() => dice.chance(0.5));
  const able = chosen.filter(can);
  trace.note(
    `${kind} ${able
      .map(({ id }) => id)
      .join(" ")
      .slice(0, 60)}`,
  );
  if (kind === "replay") keeping.replayed(able);
  else keeping.removed(able);
  const count = await store.jobs[kind]({ ids: chosen.map(({ id }) => id) });
  if (count !== able.length) books.broken(kind, { count, expected: able.length });
}
