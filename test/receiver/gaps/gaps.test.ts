import { createReceiver, forwardInbox, memoryInbox, type AnyEvent, type RawRequest, type Reply } from "hookline";
import { describe, expect, test } from "vitest";
import { turns } from "../../support/event-loop.ts";
import { codesOf, problemsOf } from "../../support/health.ts";
import { bodyOf, lifecycleBody, signedRequest } from "../../support/make-delivery.ts";
import { emails, rig, type Rig } from "../../support/rig.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { gapsIn, mail, MINUTE_MS, working } from "./support.ts";

const tracked = (fields: object = {}): string => bodyOf({ resource: "/email/tracking", ...fields });

describe("health()", () => {
  async function outage(prepare: (own: Rig) => void): Promise<Rig> {
    const before = await working();
    await before.send();
    await before.send(tracked({ subscription: 5 }));
    await before.send(tracked({ subscription: 6, accountId: 3003 }));
    await before.pass();
    await before.receiver.close();
    await before.clock.advance(30 * MINUTE_MS);
    const after = rig({ inbox: before.inbox, clock: before.clock });
    prepare(after);
    await after.receiver.start();
    await after.pass(2_000);
    return after;
  }

  test("tells of tracking until it is cleared, and where it can be looked through", async () => {
    const { receiver, inbox, pass } = await outage((own) => own.receiver.on("email.changes", () => {}));
    expect(await problemsOf(receiver, "gap-unlisted")).toEqual([
      expect.objectContaining({
        message: expect.stringMatching(
          /It is 2 resources of tracking, since 2026-05-06T07:08:09.000Z until 2026-\S+Z\.$/,
        ),
        fix: expect.stringMatching(
          /`trackingOf\(client\)\.events\(\{ from: "2026-05-06T07:08:09.000Z" \}\)`.*hookline inbox gaps clear --family tracking/,
        ),
      }),
    ]);
    expect(await codesOf(receiver)).not.toContain("gap-unhandled");
    await inbox.gaps?.remove((await gapsIn(inbox)) ?? []);
    await pass(2 * MINUTE_MS);
    expect(await codesOf(receiver)).not.toContain("gap-unlisted");
  });

  test("tells of what no `.changes` handler fetches; a handler of signals gets nothing that was never sent", async () => {
    const events: AnyEvent[] = [];
    const { receiver } = await outage((own) =>
      own.receiver.on(["email.signal", "email.created", "*"], (event) => void events.push(event)),
    );
    expect(await problemsOf(receiver, "gap-unhandled")).toEqual([
      expect.objectContaining({
        message: expect.stringContaining("It is 1 resource of email, since"),
        fix: expect.stringContaining('receiver.on("email.changes", handler)'),
      }),
    ]);
    expect(events.filter(({ type }) => type === "email.signal")).toEqual([]);
  });

  test("tells nothing of it in a process that only receives", async () => {
    const { receiver } = await outage(() => {});
    expect(await codesOf(receiver)).not.toContain("gap-unhandled");
  });
});

test("consumers without `.changes` get no call of a gap, those with one get it each", async () => {
  const before = await working();
  await before.send();
  await before.pass();
  await before.receiver.close();
  await before.clock.advance(30 * MINUTE_MS);
  const after = rig({ inbox: before.inbox, clock: before.clock });
  const called: string[] = [];
  after.receiver.on("email.changes", () => void called.push("sync"));
  after.receiver.on("email.changes", () => void called.push("search"), { consumer: "search" });
  after.receiver.on("email.signal", () => void called.push("signal"), { consumer: "other" });
  await after.receiver.start();
  await after.pass(2_000);
  expect(called).toEqual(["sync", "search"]);
});

test("a job of a gap can be listed and replayed like any other", async () => {
  const inbox = memoryInbox();
  const before = await working({ inbox });
  await before.send();
  await before.pass();
  await before.receiver.close();
  await before.clock.advance(30 * MINUTE_MS);
  const after = rig({ inbox, clock: before.clock });
  const calls: AnyEvent[] = [];
  after.receiver.on(
    "email.changes",
    (event, ctx) => {
      calls.push(event);
      if (ctx.attempt === 1 && ctx.replayOf === undefined) throw new Error("no");
    },
    { attempts: 1 },
  );
  await after.receiver.start();
  await after.pass(1_000);
  const { jobs } = await after.receiver.jobs.list({ state: "dead" });
  expect(jobs).toMatchObject([{ event: { type: "email.signal", cause: "gap", accountId: 2002 } }]);
  await after.receiver.jobs.replay({ state: "dead" });
  await turns();
  await after.pass();
  expect(calls).toMatchObject([{ cause: "gap" }, { cause: "gap" }]);
});

describe("the option `gaps`", () => {
  test.each([
    [{ afterMs: 999 }, "gaps.afterMs 999"],
    [{ perSecond: 0 }, "gaps.perSecond 0"],
    [{ silence: "yes" }, "gaps.silence"],
    [{ after: 1 }, '"after"'],
    [true, "gaps"],
  ])("%j is refused", (gaps, named) => {
    expect(() => createReceiver({ secret: "s", inbox: memoryInbox(), gaps: gaps as never })).toThrow(named);
  });

  test("is refused with an inbox that only forwards; false is fine", () => {
    const inbox = forwardInbox(async () => {});
    expect(() => createReceiver({ secret: "s", inbox, gaps: {} })).toThrow(/an inbox that cannot record them/);
    createReceiver({ secret: "s", inbox, gaps: false });
  });
});

