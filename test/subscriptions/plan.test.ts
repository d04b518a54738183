import fc from "fast-check";
import { isHooklineError, type Id } from "hookline";
import { NotFound, Unauthorized, type ServiceError } from "hookline/client";
import { planSubscriptions, type Desired } from "hookline/subscriptions";
import { describe, expect, test } from "vitest";
import { takeTurns } from "./take-turns.ts";
import { clientsOf, EVENTS, MAIL, startWorld } from "./support.ts";

describe("a plan", () => {
  test("says what to create and changes nothing; applied, it creates that, and applied again nothing", async () => {
    const { clientOf, desired, existing, emulator, receiver, url } = await startWorld();
    await emulator.subscribe(await emulator.account(), MAIL, url); // another account's
    const all = [desired(), desired(EVENTS)];
    const plan = await planSubscriptions(all, { client: clientOf });
    expect(plan).toMatchObject({ create: all, remove: [], keep: [], failed: [] });
    expect(existing()).toEqual([`${MAIL} ${url}`]);

    await plan.apply();
    const applied = [`${MAIL} ${url}`, `${MAIL} ${url}`, `${EVENTS} ${url}`];
    expect(existing()).toEqual(applied);
    const answered = () => receiver.stats().answered;
    const before = answered();
    await plan.apply();
    expect(answered()).toEqual(before);
    const next = await planSubscriptions(all, { client: clientOf });
    expect(next).toMatchObject({ create: [], remove: [], keep: [{ id: 1002 }, { id: 1003 }] });
    await next.apply();
    expect(existing()).toEqual(applied);
  });

  test("takes an account by the text of its number, and one that is desired twice once", async () => {
    const { clientOf, desired, existing, account } = await startWorld();
    const text = String(account.accountId) as unknown as Id;
    const asked: unknown[] = [];
    const client = (accountId: Id) => {
      asked.push(accountId);
      return clientOf(accountId);
    };
    const plan = await planSubscriptions([desired(MAIL, { accountId: text }), desired()], { client });
    await plan.apply();
    expect(existing()).toHaveLength(1);
    expect(new Set(asked)).toEqual(new Set([account.accountId]));
  });

  test.each([
    ["/calendars/a%40b/events", "/calendars/a@b/events"],
    ["/email/messages/", "/email/messages"],
    ["/tasklists/default/tasks", "/tasklists/%64efault/tasks"],
  ])("finds the resource %s under the name %s", async (had, wanted) => {
    const { clientOf, desired, emulator, account, url } = await startWorld();
    await emulator.subscribe(account, had, url);
    expect(await planSubscriptions([desired(wanted)], { client: clientOf })).toMatchObject({ create: [], keep: [{}] });
  });

  test.each([
    ["/email/messages", "/email/tracking"],
    ["/calendars/a/events", "/calendars/A/events"],
    ["/calendars/a%2Fevents/events", "/calendars/a/events/events"],
  ])("does not take the resource %s for %s", async (had, wanted) => {
    const { clientOf, desired, emulator, account, url } = await startWorld();
    await emulator.subscribe(account, had, url);
    const plan = await planSubscriptions([desired(wanted)], { client: clientOf });
    expect(plan.create).toHaveLength(1);
  });

  test("finds a URL however its host is written, and no other path, query or port", async () => {
    const { clientOf, desired, emulator, account, url } = await startWorld();
    await emulator.subscribe(account, MAIL, url);
    const create = async (notificationUrl: string) =>
      (await planSubscriptions([desired(MAIL, { notificationUrl })], { client: clientOf })).create;
    const { port } = new URL(url);
    for (const same of [url.replace("http", "HTTP"), `${url}#top`, url.replace("127.0.0.1", "127.1")])
      expect(await create(same), same).toEqual([]);
    for (const other of [`${url}/`, `${url}?a=1`, url.replace(port, "1")])
      expect(await create(other), other).toHaveLength(1);
  });

  test("keeps one that does not work now: another one would not either", async () => {
    const { clientOf, desired, emulator, account, url } = await startWorld();
    await emulator.subscribe(account, MAIL, url);
    await account.expireCredentials();
    const plan = await planSubscriptions([desired()], { client: clientOf });
    expect(plan).toMatchObject({ create: [], keep: [{ id: 1001 }] });
  });

  test("takes one with another detail level for another one, and any where none is named", async () => {
    const { clientOf, desired, existing, url } = await startWorld();
    const apply = async (detailLevel: Desired["detailLevel"], prune = false) =>
      (await planSubscriptions([desired(MAIL, { detailLevel })], { client: clientOf, prune })).apply();
    await apply("status");
    await apply(undefined);
    expect(existing()).toEqual([`${MAIL} ${url}`]);
    await apply("signal");
    expect(existing()).toHaveLength(2);
    await apply("signal", true);
    expect(existing()).toHaveLength(1);
    const plan = await planSubscriptions([desired(MAIL, { detailLevel: "signal" })], { client: clientOf });
    expect(plan.create).toEqual([]);
  });
});

