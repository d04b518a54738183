import type { AfterHandlers, StoredDelivery } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { turns, watch } from "../support/event-loop.ts";
import { toReported } from "../support/health.ts";
import { makeDelivery, signedRequest } from "../support/make-delivery.ts";
import { emails, heldHandler, idOf, rig, type RigOptions } from "../support/rig.ts";

const ANSWERING: AfterHandlers = { answer: "after-handlers", timeoutMs: 20_000 };
const LIMITS = { concurrency: 2, timeoutMs: 1_000, graceMs: 500 };

function stored(body: string, id = "d-1"): StoredDelivery {
  return toStored(id, makeDelivery(body));
}

/** A receiver whose handlers ignore their signals. */
function ignoring(options: RigOptions = {}) {
  const made = rig({ gaps: false, ...LIMITS, ...options });
  const held = heldHandler();
  made.receiver.on("email", held.handler);
  return {
    ...made,
    ...held,
    handle: (id: string) => watch(made.receiver.handle(stored(emails(id)))),
    ask: (body: string) =>
      watch(
        made.receiver.receive(signedRequest(body, { secret: "a signing secret", at: made.clock.date() }), ANSWERING),
      ),
    ids: () => held.calls.map(({ event }) => idOf(event)),
  };
}

describe("a directly called handler that ignores its signal for all of its grace", () => {
  test("gives up its slot, and is counted as stuck until it ends", async () => {
    const { receiver, handle, pass, ids, calls, log } = ignoring();
    for (const id of ["a", "b", "c", "d"]) handle(id);
    await pass();
    expect(ids()).toHaveLength(2);
    await pass(1_500);
    expect(ids().toSorted()).toEqual(["a", "b", "c", "d"]);
    expect(await receiver.health()).toMatchObject({
      live: true,
      stuck: 2,
      problems: [toReported("handlers-stuck", "Now: 2 handlers.")],
    });
    expect(log.of("handler-stuck")).toMatchObject([{ level: "error" }, { level: "error" }]);
    for (const call of calls) call.end();
    await pass();
    expect(await receiver.health()).toMatchObject({ stuck: 0, problems: [] });
  });

  test("and jams the receiver lets waiting jobs start as soon as it ends", async () => {
    const { receiver, send, handle, pass, ids, calls } = ignoring({ maxStuck: 0 });
    await receiver.start();
    for (const id of ["a", "b"]) handle(id);
    await pass(1_500);
    await send(emails("job"));
    await pass();
    expect(ids().toSorted()).toEqual(["a", "b"]);
    for (const call of calls) call.end();
    await pass();
    expect(ids().at(-1)).toBe("job");
  });

  test("fails its delivery, whose other events run", async () => {
    const { receiver, pass, ids } = ignoring();
    const outcome = watch(receiver.handle(stored(emails("a", "b"))));
    await pass(1_500);
    expect([outcome.ended, ids()]).toEqual([false, ["a", "b"]]);
    await pass(1_500);
    expect(outcome.error).toMatchObject({ code: "handle-failed" });
    expect((outcome.error as { cause: AggregateError }).cause.errors).toMatchObject([
      { code: "handler-stuck", cause: { code: "handler-timeout" }, fix: expect.stringContaining("ctx.signal") },
      { code: "handler-stuck" },
    ]);
    expect(receiver.stats()).toMatchObject({ failed: 2, succeeded: 0 });
  });

  test("keeps its lane: what waits in it fails, and so does what comes, until it ends", async () => {
    const { handle, pass, ids, calls } = ignoring();
    handle("a");
    const behind = handle("a");
    await pass(1_500);
    expect(behind.error).toMatchObject({ cause: { code: "handler-stuck" } });
    const later = handle("a");
    await pass();
    expect(later.error).toMatchObject({ cause: { code: "handler-stuck" } });
    expect(ids()).toEqual(["a"]);
    calls[0]?.end();
    await turns();
    const after = handle("a");
    await pass();
    calls[1]?.end();
    await pass();
    expect([ids(), after]).toEqual([["a", "a"], { ended: true }]);
  });

  test("is one of `maxStuck`: beyond it no slot is given up, and a restart is asked for", async () => {
    const { receiver, handle, pass, ids, calls } = ignoring({ maxStuck: 1 });
    for (const id of ["a", "b", "c", "d"]) {
      handle(id);
      await turns();
    }
    await pass(10_000);
    expect(ids()).toEqual(["a", "b", "c"]);
    expect(await receiver.health()).toMatchObject({
      live: false,
      stuck: 3,
      problems: [toReported("stuck-limit-reached", "Now stuck: 3 handlers.")],
    });
    for (const call of calls) call.end();
    await pass();
    expect(ids()).toEqual(["a", "b", "c", "d"]);
    expect(await receiver.health()).toMatchObject({ live: true, stuck: 0, problems: [] });
  });

  test("counts together with handlers of the inbox's jobs", async () => {
    const { receiver, send, handle, pass } = ignoring({ maxStuck: 1 });
    await receiver.start();
    handle("a");
    await send(emails("b"));
    await pass(10_000);
    expect(await receiver.health()).toMatchObject({ live: false, stuck: 2 });
  });

  test("does not keep close() from ending", async () => {
    const { receiver, handle, pass } = ignoring();
    handle("a");
    const behind = handle("a");
    await pass();
    const closed = watch(receiver.close({ drainMs: 8_000 }));
    await pass(8_000);
    expect(closed.value).toMatchObject({ stuck: 1 });
    expect(behind.error).toMatchObject({ code: "handle-failed" });
  });
});

describe("a delivery that waits for its lane or a slot", () => {
  test("leaves both at its deadline, and gives its bytes back at once", async () => {
    const body = emails("a");
    const { receiver, ask, pass, calls, ids } = ignoring({
      concurrency: 1,
      timeoutMs: 0,
      graceMs: 600_000,
      maxInFlightBytes: 3 * body.length,
    });
    const answers = [ask(body), ask(body), ask(emails("b"))];
    await pass(20_000);
    expect(answers.map(({ value }) => value?.status)).toEqual([503, 503, 503]);
    expect(ids()).toEqual(["a"]);
    const next = ask(emails("c"));
    const refused = ask(emails("d").padEnd(2 * body.length));
    await pass();
    expect(receiver.stats().refused).toMatchObject({ "handlers-late": 3, "intake-full": 1 });
    expect(refused.value?.status).toBe(503);
    calls[0]?.end();
    await pass();
    expect(ids()).toEqual(["a", "c"]);
    calls[1]?.end();
    await turns();
    expect(next.value?.status).toBe(200);
  });

  test("does not begin after the receiver has aborted its handlers", async () => {
    const { receiver, handle, pass, ids, last } = ignoring({ concurrency: 1, timeoutMs: 0 });
    handle("a");
    const behind = handle("b");
    await pass();
    const closed = watch(receiver.close({ drainMs: 8_000 }));
    await pass(3_000);
    expect(behind.error).toMatchObject({ cause: { code: "closed" } });
    last().end();
    await pass();
    expect([ids(), closed.value]).toMatchObject([["a"], { done: 1, stuck: 0 }]);
  });
});