test("resources are told to the inbox once a day, not with each delivery", async () => {
  const told: unknown[] = [];
  const inbox = stubInbox((own) => ({
    ...(own.gaps && {
      gaps: {
        ...own.gaps,
        seen: async (resources, at) => (told.push(...resources), await own.gaps?.seen(resources, at)),
      },
    }),
  }));
  const own = await working({ inbox });
  for (let nth = 0; nth < 50; nth += 1) await own.send(emails(`m-${nth}`));
  await own.pass();
  expect(told).toEqual([mail]);
  await own.pass(24 * 60 * MINUTE_MS);
  await own.send();
  await own.pass();
  expect(told).toEqual([mail, mail]);
});

test("a subscription that is wanted again is told again, and only in the source that was unsubscribed", async () => {
  const own = await working();
  for (const source of ["crm", "shop"]) await own.send(bodyOf(), { source });
  await own.receiver.unsubscribe(1001, "left", { source: "crm" });
  await own.pass();
  expect(await own.inbox.gaps?.resourcesOf(1001, undefined)).toEqual([{ ...mail, source: "shop" }]);
  await own.receiver.resubscribe(1001, { source: "crm" });
  await own.send(bodyOf(), { source: "crm" });
  await own.pass();
  expect(await own.inbox.gaps?.resourcesOf(1001, "crm")).toHaveLength(1);
});

test.each([
  ["contact", "/contacts"],
  ["task", "/tasklists/default/tasks"],
] as const)("a gap of a %s resource ends in one call of its `.changes` handler", async (family, resource) => {
  const calls: AnyEvent[] = [];
  const before = rig();
  await before.receiver.start();
  await before.send(bodyOf({ resource, subscription: 5 }));
  await before.pass();
  await before.receiver.close();
  await before.clock.advance(30 * MINUTE_MS);
  const after = rig({ inbox: before.inbox, clock: before.clock });
  after.receiver.on(`${family}.changes`, (event) => void calls.push(event));
  await after.receiver.start();
  await after.pass(2 * MINUTE_MS);
  expect(calls.filter(({ type }) => type === `${family}.changes`)).toContainEqual(
    expect.objectContaining({ resource, signalled: true, cause: "gap" }),
  );
  expect(calls.filter((event) => (event as { readonly cause?: string }).cause === "gap")).toHaveLength(1);
  expect(await codesOf(after.receiver)).not.toContain("gap-unlisted");
  expect(await gapsIn(before.inbox)).toEqual([]);
});

test("a gap of bookings names the calendar to look through", async () => {
  const own = await working();
  await own.send(lifecycleBody("active", { resource: "/booking/31" }));
  await own.pass();
  expect(await problemsOf(own.receiver, "gap-unlisted")).toEqual([
    expect.objectContaining({
      fix: expect.stringMatching(/calendar of the profile has them: `calendar\("primary"\)\.events`.*--family booking/),
    }),
  ]);
});

test("a resource that is not known is a gap that nobody can fetch", async () => {
  const own = await working();
  await own.send(lifecycleBody("active", { resource: "/notes" }));
  await own.pass();
  expect(await gapsIn(own.inbox)).toMatchObject([{ resource: "/notes", family: "unknown" }]);
  expect(await codesOf(own.receiver)).toContain("gap-unlisted");
});

test("what handlers refuse before the answer is no gap: they want to have it again", async () => {
  const own = rig({ secret: "shh" });
  own.receiver.on("email", () => {
    throw new Error("no");
  });
  const ask = async (how?: object): Promise<number> => {
    const request = signedRequest(bodyOf(), { secret: "shh", at: own.clock.date() });
    const { receive } = own.receiver as { receive(request: RawRequest, how?: object): Promise<Reply> };
    return (await receive(request, how)).status;
  };
  expect(await ask({ answer: "after-handlers", timeoutMs: 1_000 })).toBe(503);
  await own.pass(11 * MINUTE_MS);
  await own.receiver.start();
  expect(await ask()).toBe(200);
  await own.pass();
  expect(await gapsIn(own.inbox)).toEqual([]);
});

test("an inbox whose gaps fail, whichever way, costs a line of the log and no delivery", async () => {
  const fail = (): never => {
    throw new Error("EIO");
  };
  const inbox = stubInbox((own) => ({
    ...(own.gaps && {
      gaps: { ...own.gaps, mark: fail, seen: fail, add: fail, count: fail, forget: fail, find: fail },
    }),
  }));
  const own = await working({ inbox });
  await own.send();
  await own.send(lifecycleBody("active"));
  await own.receiver.unsubscribe(1001, "left");
  await own.pass(5 * MINUTE_MS);
  expect(own.calls).toHaveLength(1);
  expect(own.log.of("gaps-failed").length).toBeGreaterThan(0);
  expect((await own.receiver.health()).ready).toBe(true);
});
