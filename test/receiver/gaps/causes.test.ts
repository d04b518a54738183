import { describe, expect, test } from "vitest";
import { codesOf } from "../../support/health.ts";
import { bodyOf, lifecycleBody } from "../../support/make-delivery.ts";
import { emails, rig, type Rig } from "../../support/rig.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { createUnusualSilence } from "../../../src/gaps/unusual-silence.ts";
import { mail, MINUTE_MS, working } from "./support.ts";

/** An inbox that stores nothing until it is mended. @param takesOwn but what the receiver makes itself */
async function workingOnBroken({ takesOwn = false } = {}) {
  let isBroken = true;
  const inbox = stubInbox((own) => ({
    store: (deliveries) =>
      isBroken && !(takesOwn && deliveries.every(({ delivery }) => delivery.signedBy === "hookline"))
        ? Promise.reject(new Error("EIO"))
        : own.store(deliveries),
  }));
  return { ...(await working({ inbox })), mend: () => void (isBroken = false) };
}

describe("deliveries that were refused for more than ten minutes", () => {
  test("end in one call for each of their resources, once they are stored again", async () => {
    const { mend, ...own } = await workingOnBroken({ takesOwn: true });
    for (const fields of [{}, { accountId: 3003 }, { accountId: 4004 }])
      expect(await own.offer(bodyOf(fields))).toMatchObject({ status: 503 });
    await own.pass(11 * MINUTE_MS);
    mend();
    await own.send();
    await own.send(bodyOf({ accountId: 3003 }));
    await own.pass(2_000);
    const gaps = own.calls.filter(({ cause }) => cause === "gap");
    expect(new Set(gaps.map(({ accountId }) => accountId))).toEqual(new Set([2002, 3003, 4004]));
  });

  test("end so although none is stored any more: the service may have given up. Tracking waits for one", async () => {
    const { mend, ...own } = await workingOnBroken({ takesOwn: true });
    await own.offer();
    await own.offer(bodyOf({ resource: "/email/tracking", subscription: 5 }));
    await own.pass(9 * MINUTE_MS);
    expect(own.calls).toEqual([]);
    await own.pass(3 * MINUTE_MS);
    expect(own.calls).toMatchObject([{ cause: "gap" }]);
    expect(await codesOf(own.receiver)).not.toContain("gap-unlisted");
    mend();
    await own.send(bodyOf({ resource: "/email/tracking", subscription: 5 }));
    await own.pass();
    expect(await codesOf(own.receiver)).toContain("gap-unlisted");
  });

  test("are no gap of an account that was erased meanwhile", async () => {
    const { mend, ...own } = await workingOnBroken({ takesOwn: true });
    for (const fields of [{}, { accountId: 3003 }]) await own.offer(bodyOf(fields));
    await own.receiver.jobs.erase(3003);
    await own.pass(12 * MINUTE_MS);
    expect(own.calls).toMatchObject([{ cause: "gap", accountId: 2002 }]);
    mend();
  });

  test("count from the first one that was refused", async () => {
    const { mend, ...own } = await workingOnBroken();
    await own.offer();
    await own.pass(9 * MINUTE_MS);
    await own.offer();
    await own.pass(2 * MINUTE_MS);
    mend();
    await own.send();
    await own.pass(2 * MINUTE_MS);
    expect(own.calls.filter(({ cause }) => cause === "gap")).toHaveLength(1);
  });

  test("are no gap where they were stored again within ten minutes, or were never verified", async () => {
    const { mend, ...own } = await workingOnBroken();
    await own.offer();
    await own.pass(9 * MINUTE_MS);
    mend();
    await own.send();
    expect(await own.offer(bodyOf(), { at: new Date(0) })).toMatchObject({ status: 401 });
    await own.pass(20 * MINUTE_MS);
    await own.send();
    await own.pass(2_000);
    expect(own.calls.filter(({ cause }) => cause !== undefined)).toEqual([]);
  });

  test("are no gap of a subscription that was unsubscribed meanwhile, also when it is wanted again", async () => {
    const { mend, ...own } = await workingOnBroken();
    await own.offer();
    await own.receiver.unsubscribe(1001, "left");
    mend();
    await own.pass(11 * MINUTE_MS);
    await own.receiver.resubscribe(1001);
    await own.send();
    await own.pass(2_000);
    expect(own.calls.filter(({ cause }) => cause !== undefined)).toEqual([]);
  });

  test("are remembered while the inbox cannot record them", async () => {
    let isBroken = true;
    const inbox = stubInbox((own) => ({
      store: (deliveries) => (isBroken ? Promise.reject(new Error("EIO")) : own.store(deliveries)),
      ...(own.gaps && {
        gaps: {
          ...own.gaps,
          add: (gaps) => (isBroken ? Promise.reject(new Error("EIO")) : own.gaps?.add(gaps)) as never,
        },
      }),
    }));
    const own = await working({ inbox });
    await own.offer();
    await own.offer(lifecycleBody("active", { accountId: 3003 }));
    await own.pass(11 * MINUTE_MS);
    isBroken = false;
    await own.send();
    await own.pass(2 * MINUTE_MS);
    const gaps = own.calls.filter(({ cause }) => cause === "gap");
    expect(new Set(gaps.map(({ accountId }) => accountId))).toEqual(new Set([2002, 3003]));
    expect(own.log.of("gaps-failed").length).toBeGreaterThan(0);
  });
});

