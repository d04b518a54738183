import { createReceiver, forwardInbox } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { createErroredSubscriptions } from "../../src/inbox/errored-subscriptions.ts";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { lifecycleOf } from "../support/events.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { fastTmpdir } from "../support/fast-tmpdir.ts";
import { codesOf, problemsOf, toReported } from "../support/health.ts";
import { bodyOf, lifecycleBody, makeDelivery, signedRequest } from "../support/make-delivery.ts";
import { rig, type RigOptions } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const errored = lifecycleBody("error", { error: "invalid_grant" });
const active = lifecycleBody("active");
const CODE = "subscription-errored";

describe("an errored subscription is a problem", () => {
  test("with the service's words until `active` comes, although a handler took the notice", async () => {
    const { receiver, send } = await working();
    await send(errored);
    expect(await receiver.health()).toMatchObject({
      live: true,
      ready: true,
      problems: [toReported(CODE, "Subscription 1001 (/email/messages of account 2002): invalid_grant")],
    });
    await send(active);
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("also without a handler of such notices", async () => {
    const { receiver, send } = rig();
    await receiver.start();
    await send(errored);
    await send(active);
    await send(lifecycleBody("error", { subscription: 7 }));
    expect(await problemsOf(receiver, CODE)).toEqual([
      toReported(CODE, "Subscription 7 (/email/messages of account 2002): no reason given"),
    ]);
  });

  test("each by itself: by its number, its resource and its source", async () => {
    const { receiver, send } = await working();
    await send(errored);
    await send(errored, { source: "shop" });
    await send(lifecycleBody("error", { error: "gone", resource: "/contacts" }));
    await send(active);
    await send(lifecycleBody("active", { resource: "/contacts" }), { source: "shop" });
    expect(await problemsOf(receiver, CODE)).toEqual([
      toReported(CODE, "Subscription 1001 (/email/messages of account 2002, source shop): invalid_grant"),
      toReported(CODE, "Subscription 1001 (/contacts of account 2002): gone"),
    ]);
  });

  test("once, with the newest text, however often it is reported", async () => {
    const { receiver, send } = await working();
    await send(errored);
    await send(lifecycleBody("error", { error: "revoked" }));
    expect((await problemsOf(receiver, CODE)).map(({ message }) => message)).toEqual([
      expect.stringContaining(": revoked"),
    ]);
  });

  test("not when its notice is older than the `active` that came before it, and the other way round", async () => {
    const { receiver, send, clock } = await working();
    const earlier = new Date(clock.now() - 60_000);
    await send(active);
    await send(errored, { at: earlier });
    expect(await codesOf(receiver)).toEqual([]);
    await send(errored);
    await send(active, { at: earlier });
    expect(await codesOf(receiver)).toEqual([CODE]);
  });

  test("not any more when a tombstone is put: no `active` will come", async () => {
    const { receiver, send } = await working();
    for (const source of ["a", "b"]) await send(errored, { source });
    await receiver.unsubscribe(1002, "another");
    expect(await codesOf(receiver)).toEqual([CODE, CODE]);
    await receiver.unsubscribe(1001, "left", { source: "a" });
    expect(await codesOf(receiver)).toEqual([CODE]);
    await receiver.unsubscribe(1001, "left");
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("not any more when a handler unsubscribed it; that of a source stays where the handler's mount has none", async () => {
    const { receiver, send, pass } = rig({ gaps: false });
    receiver.on("lifecycle.error", (_, ctx) => ctx.source ?? ctx.unsubscribe("left"));
    await receiver.start();
    for (const how of [{ source: "a" }, {}]) await send(errored, how);
    await pass();
    expect(await problemsOf(receiver, CODE)).toMatchObject([{ message: expect.stringContaining("source a") }]);
  });

  test("not any more when the one of a mount without a source is unsubscribed", async () => {
    const { receiver, send } = await working();
    await send(errored);
    await receiver.unsubscribe(1001, "left", { source: "a" });
    expect(await codesOf(receiver)).toEqual([CODE]);
    await receiver.unsubscribe(1001, "left", { source: "" });
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("not any more when the gate answered 422", async () => {
    const { receiver, send, offer } = await working();
    let wanted = true;
    receiver.unsubscribeWhen((_delivery, unsubscribe) => (wanted ? undefined : unsubscribe("left")));
    await send(errored);
    expect(await codesOf(receiver)).toEqual([CODE]);
    wanted = false;
    expect(await offer(bodyOf())).toMatchObject({ status: 422 });
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("in the process that handles what a queue of the user's stored", async () => {
    const clock = fakeClock();
    const receiver = createReceiver({ secret: "s", inbox: forwardInbox(async () => {}), clock, log: false });
    receiver.on("lifecycle", () => {});
    await receiver.handle(toStored("d-1", makeDelivery(errored)));
    expect(await codesOf(receiver)).toEqual([CODE]);
    await receiver.handle(toStored("d-2", makeDelivery(active)));
    expect(await codesOf(receiver)).toEqual([]);
  });

  test("ten are listed, the others counted", async () => {
    const { receiver, send } = await working();
    for (let subscription = 1; subscription <= 12; subscription += 1)
      await send(lifecycleBody("error", { subscription }));
    const problems = await problemsOf(receiver, CODE);
    expect(problems).toHaveLength(11);
    expect(problems.at(-1)).toEqual(toReported(CODE, "So it is with 2 more."));
  });
});

describe("an errored subscription in a file is reported", () => {
  const SECRET = "a signing secret";
  const file = () => {
    const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    return join(folder, "inbox.db");
  };
  const open = (path: string) => {
    const clock = fakeClock();
    const receiver = createReceiver({
      secret: SECRET,
      inbox: sqliteInbox(path, { minFreeDiskBytes: 0 }),
      clock,
      log: false,
      gaps: false,
    });
    receiver.on("lifecycle", () => {});
    onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
    return {
      receiver,
      async send(body: string): Promise<void> {
        const reply = await receiver.receive(signedRequest(body, { secret: SECRET, at: clock.date() }));
        expect(reply).toMatchObject({ status: 200 });
      },
      tells: (codes: readonly string[]) => eventually(async () => expect(await codesOf(receiver)).toEqual(codes)),
    };
  };

  test("after a restart too, until `active` comes; by a process that only receives as well", async () => {
    const path = file();
    const before = open(path);
    await before.receiver.start();
    await before.send(errored);
    await before.tells([CODE]);
    await before.receiver.close();
    const [after, web] = [open(path), open(path)];
    await after.receiver.start();
    expect(await problemsOf(after.receiver, CODE)).toEqual([
      toReported(CODE, "Subscription 1001 (/email/messages of account 2002): invalid_grant"),
    ]);
    await web.tells([CODE]);
    await web.send(active);
    await after.tells([]);
    await web.tells([]);
  });

  test("with no more than 2,000 characters of the service's words, and how many there were", async () => {
    const { receiver, send, tells } = open(file());
    await receiver.start();
    await send(lifecycleBody("error", { error: "x".repeat(500_000) }));
    await tells([CODE]);
    const [problem] = await problemsOf(receiver, CODE);
    expect(problem?.message).toMatch(/: x{2000}… \(of 500000 characters\)$/);
    await receiver.unsubscribe(1001, "left");
    await tells([]);
  });
});

test("an inbox that fails to list them prevents no 422, no unsubscribe() and no health()", async () => {
  const fail = (): never => {
    throw new Error("the adapter is broken");
  };
  const { receiver, offer, log } = rig({
    inbox: stubInbox((own) => ({ subscriptions: { ...own.subscriptions, errored: fail } })),
  });
  await receiver.unsubscribe(1001, "its account is gone");
  expect(await offer(errored)).toMatchObject({ status: 422 });
  expect(await receiver.health()).toMatchObject({ ready: true, problems: [] });
  expect(log.of("subscriptions-failed")).not.toEqual([]);
});

describe("what is known of subscriptions is bounded:", () => {
  const error = lifecycleOf("error") as Parameters<ReturnType<typeof createErroredSubscriptions>["record"]>[0];
  const works = lifecycleOf("active") as typeof error;
  const from = { source: undefined, sentAt: 1 };

  test("those that work are forgotten first, then the oldest in trouble", () => {
    const ledger = createErroredSubscriptions(3);
    const heard = (notice: typeof error, subscription: number): void =>
      ledger.record({ ...notice, subscription }, from);
    const told = (): readonly number[] => ledger.list().map(({ subscription }) => subscription);
    heard(error, 1);
    heard(works, 2);
    heard(error, 3);
    heard(error, 4);
    expect(told()).toEqual([1, 3, 4]);
    heard(error, 5);
    expect(told()).toEqual([3, 4, 5]);
  });

  test("one that works takes no place from one in trouble", () => {
    const ledger = createErroredSubscriptions(1);
    ledger.record({ ...error, subscription: 1 }, from);
    ledger.record({ ...works, subscription: 2 }, from);
    expect(ledger.list()).toMatchObject([{ subscription: 1 }]);
    ledger.record({ ...works, subscription: 1 }, from);
    expect(ledger.list()).toEqual([]);
  });

  test("a thousand of them by default", () => {
    const ledger = createErroredSubscriptions();
    for (let subscription = 0; subscription < 1_001; subscription += 1) ledger.record({ ...error, subscription }, from);
    expect(ledger.list()).toHaveLength(1_000);
  });
});

/** One that works on what it receives, and whose deliveries are expanded before they are answered. */
async function working(options?: RigOptions) {
  const own = rig({ gaps: false, ...options });
  own.receiver.on(["lifecycle", "email"], () => {});
  await own.receiver.start();
  await own.pass();
  return {
    ...own,
    send: async (...given: Parameters<typeof own.send>) => {
      await own.send(...given);
      await own.pass();
    },
  };
}
