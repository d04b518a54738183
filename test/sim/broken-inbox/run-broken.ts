import { createReceiver, type Receiver } from "hookline";
import { turns } from "../../support/event-loop.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { createDice } from "../random.ts";
import { BAD, brokenInbox, type Way } from "./broken-inbox.ts";

const SECRET = "a secret of the simulation";

/** A receiver on an inbox that breaks in one way. @returns the rules that do not hold */
export async function runBroken(seed: number, way: Way): Promise<readonly string[]> {
  const dice = createDice(seed);
  const clock = fakeClock();
  const broken: string[] = [];
  const { inbox, ...hands } = brokenInbox({
    ...way,
    wait: (ms) => new Promise((resolve) => void clock.setTimer(resolve, ms)),
    lateMs: dice.pick([1_000, 9_000, 45_000]),
  });
  const done = new Set<string>();
  const stored = new Set<string>();
  const logged = new Set<unknown>();
  const note = (facts: object): unknown => logged.add((facts as { code?: unknown }).code);
  const receiver = createReceiver({
    secret: SECRET,
    inbox,
    clock,
    gaps: false,
    concurrency: dice.pick([1, 3, 10]),
    log: { debug() {}, info() {}, warn() {}, error: note },
  });
  receiver.on("email", ({ id }) => void done.add(id), { merge: dice.chance(0.5) });

  let next = 0;
  async function send(id = `m-${(next += 1)}`): Promise<void> {
    const body = bodyOf({ payloads: [change(id)] });
    const answer = receiver.receive(signedRequest(body, { secret: SECRET, at: clock.date() }));
    void answer.then(({ status }) => status === 200 && stored.add(id));
    await turns(dice.int(1, 5));
  }

  async function sendSome(): Promise<void> {
    for (let left = dice.int(1, 4); left > 0; left -= 1) await send();
  }

  async function pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await turns(3);
      await clock.advance(1_000);
    }
  }

  const check = (rule: string, holds: boolean): unknown => holds || broken.push(rule);
  const health = async (): ReturnType<Receiver["health"]> => receiver.health();
  const isSeen = async (): Promise<boolean> => (await health()).problems.some(({ code }) => code === "no-progress");

  // The backlog of another process goes through `unexpanded` and `expand`.
  const viaBacklog = way.verb === "unexpanded" || way.verb === "expand";
  if (!viaBacklog) await receiver.start();
  await sendSome();
  await turns();
  if (way.fault === "fails for one row" && way.verb !== "store") {
    hands.break();
    await send(BAD);
  }
  await sendSome();
  hands.break();
  if (viaBacklog) void receiver.start();
  if (way.verb === "store" && way.fault === "fails for one row") await send(BAD);
  await sendSome();

  // Deliveries go on coming: 15 s, a minute, and long enough for everything that ends alone.
  await pass(14);
  check("no alarm before 15 s", !(await isSeen()));
  const stands = way.fault === "fails for ever" || way.fault === "hangs";
  const isHidden = way.verb === "store" && way.fault === "fails for ever"; // it is answered: a 503
  await pass(4);
  if (stands && !isHidden) check("no progress is seen within 18 s", await isSeen());
  for (let step = 0; step < 12; step += 1) {
    await pass(5);
    if (dice.chance(0.7)) await sendSome();
  }
  await turns();
  if (stands && !isHidden) {
    const { live } = await health();
    check("a restart is asked for where there is no answer", live === (way.fault !== "hangs"));
    check("no progress is still seen after a minute", await isSeen());
  } else if (way.fault === "fails for one row" && way.verb !== "unexpanded") {
    // An outcome is given up only when others were settled for ten minutes.
    if (way.verb === "settle") for (let second = 0; second < 620; second += 1) await send().then(() => pass(1));
    await pass(120);
    await turns();
    const left = [...stored].filter((id) => id !== BAD && !done.has(id));
    check(`one row stops no other: ${left.slice(0, 3).join()}`, left.length === 0);
    const ends = { store: undefined, expand: "event-not-expanded", settle: "job-unsettled", claim: undefined } as const;
    const end = ends[way.verb];
    if (end !== undefined) check(`what ends alone is logged as ${end}`, logged.has(end));
  }

  hands.mend();
  await pass(60);
  await sendSome();
  await pass(60);
  await turns();
  const after = await health();
  check("green again when it moves", after.live && after.ready && !(await isSeen()));
  const lost = [...stored].filter((id) => id !== BAD && !done.has(id));
  check(`all that was stored is done: ${lost.slice(0, 3).join()}`, lost.length === 0);
  const closed = receiver.close({ drainMs: 10_000 });
  await pass(15);
  await closed;
  return broken.map((rule) => `${way.verb} ${way.fault}, seed ${seed}: ${rule}`);
}
