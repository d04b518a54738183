import type { Inbox } from "hookline";
import { describe, expect, test } from "vitest";
import type { Gap, Gaps, SubscribedResource } from "../../../src/inbox/port/gaps.ts";
import { createGapWriter } from "../../../src/gaps/gap-writer.ts";
import { createRefusalWindows } from "../../../src/gaps/refusal-windows.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { codesOf, problemsOf } from "../../support/health.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { bodyOf, lifecycleBody } from "../../support/make-delivery.ts";
import { emails } from "../../support/rig.ts";
import { stubInbox } from "../../support/stub-inboxes.ts";
import { gapsIn, mail, MINUTE_MS, working } from "./support.ts";

const gap = (from: number): Gap => ({ ...mail, cause: "refused", from, until: from + 1 });

/** A memory inbox with some of its verbs for gaps replaced. */
function inboxWith(change: (own: Gaps) => Partial<Gaps>): Inbox<"memory"> {
  return stubInbox((own) => ({ ...(own.gaps && { gaps: { ...own.gaps, ...change(own.gaps) } }) }));
}

describe("a gap that the inbox refuses", () => {
  function writing(refuses: (from: number) => boolean) {
    const added: number[] = [];
    const calls: number[] = [];
    const log = logRecorder();
    const clock = fakeClock();
    const add = async (gaps: readonly Gap[]): Promise<void> => {
      calls.push(gaps.length);
      if (gaps.some(({ from }) => refuses(from))) throw new Error("22021");
      added.push(...gaps.map(({ from }) => from));
    };
    return {
      added,
      calls,
      log,
      writer: createGapWriter({ seen: async () => {}, add }, { clock, log: log.logger, found() {} }),
      minute: () => clock.advance(MINUTE_MS),
    };
  }

  test.each([[[0]], [[3, 4]], [[0, 1, 4]]])("is tried again, and the others are recorded: %j", async (bad) => {
    let isBad = true;
    const { added, calls, log, writer, minute } = writing((from) => isBad && bad.includes(from));
    writer.add([0, 1, 2, 3, 4, 5, 6].map(gap));
    for (let nth = 0; nth < 3; nth += 1) await writer.flush();
    const others = [0, 1, 2, 3, 4, 5, 6].filter((from) => !bad.includes(from));
    expect(added.toSorted((a, b) => a - b)).toEqual(others);
    const before = calls.length;
    await writer.flush();
    expect(calls).toHaveLength(before); // not with each delivery
    isBad = false;
    await minute();
    await writer.flush();
    expect(added.toSorted((a, b) => a - b)).toEqual([0, 1, 2, 3, 4, 5, 6]);
    expect(log.of("gap-lost")).toEqual([]);
  });

  test("ends with an error line when others were recorded in each of several minutes", async () => {
    const { added, log, writer, minute } = writing((from) => from === 0);
    for (let nth = 0; nth < 4; nth += 1) {
      writer.add(nth === 0 ? [gap(0), gap(1)] : [gap(nth + 1)]);
      await writer.flush();
      await minute();
    }
    expect(log.of("gap-lost")).toEqual([]);
    for (let nth = 5; nth < 7; nth += 1) {
      writer.add([gap(nth)]);
      await writer.flush();
      await minute();
    }
    expect(log.of("gap-lost")).toMatchObject([{ level: "error", facts: { accountId: 2002, family: "email" } }]);
    expect(added).toEqual([1, 2, 3, 4, 5, 6]);
  });

  test("waits where nothing shows that others are taken, and does not block what comes", async () => {
    const { added, log, writer, minute } = writing((from) => from === 0);
    writer.add([gap(0)]);
    for (let nth = 0; nth < 20; nth += 1) {
      await writer.flush();
      await minute();
    }
    expect(log.of("gap-lost")).toEqual([]);
    writer.add([gap(1)]);
    await writer.flush();
    expect(added).toEqual([1]);
    expect(log.of("gap-lost")).toEqual([]);
  });

  test("is not taken for one where the storage fails: all are kept, and few calls are made", async () => {
    let isBroken = true;
    const { added, calls, log, writer } = writing(() => isBroken);
    writer.add(Array.from({ length: 2_500 }, (_, from) => gap(from)));
    await writer.flush();
    expect(calls.length).toBeLessThan(10);
    expect(log.of("gaps-failed")).toHaveLength(1);
    isBroken = false;
    await writer.flush();
    expect(added.toSorted((a, b) => a - b)).toEqual(Array.from({ length: 2_500 }, (_, from) => from));
    expect(log.of("gap-lost")).toEqual([]);
  });

  test("keeps no gap back where it is a resource that cannot be recorded", async () => {
    const added: unknown[] = [];
    const log = logRecorder();
    const inbox = {
      seen: () => Promise.reject(new Error("22021")),
      add: async (gaps: readonly Gap[]) => void added.push(...gaps),
    };
    const writer = createGapWriter(inbox, { clock: fakeClock(), log: log.logger, found() {} });
    writer.seen(mail);
    writer.add([gap(1)]);
    await writer.flush();
    expect(added).toHaveLength(1);
  });
});

