import { createReceiver, forwardInbox, memoryInbox, type Inbox, type Receiver } from "hookline";
import { workAfterResponse } from "hookline/adapter";
import { sqliteInbox } from "hookline/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { findInternals } from "../../src/receiver/internals.ts";
import type { InboxHost, WritingInbox } from "../../src/inbox/port/inbox.ts";
import {
  createReceiverStates,
  RECEIVER_STATES,
  type ReceiverState,
  type ReceiverStep,
} from "../../src/receiver/lifecycle.ts";
import { createOpening } from "../../src/receiver/open-inbox.ts";
import { controllableInbox, type ControllableInbox } from "../support/controllable-inbox.ts";
import { turns, until, watch } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { fastTmpdir } from "../support/fast-tmpdir.ts";
import { codesOf } from "../support/health.ts";
import { signedRequest } from "../support/make-delivery.ts";
import { emails } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const SECRET = "a signing secret";
const ROLES: Partial<Record<ReceiverState, string>> = { working: "working", standby: "standby" };
const TAKES: ReadonlySet<ReceiverState> = new Set(["receiving", "starting", "standby", "working"]);

interface Bench extends ControllableInbox<"memory" | "disk" | "network"> {
  readonly receiver: Receiver;
  readonly state: () => ReceiverState;
  /** Records that a handler got. */
  readonly seen: string[];
  is(state: ReceiverState): Promise<void>;
  /** Somebody needs the inbox. */
  need(): void;
  start(): ReturnType<typeof watch<void>>;
  /** Works until nothing is due. */
  visit(): void;
  close(): void;
}

/** How each state is come to. */
const WAYS: Readonly<Record<ReceiverState, (bench: Bench) => void | Promise<void>>> = {
  idle() {},
  opening(bench) {
    bench.hold("open");
    bench.need();
  },
  unavailable(bench) {
    bench.fail("open");
    bench.need();
  },
  receiving: (bench) => bench.need(),
  starting(bench) {
    bench.hold("work");
    bench.start();
  },
  standby(bench) {
    bench.takeWorkerLock();
    bench.start();
  },
  working: (bench) => void bench.start(),
  async closing(bench) {
    bench.need();
    await bench.is("receiving");
    bench.hold("close");
    bench.close();
  },
  closed: (bench) => bench.close(),
};

/** Where a call is still under way in a state that it comes to only by the way. */
function wayOf(call: "start" | "visit"): Partial<Record<ReceiverState, (bench: Bench) => void | Promise<void>>> {
  return {
    working(bench) {
      bench.hold("worked");
      bench[call]();
    },
    async standby(bench) {
      bench.hold("worked");
      bench[call]();
      await bench.is("working");
      bench.takeWorkerLock();
    },
  };
}

const WAYS_TO_STEP: Partial<Record<ReceiverStep, ReturnType<typeof wayOf>>> = {
  "start-failed": wayOf("start"),
  left: wayOf("visit"),
};

/** What makes each step happen. */
const STEPS: Readonly<Record<ReceiverStep, (bench: Bench) => void>> = {
  open(bench) {
    bench.hold("open");
    bench.need();
  },
  opened: (bench) => bench.release("open"),
  "open-failed": (bench) => bench.fail("open"),
  start(bench) {
    bench.hold("work");
    bench.start();
  },
  begun(bench) {
    bench.freeWorkerLock();
    bench.release("work");
  },
  "stood-by"(bench) {
    bench.takeWorkerLock();
    bench.release("work");
  },
  ended: (bench) => bench.takeWorkerLock(),
  left: (bench) => bench.release("worked"),
  "start-failed"(bench) {
    bench.fail("work");
    bench.fail("worked");
  },
  close(bench) {
    bench.hold("close");
    bench.fail("open"); // one that is closed while it opens opens no more
    bench.close();
  },
  closed: (bench) => bench.release("close"),
};

const INBOXES: readonly (readonly [string, () => Inbox<"memory" | "disk" | "network">])[] = [
  ["memory", () => memoryInbox()],
  ["SQLite", () => sqliteInbox(join(folderFor(), "inbox.db"), { minFreeDiskBytes: 0 })],
  ["a queue of the user's", () => forwardInbox(async () => {})],
];
/** A queue has no worker's place. */
const WORKS: ReadonlySet<string> = new Set<ReceiverState>(["starting", "standby", "working"]);

describe.each(INBOXES)("a receiver on %s goes", (name, make) => {
  const edges = Object.entries(RECEIVER_STATES).flatMap(([from, ways]) =>
    Object.entries(ways).map(([step, to]) => [from, to, step] as [ReceiverState, ReceiverState, ReceiverStep]),
  );
  const ofIt = name.startsWith("a queue") ? edges.filter(([from, to]) => !WORKS.has(from) && !WORKS.has(to)) : edges;

  test.each(ofIt)("from %s to %s: %s", async (from, to, step) => {
    const bench = openBench(make());
    const way = WAYS_TO_STEP[step]?.[from] ?? WAYS[from];
    await way(bench);
    await bench.is(from);
    STEPS[step](bench);
    // One that never had its inbox open has nothing to let go.
    await bench.is(to === "closing" && !TAKES.has(from) && from !== "opening" ? "closed" : to);
    expect(bench.receiver.stats().role).toBe(ROLES[to] ?? "receiving");
    await holds(bench, to);
  });
});

