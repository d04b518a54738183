import { createReceiver, memoryInbox, type AnyEvent, type Clock, type Logger } from "hookline";
import { pino } from "pino";
import { afterEach, beforeEach, describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { internalsOf } from "../../src/receiver/internals.ts";
import { describeThrown } from "../../src/thrown.ts";
import { turns, until } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { bookingBody, makeDelivery, signedRequest } from "../support/make-delivery.ts";
import { emails, failingHandler, idOf, recordingHandler, rig, type Rig } from "../support/rig.ts";
import { THINGS, type Thing } from "../support/unreadable.ts";

/** What would have ended the process. */
const ends: unknown[] = [];
const note = (error: unknown): void => void ends.push(describeThrown(error));

beforeEach(() => {
  ends.length = 0;
  process.on("unhandledRejection", note).on("uncaughtException", note);
});

afterEach(async () => {
  await turns();
  process.off("unhandledRejection", note).off("uncaughtException", note);
  expect(ends).toEqual([]);
});

const howMany = (asks: Thing["asks"]): number => THINGS.filter((thing) => thing.asks === asks).length;

const thrown = (thing: Thing): never => {
  throw thing.make();
};

const rejected = async (thing: Thing): Promise<never> => thrown(thing);

type Then = (yes: (value?: unknown) => void, no: (error: unknown) => void) => unknown;

/** As libraries make them. */
function thenable(then: () => Then, of: object = {}): unknown {
  // oxlint-disable-next-line unicorn/no-thenable -- that is what it is
  return Object.defineProperty(of, "then", { get: then });
}

const rejects =
  (thing: Thing): Then =>
  (_, no) =>
    no(thing.make());

/** How a function may end with a thing, whoever called it. */
const ENDINGS: readonly (readonly [string, (thing: Thing) => unknown])[] = [
  ["throws", thrown],
  ["rejects with", rejected],
  ["returns a thenable that rejects with", (thing) => thenable(() => rejects(thing))],
  ["returns a thenable whose then throws", (thing) => thenable(() => () => thrown(thing))],
  ["returns a thenable whose then cannot be read because of", (thing) => thenable(() => thrown(thing))],
  ["returns a thenable that calls back at once and twice with", (thing) => thenable(() => twice(thing))],
  [
    "returns a function that is a thenable and rejects with",
    (thing) =>
      thenable(
        () => rejects(thing),
        () => {},
      ),
  ],
  ["returns a thenable of a promise that rejects with", (thing) => thenable(() => (yes) => yes(rejected(thing)))],
];

function twice(thing: Thing): Then {
  return (yes, no) => {
    no(thing.make());
    no(new Error("again"));
    yes();
    throw new Error("and again");
  };
}

/** A delivery for each thing, of two e-mails in one lane. */
async function sendAll({ send }: Pick<Rig, "send">): Promise<void> {
  for (const { name } of THINGS) await send(emails(name, name));
}

/** Each lane's first call ends with a thing; what comes behind it, and the retry, end well. */
function firstEnds(ending: (thing: Thing) => unknown) {
  const ended = new Set<string>();
  return recordingHandler((event) => {
    const thing = THINGS.find(({ name }) => name === idOf(event));
    if (thing === undefined || ended.has(thing.name)) return undefined;
    ended.add(thing.name);
    return ending(thing);
  });
}

/** Nothing is left: no job, no slot, no claim. */
async function expectRest({ receiver, inbox }: Pick<Rig, "receiver" | "inbox">, dead = 0): Promise<void> {
  await receiver.idle();
  expect(inbox.stats()).toMatchObject({ waiting: 0, running: 0, unexpanded: 0, blockedLanes: 0, dead });
  expect(await receiver.close()).toMatchObject({ released: 0, stuck: 0 });
}

const ALL = 2 * THINGS.length;

describe.each(ENDINGS)("a handler that %s anything", (_, ending) => {
  test("is tried again, dead or delayed as it asked, and its lane and its slot go on", async () => {
    const all = rig({ attempts: 2, concurrency: 1 });
    all.receiver.on("email", firstEnds(ending).handler, { merge: false });
    await all.receiver.start();
    await sendAll(all);
    for (let second = 0; second < 4; second += 1) await all.pass(1_000);
    await expectRest(all, howMany("to give up"));
    expect(all.receiver.stats()).toMatchObject({
      succeeded: ALL - howMany("to give up"),
      dead: howMany("to give up"),
      failed: howMany("nothing") + howMany("to give up"),
      retried: howMany("nothing") + howMany("for later"),
    });
  });
});

test("a handler whose promise calls back at once and twice is called once an attempt", async () => {
  const all = rig({ attempts: 1 });
  const thing = THINGS.find(({ name }) => name === "an error") as Thing;
  const { seen, handler } = recordingHandler(() => thenable(() => twice(thing), Promise.resolve()));
  all.receiver.on("email", handler);
  await all.receiver.start();
  await all.send(emails("a"));
  await expectRest(all, 1);
  expect([seen, all.receiver.stats()]).toMatchObject([["a"], { failed: 1, dead: 1 }]);
});

describe.each(ENDINGS)("a middleware that %s anything", (_, ending) => {
  test.each([
    ["before next()", false],
    ["after next()", true],
  ])("%s fails its call, and ends nothing else", async (__, isAfter) => {
    const all = rig({ attempts: 2, concurrency: 1 });
    const { handler: first } = firstEnds(ending);
    all.receiver.use(async (event, ctx, next) => {
      if (isAfter) await next();
      await first(event, ctx);
      if (!isAfter) await next();
    });
    all.receiver.on("email", () => {}, { merge: false });
    await all.receiver.start();
    await sendAll(all);
    for (let second = 0; second < 4; second += 1) await all.pass(1_000);
    await expectRest(all, howMany("to give up"));
    expect(all.receiver.stats().succeeded).toBe(ALL - howMany("to give up"));
  });
});

describe("a middleware that", () => {
  test("calls next() twice and waits for neither fails its call", async () => {
    const all = rig({ attempts: 1 });
    const { seen, handler } = recordingHandler();
    all.receiver.use((_event, _ctx, next) => {
      void next();
      void next();
    });
    all.receiver.on("email", handler);
    await all.receiver.start();
    await all.send(emails("a"));
    await expectRest(all, 1);
    expect(seen).toEqual(["a"]);
    expect(all.log.text()).toContain("next-misused");
  });

  test("waits for next() after something longer fails with its handler", async () => {
    const all = rig({ attempts: 1 });
    all.receiver.use(async (_event, _ctx, next) => {
      const inside = next();
      await turns();
      await inside;
    });
    all.receiver.on("email", () => Promise.reject(new Error("before it was waited for")));
    await all.receiver.start();
    await all.send(emails("a"));
    await all.pass();
    await expectRest(all, 1);
    expect(all.log.text()).toContain("before it was waited for");
  });
});

describe.each(ENDINGS)("a listener of onDead that %s anything", (_, ending) => {
  test("does not keep a job from being marked", async () => {
    const all = rig({ attempts: 1, concurrency: 1 });
    const { handler: first } = firstEnds(ending);
    all.receiver.on("email", failingHandler(new Error("no")).handler, { merge: false });
    all.receiver.onDead((job) => first(job.event, undefined as never));
    await all.receiver.start();
    await sendAll(all);
    await expectRest(all, ALL);
  });
});

const MOMENTS = ["stored", "started", "succeeded", "failed", "retried", "dead", "duplicate"] as const;

describe.each(ENDINGS)("an observer that %s anything", (_, ending) => {
  test("changes nothing, and is in the log", async () => {
    const all = rig({ attempts: 2, concurrency: 1 });
    for (const thing of THINGS) {
      const observer = Object.fromEntries(MOMENTS.map((moment) => [moment, () => ending(thing)]));
      all.receiver.observe(observer);
      all.receiver.observe(Object.defineProperty({}, "started", { get: () => thrown(thing) }));
    }
    let calls = 0;
    all.receiver.on("email", () => {
      calls += 1;
      if (calls < 4) throw new Error("no");
    });
    all.receiver.on("booking", () => {});
    await all.receiver.start();
    await all.send(emails("a"));
    await all.send(bookingBody("e-1", "e-1"));
    await all.pass(2_000);
    await all.send(emails("b"));
    await all.pass(2_000);
    await expectRest(all, 1);
    expect(all.receiver.stats()).toMatchObject({
      succeeded: 2,
      duplicates: 1,
      failed: 3,
      retried: 2,
      dead: 1,
      stored: 3,
    });
    expect(all.log.of("observer-failed").length).toBeGreaterThan(0);
  });

  test("of what was expanded changes nothing either", async () => {
    const all = rig();
    const { expandedListeners } = internalsOf(all.receiver);
    for (const thing of THINGS) expandedListeners.add(() => ending(thing) as void);
    all.receiver.on("email", () => {});
    await all.receiver.start();
    await all.send(emails("a"));
    await expectRest(all);
  });
});

describe.each(ENDINGS)("a gate that %s anything", (_, ending) => {
  test("keeps the delivery", async () => {
    const all = rig();
    let next = 0;
    all.receiver.on("email", () => {}).unsubscribeWhen(() => ending(THINGS[next++] as Thing) as undefined);
    await all.receiver.start();
    await sendAll(all);
    await expectRest(all);
    expect(all.receiver.stats()).toMatchObject({ succeeded: ALL, answered: { 200: THINGS.length } });
  });
});

describe.each(ENDINGS)("a look-up of secrets that %s anything", (_, ending) => {
  test("acknowledges nothing, and ends nothing", async () => {
    let next = 0;
    const { receiver, offer } = rig({ secret: () => ending(THINGS[next++] as Thing) as undefined });
    for (const { name } of THINGS) expect(await offer(emails(name))).toMatchObject({ status: 503 });
    expect(receiver.stats()).toMatchObject({ stored: 0, answered: { 503: THINGS.length } });
  });
});

describe.each([...ENDINGS, ["returns", (thing: Thing) => thing.make()] as const])(
  "a lane function that %s anything",
  (_, ending) => {
    test("gives each record a lane of its own", async () => {
      const all = rig({ concurrency: 1 });
      const lanes = new Set<string | undefined>();
      all.receiver.observe({ started: ({ job }) => void lanes.add(job.lane) });
      const { handler } = recordingHandler();
      const lane = (event: AnyEvent): string =>
        ending(THINGS.find(({ name }) => name === idOf(event)) as Thing) as string;
      all.receiver.on("email", handler, { lane, merge: false });
      await all.receiver.start();
      await sendAll(all);
      await expectRest(all);
      expect([lanes.size, all.receiver.stats().succeeded]).toEqual([THINGS.length, ALL]);
    });
  },
);

describe.each([...ENDINGS, ["returns", (thing: Thing) => thing.make()] as const])(
  "a log that %s anything",
  (_, ending) => {
    test("changes no answer and no job", async () => {
      let next = 0;
      const line = (): unknown => ending(THINGS[next++ % THINGS.length] as Thing);
      const log = { debug: line, info: line, warn: line, error: line } as unknown as Logger;
      const inbox = memoryInbox();
      const clock = fakeClock();
      const receiver = createReceiver({
        secret: "s",
        inbox,
        clock,
        log,
        attempts: 1,
        concurrency: 1,
        logContent: true,
      });
      receiver.on("email", firstEnds(thrown).handler, { merge: false });
      await receiver.start();
      for (const { name } of THINGS)
        expect(
          await receiver.receive(signedRequest(emails(name, name), { secret: "s", at: clock.date() })),
        ).toMatchObject({
          status: 200,
        });
      await turns();
      await clock.advance(5_000);
      await expectRest({ receiver, inbox: inbox as Rig["inbox"] }, THINGS.length - howMany("for later"));
    });
  },
);

test("what cannot be read is logged by pino all the same", async () => {
  const lines: { readonly msg: string; readonly err?: { readonly message?: string } }[] = [];
  const log = pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) });
  const receiver = createReceiver({ secret: "s", inbox: memoryInbox(), log, attempts: 1 });
  receiver.on("email", firstEnds(thrown).handler);
  await receiver.start();
  for (const { name } of THINGS) await receiver.receive(signedRequest(emails(name), { secret: "s", at: new Date() }));
  await until(() => receiver.stats().failed === THINGS.length - howMany("for later"));
  const failures = lines.filter(({ msg }) => msg === "a handler failed");
  expect(failures).toHaveLength(THINGS.length - howMany("for later"));
  expect(JSON.stringify(failures)).toContain("it cannot be shown");
  await receiver.close({ drainMs: 0 });
});