test("a gap whose signal cannot be stored leaves the others their turn, and is tried again", async () => {
  let isBad = true;
  const inbox = stubInbox((own) => ({
    store: (deliveries) =>
      isBad &&
      deliveries.some(({ delivery }) => delivery.signedBy === "hookline" && Buffer.from(delivery.body).includes("2002"))
        ? Promise.reject(new Error("no"))
        : own.store(deliveries),
  }));
  const own = await working({ inbox });
  for (const accountId of [2002, 3003, 4004]) await own.send(lifecycleBody("active", { accountId }));
  await own.pass(2_000);
  expect(own.calls.map(({ accountId }) => accountId)).toEqual([3003, 4004]);
  isBad = false;
  await own.pass(2 * MINUTE_MS);
  expect(own.calls.map(({ accountId }) => accountId)).toEqual([3003, 4004, 2002]);
  expect(await gapsIn(own.inbox)).toEqual([]);
});

test("a lifecycle notice whose commit fails records its gap once, however often it is tried", async () => {
  let failures = 3;
  let added = 0;
  const inbox = stubInbox((own) => ({
    store: (deliveries) => ((failures -= 1) >= 0 ? Promise.reject(new Error("EIO")) : own.store(deliveries)),
    ...(own.gaps && {
      gaps: { ...own.gaps, add: async (gaps: readonly Gap[]) => (own.gaps?.add(gaps), void (added += gaps.length)) },
    }),
  }));
  const own = await working({ inbox });
  const notice = lifecycleBody("error", { error: "invalid_grant" });
  const at = own.clock.date();
  for (let nth = 0; nth < 3; nth += 1) expect(await own.offer(notice, { at })).toMatchObject({ status: 503 });
  await own.send(notice, { at });
  expect(added).toBe(1);
  await own.pass(1_000);
  await own.send(lifecycleBody("active"));
  await own.send(notice);
  expect(added).toBe(3);
});

test("an inbox that never answers what may be missing does not keep a notice from being stored", async () => {
  const own = await working({ inbox: inboxWith(() => ({ add: () => new Promise(() => {}) })) });
  const offered = own.offer(lifecycleBody("error", { error: "invalid_grant" }));
  await own.pass(3_000);
  expect(await offered).toMatchObject({ status: 200 });
  const next = own.offer(emails("m-2"));
  await own.pass();
  expect(await next).toMatchObject({ status: 200 });
});

