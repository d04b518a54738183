import { createReceiver, forwardInbox, memoryInbox, StorageError, UsageError } from "hookline";
import { describe, expect, test } from "vitest";
import { PROBLEMS } from "../../src/receiver/health/problem-catalog.ts";
import { deferred, turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { bodyOf, signedRequest } from "../support/make-delivery.ts";
import { emails, failingHandler, heldHandler, recordingHandler, rig } from "../support/rig.ts";
import { failingInbox, stubInbox, unopenableInbox } from "../support/stub-inboxes.ts";

const well = {
  live: true,
  ready: true,
  problems: [],
  waiting: 0,
  oldestWaitingMs: 0,
  pausedWaiting: 0,
  blockedLanes: 0,
  dead: 0,
  unhandled: 0,
  stuck: 0,
};

describe("a receiver is well", () => {
  test("before it was ever used: asking opens the inbox, so that the first delivery finds it open", async () => {
    let opened = 0;
    const inbox = stubInbox((own) => ({
      open: (host) => {
        opened += 1;
        return own.open(host);
      },
    }));
    const { receiver, send } = rig({ inbox });
    expect(opened).toBe(0);
    expect(await receiver.health()).toEqual(well);
    expect(await receiver.health()).toEqual(well);
    await send();
    expect(opened).toBe(1);
  });

  test("while it works and all is handled", async () => {
    const { receiver, send } = rig();
    receiver.on("email", () => {});
    await receiver.start();
    await send();
    await receiver.idle();
    expect(await receiver.health()).toEqual(well);
  });

  test("on a queue of the user's, which has no working half: all numbers are 0", async () => {
    const clock = fakeClock();
    const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), clock, log: false });
    const request = signedRequest(bodyOf(), { secret: "s", at: clock.date() });
    expect(await receiver.receive(request)).toMatchObject({ status: 200 });
    expect(await receiver.health()).toEqual(well);
  });

  test("while another process works on its inbox, and it is the standby", async () => {
    const { receiver } = rig({ inbox: stubInbox(() => ({ work: async () => {} })) });
    await receiver.start();
    expect(receiver.stats().role).toBe("standby");
    expect(await receiver.health()).toEqual(well);
  });
});

/** A delivery of so many bytes; it may be no JSON. */
function sized(bytes: number): string {
  const body = emails("a");
  return bytes < body.length ? " ".repeat(bytes) : body + " ".repeat(bytes - body.length);
}

const nobodyWorks = expect.objectContaining({ code: "no-worker" });

