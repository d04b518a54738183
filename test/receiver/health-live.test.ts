import { expect, test } from "vitest";
import { completionOf, type Transactional } from "hookline/adapter";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { emails, rig, type Rig } from "../support/rig.ts";
import { stubInbox } from "../support/stub-inboxes.ts";

const refuse = (): Promise<never> => Promise.reject(new Error("connection refused"));
const hang = (): Promise<never> => new Promise(() => {});

/** A started receiver on an inbox with some verbs replaced, which got an e-mail. */
async function started(verbs: Partial<WorkingInbox<"memory">>): Promise<Rig> {
  const all = rig({ inbox: stubInbox(() => verbs), gaps: false });
  all.receiver.on("email", (_, ctx) => completionOf(ctx)?.complete({ query: async () => ({ rows: [] }) }));
  await all.receiver.start();
  void all.offer(emails("a"));
  return all;
}

async function seen({ receiver }: Rig) {
  const { live, problems } = await receiver.health();
  return { live, standsStill: problems.some(({ code }) => code === "no-progress") };
}

test.each<[string, Partial<WorkingInbox<"memory">>]>([
  ["claim", { claim: refuse }],
  ["settle", { settle: refuse }],
])("an inbox that answers each %s with an error is shown, and asks for no restart", async (_, verbs) => {
  const all = await started(verbs);
  await all.pass(20_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: true });
  await all.pass(600_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: true });
});

test.each<[string, Partial<WorkingInbox<"memory">>]>([
  ["claim", { claim: hang }],
  ["settle", { settle: hang }],
  ["question for a transaction", { transactional: transactional({ isCompleted: hang }) }],
])("an inbox that answers no %s is shown, and after a minute asks for a restart", async (_, verbs) => {
  const all = await started(verbs);
  await all.pass(20_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: true });
  await all.pass(60_000);
  expect(await seen(all)).toEqual({ live: false, standsStill: true });
});

test("a transaction of which the inbox never says whether it was committed is shown", async () => {
  const all = await started({ transactional: transactional({ isCompleted: refuse }) });
  await all.pass(20_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: true });
});

test("a transaction that stays open is shown as such, and asks for no restart", async () => {
  let isOpen = true;
  const isCompleted = (): Promise<boolean | undefined> =>
    new Promise((resolve) => void all.clock.setTimer(() => resolve(isOpen ? undefined : true), 250));
  const all: Rig = await started({ transactional: transactional({ isCompleted }) });
  await all.pass(20_000);
  const { problems } = await all.receiver.health();
  expect(problems.find(({ code }) => code === "no-progress")?.message).toContain("its transaction is still open");
  await all.pass(600_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: true });
  isOpen = false;
  await all.pass(1_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: false });
  expect(all.receiver.stats()).toMatchObject({ succeeded: 1 });
});

test("a transaction that is answered for after a while is shown no more", async () => {
  let asked = 0;
  const isCompleted = (): Promise<boolean> => ((asked += 1) < 30 ? refuse() : Promise.resolve(true));
  const all = await started({ transactional: transactional({ isCompleted }) });
  await all.pass(20_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: true });
  await all.pass(20_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: false });
});

test("one store that is never answered asks for no restart while nothing else is to be stored", async () => {
  const all = await started({ store: hang });
  await all.pass(30_000);
  expect(await seen(all)).toEqual({ live: true, standsStill: true });
  await all.pass(600_000);
  expect((await seen(all)).live).toBe(true);
});

test("stores of which none is answered, one after another, ask for a restart", async () => {
  const all = await started({ store: hang });
  for (let minute = 0; minute < 3; minute += 1) {
    void all.offer(emails("b"));
    await all.pass(60_000);
  }
  expect(await seen(all)).toEqual({ live: false, standsStill: true });
});

function transactional({ isCompleted }: Pick<Transactional, "isCompleted">): Transactional {
  return { complete: async () => {}, isCompleted };
}