describe("a 422", () => {
  /** Two mounts with a source and one without get the same number, from three applications. */
  async function three() {
    const forgotten: unknown[] = [];
    let counted = 0;
    const inbox = inboxWith((gaps) => ({
      forget: (...which) => (forgotten.push(which), gaps.forget(...which)),
      count: () => ((counted += 1), gaps.count()),
    }));
    let unwanted: string | undefined | null = null;
    const own = await working({ inbox });
    own.receiver.unsubscribeWhen(({ source }, unsubscribe) => (source === unwanted ? unsubscribe("gone") : undefined));
    return {
      ...own,
      forgotten,
      counted: () => counted,
      refuse: (source: string | undefined | null) => void (unwanted = source),
      sources: async () => ((await own.inbox.gaps?.resourcesOf(1001, undefined)) ?? []).map(({ source }) => source),
    };
  }

  test("of a mount without a source leaves what other sources have with the same number", async () => {
    const { receiver, offer, send, pass, refuse, sources } = await three();
    for (const source of [undefined, "crm"])
      await send(lifecycleBody("error", { error: "invalid_grant" }), source === undefined ? {} : { source });
    await pass();
    refuse(undefined);
    expect(await offer()).toMatchObject({ status: 422 });
    await pass();
    expect(await sources()).toContain("crm");
    expect(await problemsOf(receiver, "subscription-errored")).toContainEqual(
      expect.objectContaining({ message: expect.stringContaining("source crm") }),
    );
  });

  test("of a mount without a source forgets the subscription where no other source has its number", async () => {
    const { receiver, offer, send, pass, refuse, sources } = await three();
    await send(lifecycleBody("error", { error: "invalid_grant" }));
    await pass();
    refuse(undefined);
    await offer();
    await pass();
    expect(await sources()).toEqual([]);
    expect(await codesOf(receiver)).not.toContain("subscription-errored");
  });

  test("of a source forgets that one alone", async () => {
    const { offer, send, pass, refuse, sources } = await three();
    for (const source of ["shop", "crm"]) await send(bodyOf(), { source });
    await pass();
    refuse("crm");
    await offer(bodyOf(), { source: "crm" });
    await pass();
    expect(await sources()).toEqual(["shop"]);
  });

  test("costs a write and a count once, until the subscription is seen again", async () => {
    const { offer, send, pass, refuse, forgotten, counted } = await three();
    await send(bodyOf(), { source: "crm" });
    await pass();
    refuse("crm");
    const before = counted();
    for (let nth = 0; nth < 20; nth += 1) await offer(bodyOf(), { source: "crm" });
    await pass();
    expect([forgotten.length, counted() - before]).toEqual([1, 1]);
    refuse(null);
    await send(bodyOf(), { source: "crm" });
    refuse("crm");
    await offer(bodyOf(), { source: "crm" });
    await pass();
    expect(forgotten).toHaveLength(2);
  });
});

test("a window in which the clock went back is a gap: how long it was is not known", () => {
  const windows = createRefusalWindows(10 * MINUTE_MS);
  windows.refused(mail, undefined, 60 * MINUTE_MS);
  expect(windows.stored(mail, undefined, 30 * MINUTE_MS)).toMatchObject({
    from: 30 * MINUTE_MS,
    until: 30 * MINUTE_MS,
  });
  windows.refused(mail, undefined, 60 * MINUTE_MS);
  expect(windows.overdue(59 * MINUTE_MS)).toHaveLength(1);
  windows.refused(mail, undefined, 60 * MINUTE_MS);
  expect([windows.overdue(60 * MINUTE_MS), windows.stored(mail, undefined, 60 * MINUTE_MS)]).toEqual([[], undefined]);
});

describe("the window of what cannot be fetched", () => {
  const tracked: SubscribedResource = { ...mail, resource: "/email/tracking", family: "tracking" };

  test("is forgotten a day after its last refusal: until then each delivery is parsed for it", () => {
    const windows = createRefusalWindows(10 * MINUTE_MS);
    const day = 24 * 60 * MINUTE_MS;
    windows.refused(tracked, undefined, 0);
    windows.refused(tracked, undefined, day);
    expect(windows.overdue(2 * day)).toEqual([]);
    expect(windows.isEmpty).toBe(false);
    expect(windows.overdue(2 * day + 1)).toEqual([]);
    expect(windows.isEmpty).toBe(true);
    expect(windows.stored(tracked, undefined, 2 * day + 2)).toBeUndefined();
  });

  test("is a gap from its first refusal where it is stored before", () => {
    const windows = createRefusalWindows(10 * MINUTE_MS);
    windows.refused(tracked, undefined, 5);
    windows.refused(tracked, undefined, 7);
    windows.overdue(60 * MINUTE_MS);
    expect(windows.stored(tracked, undefined, 61 * MINUTE_MS)).toMatchObject({ from: 5, until: 61 * MINUTE_MS });
  });
});