describe("without `prune` nothing is deleted; with it", () => {
  test("what leads to a desired URL and is not desired goes, and all but the oldest of equal ones", async () => {
    const { clientOf, desired, existing, emulator, account, url } = await startWorld();
    const elsewhere = `${url}?env=staging`;
    for (const [resource, to] of [
      [MAIL, url],
      [MAIL, url],
      [EVENTS, url],
      [MAIL, elsewhere],
    ] as const)
      await emulator.subscribe(account, resource, to);
    await emulator.subscribe(await emulator.account(), EVENTS, url); // of an account that is not desired

    await (await planSubscriptions([desired()], { client: clientOf })).apply();
    expect(existing()).toHaveLength(5);
    const plan = await planSubscriptions([desired()], { client: clientOf, prune: true });
    expect(plan.keep).toMatchObject([{ id: 1001, resource: MAIL }]);
    expect(plan.remove.map(({ id }) => id)).toEqual([1002, 1003]);
    await plan.apply();
    await plan.apply(); // those are gone already
    expect(emulator.subscriptions.map(({ id }) => id)).toEqual([1001, 1004, 1005]);
  });

  test("nothing of an account goes where what is to replace it could not be created", async () => {
    const { emulator, account, desired, url } = await startWorld();
    await emulator.subscribe(account, MAIL, url);
    const client = clientsOf(emulator, [account], {
      fetch: async (input, init) =>
        init?.method === "POST" ? new Response("{}", { status: 403 }) : fetch(input, init),
    });
    const plan = await planSubscriptions([desired(MAIL, { detailLevel: "signal" })], { client, prune: true });
    expect(plan).toMatchObject({ create: [{}], remove: [{ id: 1001 }] });
    await expect(plan.apply()).rejects.toMatchObject({ code: "subscriptions-failed" });
    expect(emulator.subscriptions).toMatchObject([{ id: 1001 }]);
  });
});

describe("two processes that apply at the same time", () => {
  test("leave one subscription of each, whoever comes first", async () => {
    const { emulator, account, desired, existing, url } = await startWorld();
    const turn = fc.tuple(fc.nat({ max: 2 }), fc.integer({ min: 1, max: 12 }));
    const apply = async (wait: () => Promise<void>): Promise<void> => {
      const client = clientsOf(emulator, [account], {
        async fetch(...request) {
          await wait();
          const answer = await fetch(...request);
          await wait();
          return answer;
        },
      });
      await (await planSubscriptions([desired(), desired(EVENTS)], { client })).apply();
    };
    await fc.assert(
      fc
        .asyncProperty(fc.array(turn, { maxLength: 8 }), fc.integer({ min: 2, max: 3 }), async (turns, processes) => {
          await takeTurns(
            turns,
            Array.from({ length: processes }, () => apply),
          );
          expect(existing().toSorted()).toEqual([`${EVENTS} ${url}`, `${MAIL} ${url}`]);
        })
        .afterEach(() => clear(emulator, account)),
      { numRuns: 40 },
    );
  });
});