describe("a receiver is not ready, but alive,", () => {
  test("while it closes and after: no other problem is reported then", async () => {
    const { receiver, send } = rig();
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    const closed = receiver.close();
    expect(await receiver.health()).toMatchObject({ live: true, ready: false, problems: [{ code: "closing" }] });
    last().end();
    await closed;
    expect(await receiver.health()).toEqual({ ...well, ready: false, problems: [toReported("closing")] });
  });

  test("after a close that came before anything else: its inbox is not opened any more", async () => {
    const inbox = stubInbox(() => ({ open: () => Promise.reject(new Error("opened")) }));
    const { receiver, log } = rig({ inbox });
    await receiver.close();
    expect(await codesOf(receiver)).toEqual(["closing"]);
    expect(log.lines).toEqual([]);
  });

  test.each([[undefined], [""], ["  "], [[]]])("without a secret: %j", async (secret) => {
    const { receiver, offer } = rig({ secret });
    expect(await receiver.health()).toEqual({ ...well, ready: false, problems: [toReported("secret-missing")] });
    expect(await offer()).toMatchObject({ status: 503 });
  });

  test("never for a secret that is looked up: it is unknown before the look-up", async () => {
    const { receiver } = rig({ secret: () => undefined });
    expect(await receiver.health()).toEqual(well);
  });

  test("while the inbox is not open yet, however long it takes", async () => {
    const { promise, resolve } = deferred();
    const { receiver, clock } = rig({
      inbox: stubInbox((own) => ({ open: (host) => promise.then(() => own.open(host)) })),
    });
    expect(await receiver.health()).toEqual({ ...well, ready: false, problems: [toReported("inbox-opening")] });
    expect(await codesOf(receiver)).toEqual(["inbox-opening"]);
    expect(clock.waiting).toBe(0);
    resolve();
    await turns();
    expect(await receiver.health()).toEqual(well);
  });

  test("while the inbox cannot be opened; each health check tries again, and the log has the cause", async () => {
    let broken = true;
    const inbox = stubInbox((own) => ({
      open: (host) => (broken ? Promise.reject(new Error("no such volume /secret/place")) : own.open(host)),
    }));
    const { receiver, log } = rig({ inbox });
    const health = await receiver.health();
    expect(health).toEqual({ ...well, ready: false, problems: [toReported("inbox-unavailable")] });
    expect(log.of("inbox-open-failed")).toMatchObject([
      { level: "error", facts: { err: { message: "no such volume /secret/place" } } },
    ]);
    expect(await codesOf(receiver)).toEqual(["inbox-unavailable"]);
    broken = false;
    expect(await receiver.health()).toEqual(well);
  });

  test("but says nothing in the log where it was closed while it opened", async () => {
    const { promise, resolve } = deferred();
    const { receiver, log } = rig({
      inbox: stubInbox((own) => ({ open: (host) => promise.then(() => own.open(host)) })),
    });
    await receiver.health();
    const closed = receiver.close({ drainMs: 0 });
    await turns();
    resolve();
    await closed;
    await turns();
    expect(log.of("inbox-open-failed")).toEqual([]);
  });

  test("while its last opening failed, also when the next try hangs", async () => {
    let tries = 0;
    const inbox = stubInbox(() => ({
      open: () => (++tries === 1 ? Promise.reject(new Error("no")) : new Promise(() => {})),
    }));
    const { receiver } = rig({ inbox });
    await receiver.health();
    expect(await codesOf(receiver)).toEqual(["inbox-unavailable"]);
    expect(await codesOf(receiver)).toEqual(["inbox-unavailable"]);
    expect(tries).toBe(2);
  });

  test("with the message of a Hookline error: its fix comes once", async () => {
    const error = new UsageError("inbox-shared", "This file is another receiver's.", { fix: "Take another file." });
    const { receiver } = rig({ inbox: unopenableInbox(error) });
    expect(await problemsOf(receiver, "inbox-unavailable")).toEqual([
      {
        code: "inbox-unavailable",
        message: `${PROBLEMS["inbox-unavailable"].message} This file is another receiver's.`,
        fix: "Take another file.",
      },
    ]);
  });

  test("while the inbox is full, until there is room again", async () => {
    const { receiver, send, offer, pass } = rig({ inbox: memoryInbox({ maxJobs: 1 }) });
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    await receiver.start();
    await send();
    expect(await receiver.health()).toMatchObject({ live: true, ready: false, problems: [toReported("inbox-full")] });
    expect(await offer()).toMatchObject({ status: 503 });
    last().end();
    await pass();
    expect(await receiver.health()).toMatchObject({ ready: true, problems: [{ code: "inbox-too-small" }] });
    await pass(600_000);
    expect(await receiver.health()).toEqual(well);
  });

  test("while it is full by bytes: a delivery of ordinary size finds no room, nor does a smaller one", async () => {
    const maxBytes = 1024 * 1024;
    const { receiver, send, offer, inbox } = rig({ inbox: memoryInbox({ maxBytes }) });
    await send(sized(maxBytes - 16 * 1024));
    expect(await receiver.health()).toMatchObject({ ready: true });
    await send(sized(1));
    expect(await receiver.health()).toMatchObject({ ready: false, problems: [toReported("inbox-full"), nobodyWorks] });
    expect(await offer(sized(1))).toMatchObject({ status: 503 });
    expect(await codesOf(receiver)).toEqual(["inbox-full", "no-worker"]);
    await inbox.jobs.erase(2002);
    await send(sized(16 * 1024));
  });

  test("while bodies in flight leave no room for an ordinary one", async () => {
    const { receiver, offer, clock, pass } = rig({ maxInFlightBytes: 64 * 300 });
    const { handler, last } = heldHandler();
    receiver.on("email", handler);
    const answering = { answer: "after-handlers", timeoutMs: 1_000 } as const;
    const large = signedRequest(sized(64 * 300 - 299), { secret: "a signing secret", at: clock.date() });
    const reply = receiver.receive(large, answering);
    await pass(1_000);
    expect(await reply).toMatchObject({ status: 503 });
    // Its handler goes on, and holds it.
    expect(await receiver.health()).toMatchObject({ ready: false, problems: [{ code: "intake-full" }] });
    expect(await offer(sized(300))).toMatchObject({ status: 503 });
    expect(await codesOf(receiver)).toEqual(["intake-full"]);
    last().end();
    await pass();
    expect(await receiver.health()).toMatchObject({ ready: true, problems: [{ code: "intake-full" }] });
    expect(await offer(sized(300))).toMatchObject({ status: 200 });
  });

  test("while the inbox says that it can keep nothing, or cannot even say that", async () => {
    const state: { ready: () => { ready: true } | { ready: false; error: StorageError } } = {
      ready: () => ({ ready: false, error: new StorageError("queue-slow", "10 MiB are free.", { fix: "Make room." }) }),
    };
    const { receiver } = rig({ inbox: stubInbox(() => ({ ready: () => state.ready() })) });
    const { message, fix } = PROBLEMS["inbox-not-ready"];
    const problem = { code: "inbox-not-ready", message: `${message} 10 MiB are free.`, fix: "Make room." };
    expect(await receiver.health()).toEqual({ ...well, ready: false, problems: [problem] });
    state.ready = () => {
      throw new Error("10.0.0.7 is away");
    };
    expect(await problemsOf(receiver, "inbox-not-ready")).toEqual([{ ...problem, message, fix }]);
    state.ready = () => ({ ready: true });
    expect(await receiver.health()).toEqual(well);
  });
});