describe.each(ENDINGS)("a handler of a queue's delivery that %s anything", (_, ending) => {
  test("fails the delivery, unless it gave up", async () => {
    const { receiver } = rig();
    receiver.on("email", firstEnds(ending).handler);
    for (const thing of THINGS) {
      const handled = receiver.handle(toStored("d-1", makeDelivery(emails(thing.name))));
      if (thing.asks === "to give up") await handled;
      else await expect(handled).rejects.toMatchObject({ code: "handle-failed" });
    }
    expect(await receiver.close()).toMatchObject({ stuck: 0 });
  });

  test("is answered 503 where it runs before the answer", async () => {
    const { receiver, clock } = rig();
    receiver.on("email", firstEnds(ending).handler);
    for (const { name, asks } of THINGS) {
      const request = signedRequest(emails(name), { secret: "a signing secret", at: clock.date() });
      const reply = await receiver.receive(request, { answer: "after-handlers", timeoutMs: 1_000 });
      expect(reply).toMatchObject({ status: asks === "to give up" ? 200 : 503 });
    }
    expect(await receiver.close()).toMatchObject({ stuck: 0 });
  });
});

/** The machine's time and timers, as a clock of the user's may break them. */
const real: Clock = {
  now: () => Date.now(),
  setTimer(run, ms) {
    const timer = setTimeout(run, ms);
    return { clear: () => clearTimeout(timer), unref: () => void timer.unref() };
  },
};

