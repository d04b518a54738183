import { memoryInbox, type AnyEvent, type Context } from "hookline";
import { crashMemoryInbox } from "../../src/inbox/memory.ts";
import type { Delivery } from "../../src/inbox/delivery.ts";
import type { WorkingInbox } from "../../src/inbox/port.ts";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";
import { turns } from "../support/turns.ts";
import { nameOf, type Arrival } from "./arrivals.ts";
import type { Books } from "./books.ts";
import { createCalling } from "./calling.ts";
import { createClaiming } from "./claiming.ts";
import { perform, type Deed, type Performance } from "./deeds.ts";
import { createDice, type Dice } from "./dice.ts";
import { createFaults, type Faults } from "./faults.ts";
import { createKeeping, type Keeping } from "./keeping.ts";
import { createLife, type Life } from "./life.ts";
import { makePlan, type Plan, type Spec } from "./plans.ts";
import { makeTemper, type Temper } from "./temper.ts";
import { tap } from "./tap.ts";
import type { Tally } from "./checks.ts";
import { createTrace, type Trace } from "./trace.ts";

/** A rule that does not hold. */
export class Violation extends Error {
  override name = "Violation";
}

/** One store, the processes that work on it one after another, and the ledger that watches them. */
export interface World {
  readonly dice: Dice;
  readonly temper: Temper;
  readonly clock: FakeClock;
  readonly trace: Trace;
  readonly store: WorkingInbox<"memory">;
  readonly books: Books;
  readonly keeping: Keeping;
  /** Calls that have not ended, of whatever process. */
  readonly open: Set<Performance>;
  /** The process that is there. */
  life: Life | undefined;
  plan: Plan;
  /** No more faults: all handlers succeed. */
  calm: boolean;
  /** What was delivered: see {@link nameOf}. */
  readonly sent: Map<string, { readonly arrival: Arrival; kept: number; acknowledged: number }>;
  readonly faults: Faults;
  jump(ms: number): void;
  boot(): Life;
  die(): Promise<void>;
  /** It closed, and its place is free. */
  leave(): void;
  /** A handler killed the process: it is to die at the next turn. */
  doomed(): boolean;
  /** Jobs settled so far. */
  tally(): Tally;
  /** Calls so far. */
  calls(): number;
  /** @throws Violation when a rule was broken */
  assertWhole(): void;
}

export function createWorld(seed: number): World {
  const dice = createDice(seed);
  const temper = makeTemper(dice);
  const clock = fakeClock();
  const store = memoryInbox() as WorkingInbox<"memory">;
  const open = new Set<Performance>();
  let jumps = 0;
  let jumped = 0;
  let lives = 0;
  let doomed = false;
  let calls = 0;
  let violation: Violation | undefined;
  const mono = (): number => clock.now() - jumped;
  const trace = createTrace(mono);

  const books: Books = {
    now: { wall: clock.now, mono, jumps: () => jumps },
    limits: temper.limits,
    entries: new Map(),
    byId: new Map(),
    lanes: new Map(),
    claims: new Map(),
    calls: new Set(),
    closed: new Map(),
    backlog: [],
    suspectsLeft: false,
    announced: new Set(),
    tally: { done: 0, released: 0 },
    broken(rule, detail) {
      const text = `${rule}: ${JSON.stringify(detail)}`;
      trace.note(`BROKEN ${text}`);
      violation ??= new Violation(text);
    },
  };
  const keeping = createKeeping(books);
  const claiming = createClaiming(books);
  const calling = createCalling(books);
  const after = (ms: number, run: () => void): void => void clock.setTimer(run, ms);
  const faults = createFaults({ dice, probability: temper.faults, trace, mono, after });
  const stage = { dice, wall: clock.now, after, ended: calling.ended, open, kill: () => (doomed = true) };

  function arrivalOf({ body, source }: Delivery): Arrival {
    const sent = world.sent.get(nameOf({ body: Buffer.from(body).toString(), source }));
    if (sent === undefined) throw new Violation("a delivery that nobody sent");
    return sent.arrival;
  }

  const tapped = tap(store, {
    keeping: {
      ...keeping,
      kept(arrival, commit) {
        const sent = world.sent.get(nameOf(arrival));
        if (sent !== undefined) sent.kept += 1;
        keeping.kept(arrival, commit);
      },
    },
    claiming,
    arrivalOf,
    life: () => world.life as Life,
    faultOf(verb) {
      const fault = faults.faultOf(verb);
      if (fault !== undefined && verb === "settle" && world.life !== undefined) world.life.settleFailed = true;
      return fault;
    },
    wait: faults.wait,
  });

  function handle(life: Life, spec: Spec, given: { event: AnyEvent; ctx: Context }): unknown {
    const call = calling.began(life, spec, given);
    if (call === undefined) return new Promise(() => {});
    calls += 1;
    const deed: Deed = world.calm ? dice.pick(["ok", "soon"]) : dice.weighted(temper.deeds);
    trace.note(
      `call ${given.ctx.jobId} +${given.ctx.merged - 1} attempt ${given.ctx.attempt} ${given.event.type} ${spec.consumer}: ${deed}`,
    );
    return perform(deed, { call, ...given }, stage);
  }

  function onDead(id: string): unknown {
    books.announced.add(id);
    const deed = world.calm ? "ok" : dice.weighted({ ok: 6, throw: 1, slow: 1 });
    trace.note(`onDead ${id}: ${deed}`);
    if (deed === "throw") throw new Error("a listener");
    return deed === "ok" ? undefined : new Promise<void>((resolve) => after(dice.int(0, 60_000), resolve));
  }

  const world: World = {
    dice,
    temper,
    clock,
    trace,
    store,
    books,
    keeping,
    open,
    life: undefined,
    plan: makePlan(dice),
    calm: false,
    sent: new Map(),
    faults,
    jump(ms) {
      jumps += 1;
      jumped += ms;
      clock.jump(ms);
    },
    boot() {
      lives += 1;
      const life = createLife({
        number: lives,
        plan: world.plan,
        inbox: tapped,
        clock,
        limits: temper.limits,
        handle,
        onDead,
      });
      world.life = life;
      return life;
    },
    async die() {
      await turns(1); // between two turns of the loop, where no write is half told
      world.life?.die();
      crashMemoryInbox(store);
      if (world.life !== undefined) claiming.died(world.life);
      world.life = undefined;
      doomed = false;
    },
    assertWhole() {
      if (violation !== undefined) throw violation;
    },
    leave() {
      world.life = undefined;
      doomed = false;
    },
    doomed: () => doomed,
    tally: () => ({ ...books.tally }),
    calls: () => calls,
  };
  return world;
}
