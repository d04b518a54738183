import type { AnyEvent } from "hookline";
import { describe, expect, test } from "vitest";
import { toStored } from "../../src/inbox/port/delivery.ts";
import { createUnauthorizedAccounts } from "../../src/receiver/health/unauthorized-accounts.ts";
import { turns } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { codesOf, problemsOf } from "../support/health.ts";
import { logRecorder } from "../support/log-recorder.ts";
import { bodyOf, change, lifecycleBody, makeDelivery, trackingBody, tracked } from "../support/make-delivery.ts";
import { emails, recordingHandler, rig, type RigOptions } from "../support/rig.ts";

const CODE = "account-unauthorized";
const DAY_MS = 86_400_000;
const HOUR_MS = 3_600_000;

/** As the client throws it. */
function unauthorized(): Error {
  return Object.assign(new Error("401"), { name: "Unauthorized", code: "service-unauthorized" });
}

/** A receiver whose handler of mails gets 401 until it is authorised again; its only attempt makes the job dead. */
async function refused(options: RigOptions = {}) {
  const own = rig({ attempts: 1, ...options });
  const state = { refuses: true };
  const { handler, seen } = recordingHandler((event: AnyEvent) => {
    if (state.refuses && event.type.startsWith("email")) throw unauthorized();
  });
  own.receiver.on(["email", "lifecycle", "tracking"], handler);
  own.receiver.on("email", () => {}, { consumer: "audit" });
  await own.receiver.start();
  await own.send();
  await own.pass();
  return { ...own, state, seen, isReported: async () => (await codesOf(own.receiver)).includes(CODE) };
}

/** It is a problem still, and a millisecond later none: a look at it asks the inbox, and the next one has the answer. */
async function expectEndsNow({ pass, isReported }: Awaited<ReturnType<typeof refused>>): Promise<void> {
  for (const expected of [true, false]) {
    await isReported();
    await pass();
    expect(await isReported()).toBe(expected);
    await pass(1);
  }
}

describe("an account whose job died of a 401", () => {
  test("stays a problem: nothing has succeeded, and nothing will run again", async () => {
    const { receiver, pass, isReported } = await refused();
    for (let day = 0; day < 10; day += 1) {
      expect(await isReported()).toBe(true);
      await pass(DAY_MS);
    }
    const [problem] = await problemsOf(receiver, CODE);
    expect(problem?.fix).toContain("hookline inbox replay --dead --account");
  });

  test("stays one while handlers succeed that were not refused: they may not call the service", async () => {
    const { receiver, send, pass, isReported } = await refused();
    await send(lifecycleBody("error", { error: "invalid_grant" }));
    await send(lifecycleBody("active"));
    await send(trackingBody(tracked(7)));
    await pass();
    expect(receiver.stats().succeeded).toBeGreaterThanOrEqual(4);
    expect(await isReported()).toBe(true);
  });

  test("is none after the replay", async () => {
    const { receiver, pass, state, seen, isReported } = await refused();
    state.refuses = false;
    expect(await receiver.jobs.replay({ state: "dead", accountId: 2002 })).toEqual({ count: 1 });
    await pass();
    expect(seen).toEqual(["m-1", "m-1"]);
    expect(await isReported()).toBe(false);
  });

  test("is none after another event of the same family was handled", async () => {
    const { send, pass, state, isReported } = await refused();
    state.refuses = false;
    await send(bodyOf({ accountId: 3003, payloads: [change("other")] }));
    expect(await isReported()).toBe(true);
    await send(bodyOf({ payloads: [change("m-2", "created")] }));
    await pass();
    expect(await isReported()).toBe(false);
  });

  test("is none once it is erased", async () => {
    const { receiver, isReported } = await refused();
    await receiver.jobs.erase(3003);
    expect(await isReported()).toBe(true);
    await receiver.jobs.erase(2002);
    expect(await isReported()).toBe(false);
  });

  test("is none a day after the last refusal where its jobs are gone: somebody dropped them", async () => {
    const all = await refused();
    const { receiver, pass } = all;
    await receiver.jobs.drop({ state: "dead" });
    await pass(DAY_MS - 1);
    await expectEndsNow(all);
  });

  test("is asked about again an hour later, because its jobs may go any time", async () => {
    const all = await refused();
    const { receiver, pass, isReported } = all;
    await pass(DAY_MS);
    await isReported();
    await pass();
    await receiver.jobs.drop({ state: "dead" });
    await pass(HOUR_MS - 1);
    await expectEndsNow(all);
  });

  test("is offered its replay by lifecycle.active, and no other account is", async () => {
    const { send, log } = await refused();
    await send(lifecycleBody("active", { accountId: 3003 }));
    await send(lifecycleBody("error", { error: "invalid_grant" }));
    expect(log.of("account-active")).toEqual([]);
    await send(lifecycleBody("active"));
    expect(log.of("account-active")).toMatchObject([
      {
        level: "warn",
        facts: { accountId: 2002, fix: expect.stringContaining("hookline inbox replay --dead --account 2002`") },
      },
    ]);
  });

  test("is not offered it after a success", async () => {
    const { send, pass, log, state } = await refused();
    state.refuses = false;
    await send(emails("m-2"));
    await pass();
    await send(lifecycleBody("active"));
    expect(log.of("account-active")).toEqual([]);
  });
});

