import type { AnyEvent, Context, Inbox } from "hookline";
import type { Delivery } from "../../src/inbox/port/delivery.ts";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { turns } from "../support/event-loop.ts";
import { fakeClock, type FakeClock } from "../support/fake-clock.ts";
import { nameOf, type Arrival } from "./arrivals.ts";
import { createCalling } from "./call-rules.ts";
import { tap } from "./checked-inbox.ts";
import type { Tally } from "./checks.ts";
import { createClaimRules } from "./claim-rules.ts";
import { createFaults, type Faults } from "./faults.ts";
import { createFlowBook, type FlowBook } from "./flow-book.ts";
import { perform, type Deed, type Performance } from "./handler-behaviours.ts";
import { makePlan, type Plan, type Spec } from "./handler-plans.ts";
import { createBooks, type Books } from "./ledger.ts";
import { createLife, type Life } from "./process.ts";
import { createDice, type Dice } from "./random.ts";
import { createKeeping, type Keeping } from "./store-rules.ts";
import { openStore, type StoreName } from "./stores.ts";
import { createTrace, type Trace } from "./trace.ts";
import { createPace, type Pace } from "./turns.ts";
import { makeTemper, type Temper } from "./world-options.ts";

/** A rule that does not hold. */
export class Violation extends Error {
  override name = "Violation";
}

/** One store, the processes that work on it one after another, and the ledger that watches them. */
export interface World extends Pick<Pace, "turns" | "alone"> {
  readonly dice: Dice;
  readonly temper: Temper;
  readonly clock: FakeClock;
  readonly trace: Trace;
  readonly store: WorkingInbox;
  readonly books: Books;
  readonly keeping: Keeping;
  readonly flow: FlowBook;
  /** Calls that have not ended, of whatever process. */
  readonly open: Set<Performance>;
  /** The process that is there. */
  life: Life | undefined;
  plan: Plan;
  /** No more faults: all handlers succeed. */
  calm: boolean;
  /** What was delivered: see {@link nameOf}. */
  readonly sent: Map<string, { readonly arrival: Arrival; stored: number; acknowledged: number }>;
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
  /** The store looks at itself, as it does from time to time: see {@link Store.look}. */
  look(): Promise<void>;
  /** Clears away. */
  end(): Promise<void>;
}

export async function createWorld(seed: number, storeName: StoreName = "memory"): Promise<World> {
  const dice = createDice(seed);
  const temper = makeTemper(dice);
  const store = await openStore(storeName);
  const pace = createPace(store);
  const clock = fakeClock(undefined, pace.turns);
  const open = new Set<Performance>();
  let jumps = 0;
  let jumped = 0;
  let lives = 0;
  let doomed = false;
  let calls = 0;
  let violation: Violation | undefined;
  const mono = (): number => clock.now() - jumped;
  const trace = createTrace(mono);

  const books = createBooks(temper.limits, {
    now: { wall: clock.now, mono, jumps: () => jumps },
    broken(rule, detail) {
      const text = `${rule}: ${JSON.stringify(detail)}`;
      trace.note(`BROKEN ${text}`);
      violation ??= new Violation(text);
    },
  });
  const keeping = createKeeping(books);
  const flow = createFlowBook(books);
  const claiming = createClaimRules(books, flow);
  const calling = createCalling(books, flow);
  const after = (ms: number, run: () => void): void => void clock.setTimer(run, ms);
  const faults = createFaults({ dice, probability: temper.faults, trace, mono, after });
  const stage = { dice, wall: clock.now, after, ended: calling.ended, open, kill: () => (doomed = true) };

  function arrivalOf({ body, source }: Delivery): Arrival {
    const sent = world.sent.get(nameOf({ body: Buffer.from(body).toString(), source }));
    if (sent === undefined) throw new Violation("a delivery that nobody sent");
    return sent.arrival;
  }

  const tapFor = (life: () => Life): Inbox =>
    tap(store.inbox, {
      keeping: {
        ...keeping,
        stored(arrival, commit) {
          const sent = world.sent.get(nameOf(arrival));
          if (sent !== undefined) sent.stored += 1;
          keeping.stored(arrival, commit);
        },
      },
      claiming,
      arrivalOf,
      life,
      faultOf(verb) {
        const fault = faults.faultOf(verb);
        if (fault !== undefined && verb === "settle") life().settleFailed = true;
        return fault;
      },
      wait: faults.wait,
      gate: pace.gate,
      inTurn: store.inTurn,
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
    get store() {
      return store.inbox;
    },
    books,
    keeping,
    flow,
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
      flow.began();
      const life: Life = createLife({
        number: lives,
        plan: world.plan,
        inbox: tapFor(() => life),
        clock,
        limits: temper.limits,
        handle,
        onDead,
      });
      world.life = life;
      return life;
    },
    async die() {
      await (store.isApart ? pace.turns(1) : turns(1)); // between two turns of the loop, where no write is half told
      world.life?.die();
      await store.crash();
      if (world.life !== undefined) claiming.died(world.life);
      world.life = undefined;
      doomed = false;
    },
    assertWhole() {
      if (violation !== undefined) throw violation;
    },
    leave() {
      store.renew();
      books.fresh.clear();
      [world.life, doomed] = [undefined, false];
    },
    turns: pace.turns,
    alone: pace.alone,
    async look() {
      if (store.look === undefined) return;
      const states = (): string => [...books.entries.values()].map(({ state }) => state).join();
      let before: string;
      // A count that was read before a job ended, and comes after it, lacks it until the next one.
      do {
        before = states();
        await store.look();
        await pace.turns();
      } while (states() !== before);
    },
    end: async () => store.end(),
    doomed: () => doomed,
    tally: () => ({ ...books.tally }),
    calls: () => calls,
  };
  return world;
}