/** What each state promises to whoever sends and waits. */
async function holds(
  { receiver, state, seen, release: obey, freeWorkerLock: give }: Bench,
  to: ReceiverState,
): Promise<void> {
  if (to === "opening") return;
  const { ready } = await receiver.health();
  expect(ready).toBe(TAKES.has(to));
  expect((await deliver(receiver, "a")).status).toBe(ready ? 200 : 503);
  if (to === "working") await eventually(() => expect(seen).toEqual(["a"]));
  else expect(seen).toEqual([]);
  if (to !== "standby" || state() !== "standby") return;
  // What came meanwhile is handled by whoever works next: here it is this one again.
  obey("work");
  give();
  await eventually(() => expect(seen).toEqual(["a"]));
}

describe.each(INBOXES.slice(0, 2))("on %s", (_name, make) => {
  test.each<["open" | "work" | "worked"]>([["open"], ["work"], ["worked"]])(
    "a start() that fails at its %s is told until a later one holds, which works",
    async (verb) => {
      const { receiver, seen, start, fail, release: obey, state } = openBench(make());
      fail(verb);
      const started = start();
      await until(() => started.ended);
      expect(started.error).toMatchObject({ message: `no ${verb}` });
      obey(verb);
      await eventually(async () => expect(await codesOf(receiver)).toEqual(["start-failed"]));
      expect((await deliver(receiver, "a")).status).toBe(200);
      expect(seen).toEqual([]);
      await receiver.start();
      expect([state(), await codesOf(receiver)]).toEqual(["working", []]);
      await eventually(() => expect(seen).toEqual(["a"]));
    },
  );

  test.each<["open" | "work" | "worked"]>([["open"], ["work"], ["worked"]])(
    "a close() during its %s makes start() reject with closed at once, each one that waits",
    async (verb) => {
      const { receiver, start, hold, close, release: obey, is } = openBench(make());
      hold(verb);
      const started = [start(), start()];
      await is(verb === "open" ? "opening" : verb === "work" ? "starting" : "working");
      close();
      await until(() => started.every(({ ended }) => ended));
      expect(started.map(({ error }) => error)).toMatchObject([{ code: "closed" }, { code: "closed" }]);
      obey(verb);
      await is("closed");
      await expect(receiver.start()).rejects.toMatchObject({ code: "closed" });
      expect(await codesOf(receiver)).toEqual(["closing"]);
    },
  );

  test("what failed does not keep the inbox from the next receiver", async () => {
    const inbox = make();
    const first = openBench(inbox);
    first.fail("worked");
    const started = first.start();
    await until(() => started.ended);
    await first.receiver.close();
    const next = openBench(inbox);
    await next.receiver.start();
    expect(next.state()).toBe("working");
  });
});

test("an inbox that throws a promise that rejects as it opens or closes does not end the process", async () => {
  const throwing = async (): Promise<never> => {
    throw Promise.reject(new Error("no")) as unknown as Error;
  };
  const opening = createReceiver({ secret: "s", inbox: stubInbox(() => ({ open: throwing })), log: false });
  await expect(opening.start()).rejects.toBeDefined();
  const closing = createReceiver({ secret: "s", inbox: stubInbox(() => ({ close: throwing })), log: false });
  await closing.start();
  await closing.close();
  await turns();
});

test("an inbox that opens after the close is let go: the next receiver can have it", async () => {
  const inbox = memoryInbox();
  const first = openBench(inbox);
  first.hold("open");
  first.start();
  await first.is("opening");
  await first.receiver.close();
  first.release("open");
  await turns();
  const next = openBench(inbox);
  await next.receiver.start();
  expect(next.state()).toBe("working");
});

test("an inbox that opened while its receiver closes is closed once: the next receiver may have it by then", async () => {
  const [open, close] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()];
  let closes = 0;
  const inbox = stubInbox(() => ({ open: () => open.promise, close: () => ((closes += 1), close.promise) }));
  const states = createReceiverStates();
  const opening = createOpening(inbox as WritingInbox, {} as InboxHost, { states, timeoutMs: 1, clock: fakeClock() });
  const opened = watch(opening.opened());
  states.take("close"); // its handlers run on
  open.resolve();
  await until(() => closes === 1);
  const closed = watch(opening.close());
  await turns();
  expect([closes, closed.ended]).toEqual([1, false]);
  close.resolve();
  await until(() => closed.ended && opened.ended);
  expect([closes, closed.error, opened.error]).toMatchObject([1, undefined, { code: "closed" }]);
});

function openBench(own: Inbox<"memory" | "disk" | "network">): Bench {
  const commands = controllableInbox(own);
  const receiver = createReceiver({ secret: SECRET, inbox: commands.inbox, log: false });
  const seen: string[] = [];
  receiver.on("email", (event) => void seen.push("id" in event ? String(event.id) : ""));
  onTestFinished(async () => {
    for (const verb of ["open", "work", "worked", "close"] as const) commands.release(verb);
    await receiver.close({ drainMs: 0 });
  });
  const state = (): ReceiverState => findInternals(receiver)?.state() ?? "closed";
  return {
    ...commands,
    receiver,
    state,
    seen,
    is: (wanted) => eventually(() => expect(state()).toBe(wanted)),
    need: () => void receiver.health(),
    start: () => watch(receiver.start()),
    visit: () => void workAfterResponse(receiver),
    close: () => void receiver.close({ drainMs: 0 }),
  };
}

function deliver(receiver: Receiver, id: string) {
  return receiver.receive(signedRequest(emails(id), { secret: SECRET, at: new Date() }));
}

function folderFor(): string {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
  return folder;
}