describe("a subscription in error", () => {
  test("ends in one call when it is active again", async () => {
    const own = await working();
    await own.send(lifecycleBody("error", { error: "invalid_grant" }));
    await own.pass(60 * MINUTE_MS);
    expect(own.calls).toEqual([]);
    await own.send(lifecycleBody("active"));
    await own.pass(1_000);
    expect(own.calls).toMatchObject([{ accountId: 2002, cause: "gap", signalled: true }]);
  });

  test("the same where the notice came while nobody worked", async () => {
    const receiving = rig();
    await receiving.send(lifecycleBody("error", { error: "invalid_grant" }));
    await receiving.send(lifecycleBody("active"));
    await receiving.receiver.close();
    const own = await working({ inbox: receiving.inbox, clock: receiving.clock });
    await own.pass(1_000);
    expect(own.calls).toMatchObject([{ cause: "gap" }]);
  });

  test("many that work again at once are one write", async () => {
    let writes = 0;
    const inbox = stubInbox((own) => ({
      ...(own.gaps && { gaps: { ...own.gaps, add: async (gaps) => ((writes += 1), await own.gaps?.add(gaps)) } }),
    }));
    const own = await working({ inbox });
    await Promise.all(
      Array.from({ length: 100 }, (_, accountId) =>
        own.send(lifecycleBody("active", { accountId, subscription: accountId })),
      ),
    );
    expect(writes).toBe(1);
    await own.pass(25_000);
    expect(own.calls).toHaveLength(100);
  });

  test("the gap is durable before the notice is: after a crash in between the notice comes again", async () => {
    const steps: string[] = [];
    const inbox = stubInbox((own) => ({
      store: (deliveries) => (steps.push("store"), own.store(deliveries)),
      ...(own.gaps && { gaps: { ...own.gaps, add: async (gaps) => (steps.push("gap"), await own.gaps?.add(gaps)) } }),
    }));
    const own = await working({ inbox });
    await own.send(lifecycleBody("error", { error: "invalid_grant" }));
    expect(steps).toEqual(["gap", "store"]);
  });
});

describe("a silence that is far longer than usual", () => {
  async function heard(own: Rig, times = 25): Promise<void> {
    for (let nth = 0; nth < times; nth += 1) {
      await own.send(emails(`m-${nth}`));
      await own.pass(30 * MINUTE_MS);
    }
  }

  test("ends in one call where one asks for it", async () => {
    const own = await working({ gaps: { silence: true } });
    await heard(own);
    own.calls.length = 0;
    await own.pass(55 * MINUTE_MS);
    expect(own.calls).toEqual([]);
    await own.pass(10 * MINUTE_MS);
    expect(own.calls).toMatchObject([{ cause: "gap" }]);
    await own.pass(30 * 60 * MINUTE_MS);
    expect(own.calls).toHaveLength(1);
  });

  test("is told once for each silence, and does not become usual by that", async () => {
    const own = await working({ gaps: { silence: true } });
    await heard(own);
    own.calls.length = 0;
    for (const calls of [1, 2]) {
      await own.pass(5 * 60 * MINUTE_MS);
      expect(own.calls.filter(({ cause }) => cause === "gap")).toHaveLength(calls);
      await own.send();
      await own.pass();
    }
  });

  test("of an account that was erased is none", async () => {
    const own = await working({ gaps: { silence: true } });
    await heard(own);
    await own.receiver.jobs.erase(2002);
    own.calls.length = 0;
    await own.pass(30 * 60 * MINUTE_MS);
    expect(own.calls).toEqual([]);
  });

  test("of a busy resource is usual for an hour", async () => {
    const own = await working({ gaps: { silence: true } });
    for (let nth = 0; nth < 25; nth += 1) await own.send(emails(`m-${nth}`));
    await own.pass(59 * MINUTE_MS);
    expect(own.calls.filter(({ cause }) => cause === "gap")).toEqual([]);
    await own.pass(3 * MINUTE_MS);
    expect(own.calls.filter(({ cause }) => cause === "gap")).toHaveLength(1);
  });

  test("is none without that option, nor before it is known what is usual", async () => {
    const own = await working();
    await heard(own);
    const young = await working({ gaps: { silence: true } });
    await heard(young, 19);
    for (const { calls, pass } of [own, young]) {
      calls.length = 0;
      await pass(30 * 60 * MINUTE_MS);
      expect(calls).toEqual([]);
    }
  });

  test("of a subscription that is forgotten is none, and of others it is, also of another source", () => {
    const silences = createUnusualSilence();
    const crm = { ...mail, source: "crm" };
    const other = { ...mail, subscription: 1002 };
    for (let nth = 0; nth < 20; nth += 1) for (const one of [mail, crm, other]) silences.heard(one, nth * MINUTE_MS);
    silences.forget(mail.subscription, "crm");
    expect(silences.found(3 * 60 * MINUTE_MS).map(({ source, subscription }) => [source, subscription])).toEqual([
      [undefined, 1001],
      [undefined, 1002],
    ]);
    for (let nth = 0; nth < 20; nth += 1) silences.heard(mail, (200 + nth) * MINUTE_MS);
    silences.forget(mail.subscription, undefined);
    expect(silences.found(24 * 60 * MINUTE_MS)).toEqual([]);
  });
});
