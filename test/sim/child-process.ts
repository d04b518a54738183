import { openSync, writeSync } from "node:fs";
import { createSqliteInbox } from "../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { turns as anyTurns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { signedRequest } from "../support/make-delivery.ts";
import { makeArrival, type Arrival } from "./arrivals.ts";
import { createChronicle } from "./event-log.ts";
import { perform, type Deed } from "./handler-behaviours.ts";
import { makePlan } from "./handler-plans.ts";
import type { Call } from "./ledger.ts";
import { watched } from "./pending-calls.ts";
import { createLife, SECRET } from "./process.ts";
import { createDice } from "./random.ts";
import { createPace } from "./turns.ts";
import { makeTemper } from "./world-options.ts";

// One process of a world: it lives until it is killed, by its parent or by a handler. A calm one ends when all is handled.
const [file = "", ledger = "", seed = "", number = "", at = "", calm] = process.argv.slice(2);
const DEEDS: Partial<Record<Deed, number>> = {
  ok: 8,
  soon: 6,
  later: 4,
  throw: 3,
  fail: 3,
  "give-up": 1,
  "retry-later": 2,
  kill: 0.2,
};
const WAITS_MS = [0, 1_000, 10_000, 600_000, 3_600_000, 86_400_000] as const;
const MOST_SENT = 40;

const dice = createDice(Number(seed) * 1_000 + Number(number));
const sameForAll = createDice(Number(seed));
const { limits, arrivals } = makeTemper(sameForAll);
const plan = makePlan(sameForAll);
const { inbox, pending } = watched(createSqliteInbox({ file }));
// As long as something waits for the file, no time passes.
const { turns } = createPace({
  get pending() {
    return pending();
  },
});
const clock = fakeClock(new Date(Number(at)), turns);
const note = createChronicle(openSync(ledger, "a"), clock.now);
let calls = 0;
let running = 0;

const life = createLife({
  number: Number(number),
  plan,
  inbox,
  clock,
  limits,
  onDead: (job) => note({ is: "dead", job }),
  handle(own, _spec, given) {
    const { jobId: job, merged, attempt } = given.ctx;
    calls += 1;
    running += 1;
    const which = calls;
    note({ is: "call", call: which, job, merged, attempt });
    const deed = calm === undefined ? dice.weighted(DEEDS) : dice.pick(["ok", "soon"] as const);
    const call: Call = { entries: [], life: own, suspect: false, startedAt: 0, abortedAt: undefined, end: undefined };
    return perform(
      deed,
      { call, ...given },
      {
        dice,
        wall: clock.now,
        after: (ms, run) => void clock.setTimer(run, ms),
        ended(_call, { ok, verdict }) {
          running -= 1;
          note({ is: "end", call: which, ok, later: typeof verdict === "object" });
        },
        kill: () => void process.kill(process.pid, "SIGKILL"),
        open: new Set(),
      },
    );
  },
});

function send(arrival: Arrival): void {
  const { body, source } = arrival;
  note({ is: "sent", arrival });
  void life.receiver.receive(signedRequest(body, { secret: SECRET, at: clock.date(), source })).then(({ status }) => {
    if (status === 200) note({ is: "acknowledged", body, source });
  });
}

/** No two are the same, so that what is found can be told apart. */
function marked(arrival: Arrival, mark: string): Arrival {
  const { body } = arrival;
  const whole = body.startsWith("{") ? JSON.stringify({ ...(JSON.parse(body) as object), mark }) : `${body} ${mark}`;
  return { ...arrival, body: whole };
}

async function liveOn(): Promise<never> {
  const sent: Arrival[] = [];
  for (;;) {
    const move = dice.weighted({ arrive: sent.length < MOST_SENT ? 6 : 0, again: sent.length > 0 ? 1 : 0, pass: 5 });
    if (move === "arrive") {
      const kind = dice.weighted({ ...arrivals, big: 0 });
      const arrival = marked(makeArrival(dice, kind), `${number}-${sent.length}`);
      sent.push(arrival);
      send(arrival);
    } else if (move === "again") send(dice.pick(sent));
    else {
      await turns(1);
      await clock.advance(dice.pick([1, 10, 100, 1_000, 10_000, 60_000]));
    }
    await anyTurns(dice.int(0, 3));
  }
}

async function endAll(): Promise<void> {
  const left = (): number => {
    const { waiting, unexpanded } = inbox.stats();
    return waiting + unexpanded + inbox.stats().running + running;
  };
  for (let round = 0; round < 40 && (round === 0 || left() > 0); round += 1) {
    const [before, callsBefore] = [left(), calls];
    await turns();
    await clock.advance(WAITS_MS[Math.min(round, WAITS_MS.length - 1)] ?? 0);
    if (left() < before || calls > callsBefore) round = 0;
  }
  const closed = life.receiver.close({ drainMs: 0 });
  await turns();
  await clock.advance(60_000);
  await closed;
  process.exit(left());
}

note({ is: "life", number: Number(number) });
const started = life.receiver.start();
// Some die while they take the work over, most later.
if (dice.chance(0.8)) void started.then(() => writeSync(1, "ready\n"));
else writeSync(1, "ready\n");
if (calm === undefined) await liveOn();
await started;
await endAll();