test("where no inbox stores, another consumer's success does not end it, and the same one's does", async () => {
  const { receiver } = rig();
  let refuses = true;
  receiver.on("email", () => {
    if (refuses) throw unauthorized();
  });
  receiver.on("email", () => {}, { consumer: "audit" });
  const delivery = toStored("d-1", makeDelivery(bodyOf()));
  await expect(receiver.handle(delivery)).rejects.toThrow("1 of the delivery's");
  expect(await codesOf(receiver)).toContain(CODE);
  refuses = false;
  await receiver.handle(delivery);
  expect(await codesOf(receiver)).not.toContain(CODE);
});

describe("the list of such accounts", () => {
  const event = (accountId: number) => ({ type: "email.updated", accountId }) as never;
  const failed = { ok: false, error: unauthorized() } as const;

  test("holds the last 10,000", () => {
    const accounts = createUnauthorizedAccounts({
      jobs: () => undefined,
      clock: fakeClock(),
      log: logRecorder().logger,
    });
    for (let accountId = 1; accountId <= 10_002; accountId += 1) accounts.record(event(accountId), failed, "default");
    accounts.record(event(3), failed, "default");
    const ids = accounts.list().map(({ accountId }) => accountId);
    expect([ids.length, ids[0], ids.at(-1)]).toEqual([10_000, 4, 3]);
  });

  test("keeps an account where the inbox cannot say what it has", async () => {
    const clock = fakeClock();
    const log = logRecorder();
    const find = () => Promise.reject(new Error("the disk is gone"));
    const accounts = createUnauthorizedAccounts({ jobs: () => ({ find }), clock, log: log.logger });
    accounts.record(event(1), failed, "default");
    await clock.advance(DAY_MS);
    accounts.list();
    await turns();
    expect(accounts.list()).toHaveLength(1);
    expect(log.of("account-unknown")).toHaveLength(1);
  });

  test("reads on where a page of the inbox is empty, and asks about one account at a time", async () => {
    const clock = fakeClock();
    const asked: unknown[] = [];
    const pages = [{ jobs: [], next: "7" }, { jobs: [{}] }, { jobs: [] }];
    const find = async (query: unknown) => {
      asked.push(query);
      return pages.shift() as never;
    };
    const accounts = createUnauthorizedAccounts({ jobs: () => ({ find }), clock, log: logRecorder().logger });
    for (const accountId of [1, 2]) accounts.record(event(accountId), failed, "default");
    await clock.advance(DAY_MS);
    for (let call = 0; call < 4; call += 1) accounts.list();
    await turns();
    await turns();
    expect(asked).toMatchObject([
      { accountId: 1, after: undefined },
      { accountId: 1, after: "7" },
    ]);
    accounts.list();
    await turns();
    expect(asked.at(-1)).toMatchObject({ accountId: 2 });
    expect(accounts.list().map(({ accountId }) => accountId)).toEqual([1]);
  });
});