describe("a clock that", () => {
  const times: readonly unknown[] = [Number.NaN, Infinity, -Infinity, 8.7e15, "now", undefined, null, 5n, new Date()];

  const BROKEN: readonly (readonly [string, (thing: Thing) => Partial<Clock>])[] = [
    ["throws when it is asked for the time", (thing) => ({ now: () => thrown(thing) })],
    ["cannot set a timer", (thing) => ({ setTimer: () => thrown(thing) })],
    ["gives anything for a timer", (thing) => ({ setTimer: () => thing.make() as never })],
    [
      "cannot clear a timer",
      (thing) => ({ setTimer: (run, ms) => ({ ...real.setTimer(run, ms), clear: () => thrown(thing) }) }),
    ],
    [
      "cannot let a timer go",
      (thing) => ({ setTimer: (run, ms) => ({ ...real.setTimer(run, ms), unref: () => thrown(thing) }) }),
    ],
  ];

  /** What makes a difference to a clock. */
  const few = THINGS.filter(({ name }) =>
    ["undefined", "a promise that rejects", "an error", "a revoked proxy"].includes(name),
  );

  async function works(clock: Clock): Promise<void> {
    const log = logRecorder();
    const inbox = memoryInbox();
    const receiver = createReceiver({ secret: "s", inbox, clock, log: log.logger, attempts: 1, timeoutMs: 60_000 });
    const { seen, handler } = recordingHandler(() => Promise.resolve());
    receiver.on("email", handler, { merge: false });
    await receiver.start();
    // The second one's line in the log waits for a timer, which is let go.
    for (let time = 0; time < 2; time += 1)
      await receiver.receive({ method: "GET", url: "/", headers: {}, body: new Uint8Array(0) });
    const reply = await receiver.receive(signedRequest(emails("a", "a", "b"), { secret: "s", at: new Date() }));
    expect(reply).toMatchObject({ status: 200 });
    await expectRest({ receiver, inbox: inbox as Rig["inbox"] });
    expect(seen.toSorted()).toEqual(["a", "a", "b"]);
    expect(log.of("clock-failed")).toHaveLength(1);
  }

  test.each(BROKEN)("%s is replaced by the machine's, and logged once", async (_, breaks) => {
    for (const thing of few) {
      await works({ ...real, ...breaks(thing) });
    }
  });

  test("gives no time is replaced by the machine's, and logged once", async () => {
    for (const time of times) await works({ ...real, now: () => time as number });
  });
});