test("a receiver that has more stuck handlers than it may is not alive: a restart would help", async () => {
  const { receiver, send, pass } = rig({ concurrency: 1, maxStuck: 1, timeoutMs: 1_000, graceMs: 500 });
  const { calls, handler } = heldHandler();
  receiver.on("email", handler);
  await receiver.start();
  await send(emails("a", "b", "c"));
  await pass(1_500);
  const stuck = await receiver.health();
  expect(stuck).toMatchObject({ live: true, ready: true, stuck: 1 });
  expect(stuck.problems).toEqual([toReported("handlers-stuck", "Now: 1 handler.")]);
  await pass(1_500);
  const jammed = await receiver.health();
  expect(jammed).toMatchObject({ live: false, ready: true, stuck: 2 });
  expect(jammed.problems).toEqual([toReported("stuck-limit-reached", "Now stuck: 2 handlers.")]);
  calls[0]?.end();
  await pass();
  expect(await receiver.health()).toMatchObject({ live: true, stuck: 1 });
});

test("failing storage is reported until a delivery is stored again, even if the inbox says that it is ready", async () => {
  let broken = true;
  const inbox = stubInbox((own) => ({
    store: (deliveries) => (broken ? Promise.reject(new Error("EIO")) : own.store(deliveries)),
  }));
  const { receiver, offer, send, pass, clock } = rig({ inbox, gaps: false });
  receiver.on("email", () => {});
  await receiver.start();
  await offer();
  expect(await receiver.health()).toEqual({ ...well, ready: false, problems: [toReported("storage-failing")] });
  await pass(29_999);
  expect(await receiver.health()).toMatchObject({ ready: false });
  await pass(1); // deliveries have to come to show that it is over
  expect(await receiver.health()).toEqual({ ...well, problems: [toReported("storage-failing")] });
  await pass(86_400_000);
  expect(await codesOf(receiver)).toEqual(["storage-failing"]);
  await offer();
  expect(await receiver.health()).toMatchObject({ ready: false });
  clock.jump(-1); // nobody knows how long ago it was
  expect(await receiver.health()).toMatchObject({ ready: true });
  broken = false;
  await send();
  await pass();
  expect(await receiver.health()).toEqual(well);
});

test("an inbox that cannot count its jobs is reported, with numbers of 0", async () => {
  const inbox = stubInbox(() => ({
    stats: () => {
      throw new Error("away");
    },
  }));
  const { receiver, log } = rig({ inbox });
  expect(await receiver.health()).toEqual({ ...well, problems: [toReported("inbox-stats-failed")] });
  expect(log.of("inbox-stats-failed")).toHaveLength(1);
  expect(receiver.stats()).toMatchObject({ stored: 0, expired: 0 });
});

test("dead letters that had their time are counted where the inbox counts them", () => {
  const counting = stubInbox((own) => ({ stats: () => ({ ...own.stats(), expired: 3 }) }));
  expect(rig({ inbox: counting }).receiver.stats().expired).toBe(3);
  expect(rig().receiver.stats().expired).toBe(0);
});

test("problems hold no text of foreign errors, which may contain addresses or names", async () => {
  const { receiver, offer } = rig({ inbox: failingInbox(new Error("ann@example.com at 10.0.0.7")) });
  await offer();
  await receiver.start();
  expect(JSON.stringify(await receiver.health())).not.toMatch(/ann|10\.0/);
});

test("the worst comes first", async () => {
  const { receiver, send, pass } = rig({
    inbox: memoryInbox({ maxJobs: 3 }),
    concurrency: 1,
    maxStuck: 0,
    timeoutMs: 9,
    graceMs: 0,
  });
  receiver.on("email", heldHandler().handler);
  await receiver.start();
  await send(emails("a", "b", "c"));
  await pass(600_000);
  expect(await codesOf(receiver)).toEqual(["stuck-limit-reached", "inbox-full", "lag"]);
});

test("asking changes nothing in what was done", async () => {
  const { receiver, send, pass } = rig();
  const { handler } = recordingHandler();
  receiver.on("email", handler);
  receiver.on("booking", failingHandler().handler);
  await receiver.start();
  await send();
  await pass();
  const before = receiver.stats();
  await receiver.health();
  expect(receiver.stats()).toEqual(before);
});

test("every problem has its message and its fix in whole sentences", () => {
  for (const { message, fix } of Object.values(PROBLEMS)) expect([message, fix]).toEqual([sentence, sentence]);
});

const sentence: unknown = expect.stringMatching(/^[A-Z].*[.!]$/);