describe("a failure", () => {
  test("of one account leaves the others as desired, and names each", async () => {
    const { emulator, account, url, existing } = await startWorld();
    const other = await emulator.account();
    const client = clientsOf(emulator, [account]);
    const all = [other, account].map(({ accountId }) => ({ accountId, resource: MAIL, notificationUrl: url }));
    const plan = await planSubscriptions(all, { client });
    expect(plan.failed).toMatchObject([{ accountId: other.accountId, error: expect.any(Unauthorized) }]);
    const error: unknown = await plan.apply().catch((thrown: unknown) => thrown);
    expect(isHooklineError(error, "subscriptions-failed")).toBe(true);
    expect(error).toMatchObject({
      message: expect.stringContaining(`Account ${other.accountId}: GET /v1/subscriptions: the service answered 401`),
      cause: expect.any(Unauthorized),
    });
    expect(existing()).toEqual([`${MAIL} ${url}`]);
  });

  test("to create is none where the subscription is there in the end: its answer was lost", async () => {
    const { emulator, account, desired, existing } = await startWorld();
    const client = clientsOf(emulator, [account], {
      async fetch(input, init) {
        const answer = await fetch(input, init);
        if (init?.method === "POST") throw new TypeError("the connection was cut");
        return answer;
      },
    });
    await (await planSubscriptions([desired()], { client })).apply();
    expect(existing()).toHaveLength(1);
  });

  test("to delete is reported, unless it is gone already", async () => {
    const { emulator, account, desired, url } = await startWorld();
    await emulator.subscribe(account, EVENTS, url);
    const failing = (status: number) =>
      clientsOf(emulator, [account], {
        fetch: async (input, init) => (init?.method === "DELETE" ? new Response("{}", { status }) : fetch(input, init)),
      });
    const apply = async (status: number) =>
      (await planSubscriptions([desired()], { client: failing(status), prune: true })).apply();
    await apply(404);
    const error = (await apply(403).catch((thrown: unknown) => thrown)) as { readonly cause: ServiceError };
    expect(error.cause.code).toBe("service-forbidden");
    expect(error.cause).not.toBeInstanceOf(NotFound);
  });
});

describe("what is desired is checked:", () => {
  const good = { accountId: 1, resource: MAIL, notificationUrl: "https://example.com/webhooks" };
  test.each([
    [{ ...good, accountId: "x" }, "desired[1].accountId a text, expected the number of an account"],
    [{ ...good, resource: "email" }, 'desired[1].resource a text, expected a path that begins with "/"'],
    [{ ...good, notificationUrl: "example.com" }, "desired[1].notificationUrl a text, expected a URL"],
    [{ ...good, detailLevel: "all" }, 'desired[1].detailLevel a text, expected "status" or "signal"'],
    [null, "desired[1].accountId undefined"],
  ])("%o", async (one, message) => {
    const plan = planSubscriptions([good, one as unknown as Desired], { client: () => expect.unreachable() });
    await expect(plan).rejects.toMatchObject({ code: "option-invalid", message: expect.stringContaining(message) });
  });

  test("a list, a function, no unknown option", async () => {
    const client = () => expect.unreachable();
    for (const [desired, options] of [
      [good, { client }],
      [[], {}],
      [[], { client, prun: true }],
      [[], { client, prune: "yes" }],
    ])
      await expect(
        planSubscriptions(desired as readonly Desired[], options as { client: never }),
      ).rejects.toMatchObject({
        code: "option-invalid",
      });
  });
});

async function clear(
  { url, subscriptions }: Parameters<typeof clientsOf>[0] & { readonly subscriptions: readonly { id: Id }[] },
  account: { readonly accountId: Id; readonly token: string },
): Promise<void> {
  const client = await clientsOf({ url }, [account])(account.accountId);
  for (const { id } of subscriptions) await client.subscriptions.delete(id);
}
