import { describe, expect, onTestFinished, test, vi } from "vitest";
import { StorageError } from "../../../src/errors.ts";
import { codesOf } from "../../support/health.ts";
import { bodyOf } from "../../support/make-delivery.ts";
import { emails, rig } from "../../support/rig.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { down, gapsIn, mail, MINUTE_MS, working } from "./support.ts";

describe("when no process was there for more than ten minutes", () => {
  test("each resource gets one call that says that something may be missing", async () => {
    const before = await working();
    await before.send(emails("m-1"));
    await before.send(bodyOf({ accountId: 3003, subscription: 9 }));
    await before.pass(1_000);
    expect(before.calls).toHaveLength(2);
    const after = await down(before, 30 * MINUTE_MS);
    await after.pass(2_000);
    const call = { resource: "/email/messages", type: "email.changes", changes: [], signalled: true, cause: "gap" };
    expect(after.calls).toEqual([
      { subscription: 1001, accountId: 2002, ...call },
      { subscription: 9, accountId: 3003, ...call },
    ]);
    expect(await gapsIn(after.inbox)).toEqual([]);
    expect(after.log.of("gap-down")).toHaveLength(1);
    // What the receiver made itself was not received.
    expect(after.receiver.stats()).toMatchObject({ stored: 0, succeeded: 2 });
    await after.pass(60 * MINUTE_MS);
    expect(after.calls).toHaveLength(2);
  });

  test("it is none for a shorter time, nor with `gaps: false`", async () => {
    const before = await working();
    await before.send();
    await before.pass(9 * MINUTE_MS); // marked as it goes
    const after = await down(before, 9 * MINUTE_MS);
    await after.pass(5 * MINUTE_MS);
    expect([after.calls, await gapsIn(after.inbox)]).toEqual([[], []]);
    const unwatched = await down(after, 60 * MINUTE_MS, { gaps: false });
    await unwatched.pass(5 * MINUTE_MS);
    expect([unwatched.calls, await gapsIn(unwatched.inbox)]).toEqual([[], []]);
  });

  test("a process that only opens the inbox was not there, one that receives was", async () => {
    const before = await working();
    await before.send();
    await before.pass();
    await before.receiver.close();
    const script = rig({ inbox: before.inbox, clock: before.clock });
    await script.receiver.jobs.list();
    await script.pass(11 * MINUTE_MS);
    await script.receiver.close();
    const receiving = rig({ inbox: before.inbox, clock: before.clock });
    await receiving.send();
    await receiving.pass(11 * MINUTE_MS);
    expect(receiving.log.of("gap-down")).toHaveLength(1);
    const after = await down(receiving, 9 * MINUTE_MS);
    expect(after.log.of("gap-down")).toEqual([]);
  });

  test("a process that was suspended has such a gap, too", async () => {
    const own = await working();
    await own.send();
    own.clock.jump(11 * MINUTE_MS);
    await own.pass(MINUTE_MS);
    await own.pass();
    expect(own.calls.at(-1)).toMatchObject({ cause: "gap" });
  });

  test("one that could not store all the while might as well not have been there", async () => {
    let isFull = false;
    const error = new StorageError("disk-low", "The disk is full.");
    const inbox = stubInbox((own) => ({ ready: () => (isFull ? { ready: false, error } : own.ready()) }));
    const own = await working({ inbox });
    await own.send();
    isFull = true;
    await own.pass(15 * MINUTE_MS);
    isFull = false;
    await own.pass(2 * MINUTE_MS);
    expect(own.calls.filter(({ cause }) => cause === "gap")).toHaveLength(1);
  });

  test("none is seen on a function platform: no traffic there means no process", async () => {
    vi.stubEnv("AWS_LAMBDA_FUNCTION_NAME", "webhooks");
    onTestFinished(() => void vi.unstubAllEnvs());
    const before = await working();
    await before.send();
    const after = await down(before, 30 * MINUTE_MS);
    await after.pass(2_000);
    expect([after.log.of("gap-down"), after.clock.waiting]).toEqual([[], 0]);
  });

  test("after the end no timer is left, whatever was under way", async () => {
    const before = await working();
    for (let accountId = 1; accountId <= 20; accountId += 1) await before.send(bodyOf({ accountId }));
    await before.pass();
    const after = await down(before, 30 * MINUTE_MS);
    await after.pass(1_000);
    await after.receiver.close();
    expect(after.clock.waiting).toBe(0);
  });

  test("where many work, one of them sees to it", async () => {
    const before = await working();
    await before.send();
    await before.pass();
    let isMine = false;
    const { gaps } = before.inbox;
    const inbox = stubInbox(() => ({ ...before.inbox, ...(gaps && { gaps: { ...gaps, isMine: () => isMine } }) }));
    await before.receiver.close();
    await before.clock.advance(30 * MINUTE_MS);
    const after = await working({ inbox, clock: before.clock });
    await after.pass(5 * MINUTE_MS);
    expect(after.calls).toEqual([]);
    isMine = true;
    await after.pass(2 * MINUTE_MS);
    expect(after.calls).toHaveLength(1);
  });

  test("`afterMs` says how long is long", async () => {
    const before = await working({ gaps: { afterMs: 5_000 } });
    await before.send();
    await before.pass(5 * MINUTE_MS);
    expect(before.calls).toHaveLength(1); // marks are as close as that asks for
    const after = await down(before, 6_000, { gaps: { afterMs: 5_000 } });
    await after.pass(1_000);
    expect(after.calls).toHaveLength(1);
  });

  test("the calls come at `perSecond`, and go on after a restart", async () => {
    const before = await working({ gaps: { perSecond: 2 } });
    for (let accountId = 1; accountId <= 20; accountId += 1) await before.send(bodyOf({ accountId }));
    await before.pass();
    const after = await down(before, 30 * MINUTE_MS, { gaps: { perSecond: 2 } });
    await after.pass(4_900);
    expect(await codesOf(after.receiver)).toEqual([]); // they are on their way
    expect(after.calls).toHaveLength(10);
    const later = await down(after, 1_000, { gaps: { perSecond: 2 } });
    await later.pass(10_000);
    expect([...after.calls, ...later.calls].map(({ accountId }) => accountId)).toEqual(
      Array.from({ length: 20 }, (_, index) => index + 1),
    );
  });

  test("a call joins the changes that wait for the same resource", async () => {
    const before = await working();
    await before.send();
    await before.pass();
    const waiting = rig({ inbox: before.inbox, clock: before.clock });
    await before.receiver.close();
    await before.clock.advance(30 * MINUTE_MS);
    await waiting.send(emails("late"));
    await waiting.pass();
    await waiting.receiver.close();
    const after = await working({ inbox: before.inbox, clock: before.clock });
    await after.pass(1_000);
    const changed = after.calls.flatMap(({ changes }) => changes.map(({ id }) => id));
    expect([changed, after.calls.filter(({ cause }) => cause === "gap").length]).toEqual([["late"], 1]);
  });

  test("two subscriptions of one resource get one call, two sources get their own", async () => {
    const before = await working();
    await before.send();
    await before.send(bodyOf({ subscription: 5 }));
    await before.send(bodyOf(), { source: "crm" });
    await before.pass();
    const until = before.clock.now() + 45 * MINUTE_MS; // of a clock that was ahead
    await before.inbox.gaps?.add([{ ...mail, subscription: 5, cause: "refused", from: 0, until }]);
    const after = await down(before, 30 * MINUTE_MS);
    await after.pass(2_000);
    expect(after.calls).toHaveLength(2);
  });

  test("what is unsubscribed gets none", async () => {
    const before = await working();
    await before.send();
    await before.pass();
    await before.receiver.unsubscribe(1001, "left");
    const after = await down(before, 30 * MINUTE_MS);
    await after.pass(2_000);
    expect(after.calls).toEqual([]);
  });

  test("nor what the gate has unsubscribed", async () => {
    const before = await working();
    await before.send();
    await before.pass();
    await before.receiver.close();
    const gated = rig({ inbox: before.inbox, clock: before.clock });
    gated.receiver.unsubscribeWhen((_, unsubscribe) => unsubscribe("left"));
    expect(await gated.offer()).toMatchObject({ status: 422 });
    await gated.pass();
    const after = await down(gated, 30 * MINUTE_MS);
    await after.pass(2_000);
    expect(after.calls).toEqual([]);
  });
});
