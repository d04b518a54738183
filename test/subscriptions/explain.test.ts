import { planSubscriptions, type Desired } from "hookline/subscriptions";
import type { Receiver } from "hookline";
import { expect, test } from "vitest";
import { serve } from "../emulator/support.ts";
import { deferred } from "../support/event-loop.ts";
import { clientsOf, deadUrl, MAIL, startReceiver, startWorld, type World } from "./support.ts";

/** Why the subscription was not created, and what to do. */
async function refusalOf({ clientOf }: World, desired: Desired, receiver?: Receiver): Promise<string> {
  const plan = await planSubscriptions([desired], { client: clientOf, receiver });
  const error = (await plan.apply().catch((thrown: unknown) => thrown)) as Error;
  expect(error).toMatchObject({
    code: "subscriptions-failed",
    cause: { code: "subscription-not-created", cause: { code: "service-bad-request", status: 400 } },
  });
  expect(error.message).toContain(
    `The service refused ${MAIL} at ${desired.notificationUrl.replace(/\?.*/, "")} with 400 (notificationUrl.notValid).`,
  );
  return error.message;
}

test("a refused handshake is explained by what this receiver was asked and answered", async () => {
  const world = await startWorld({ secret: "another" });
  expect(await refusalOf(world, world.desired(), world.receiver)).toContain(
    "This receiver answered the verification request at /webhooks with 401 (signature-wrong): The signature was not made from",
  );
});

test("an own URL that nothing listens on yet is explained", async () => {
  const world = await startWorld();
  const message = await refusalOf(world, world.desired(MAIL, { notificationUrl: await deadUrl() }), world.receiver);
  expect(message).toContain(
    "No verification request reached this receiver. From this machine the URL cannot be reached either: ECONNREFUSED.",
  );
  expect(message).toContain("create subscriptions after its server listens");
});

test("a path that the receiver is not mounted at is explained, without the URL's query", async () => {
  const world = await startWorld();
  const notificationUrl = world.url.replace("/webhooks", "/webhoks?key=hidden-key");
  const message = await refusalOf(world, world.desired(MAIL, { notificationUrl }), world.receiver);
  expect(message).toContain(
    "No verification request reached this receiver. From this machine the URL answers 404 to a request without a signature, where a receiver answers 401.",
  );
  expect(message).not.toContain("hidden-key");
});

test("without the receiver, this machine's own try says what answers there", async () => {
  const world = await startWorld({ secret: "another" });
  expect(await refusalOf(world, world.desired())).toContain(
    " From this machine the URL answers 401 to a request without a signature, as a receiver does. Check the path, the signing secret",
  );
});

test("a receiver that only the service cannot reach is told from one that nobody can, for two accounts at once", async () => {
  const world = await startWorld();
  const other = await world.emulator.account();
  const tried = deferred();
  // It lets no signed request through.
  const proxy = await serve((request, response) => {
    if (request.headers["x-aurinko-signature"] !== undefined) return void response.writeHead(403).end();
    void fetch(world.url + (request.url?.replace("/webhooks", "") ?? ""), { method: "POST" }).then(({ status }) => {
      tried.resolve();
      response.writeHead(status).end();
    });
  });
  // What this machine tried for the one account is no verification request for the other one.
  const client = clientsOf(world.emulator, [world.account, other], {
    async fetch(input, init) {
      const answer = await fetch(input, init);
      const isOther = new Headers(init?.headers).get("authorization") === `Bearer ${other.token}`;
      if (init?.method === "POST" && isOther) await tried.promise;
      return answer;
    },
  });
  const { receiver } = world;
  const all = [world.account, other].map(({ accountId }) =>
    world.desired(MAIL, { accountId, notificationUrl: proxy.url }),
  );
  const error: unknown = await (await planSubscriptions(all, { client, receiver })).apply().catch((thrown) => thrown);
  const found =
    "No verification request reached this receiver. From this machine the URL answers 401 to a request without a signature, and that is this receiver: so the service cannot reach it.";
  expect((error as Error).message.split(found)).toHaveLength(3);
});

test("an answer that was changed on its way is told from a refusal", async () => {
  const world = await startWorld();
  const proxy = await serve((request, response) => {
    const headers = Object.entries(request.headers).filter(([name]) => name.startsWith("x-aurinko"));
    void fetch(world.url + (request.url?.replace("/webhooks", "") ?? ""), {
      method: "POST",
      headers: headers as [string, string][],
    }).then(async (answer) => response.writeHead(answer.status).end(`${await answer.text()}\n`));
  });
  expect(await refusalOf(world, world.desired(MAIL, { notificationUrl: proxy.url }), world.receiver)).toContain(
    "This receiver answered the verification request at /webhooks with 200 and its token, as it should: the service got something else",
  );
});

test("what another receiver of this process answered explains nothing here", async () => {
  const world = await startWorld();
  const other = await startReceiver({ secret: "another", clock: world.emulator.clock });
  expect(await refusalOf(world, world.desired(MAIL, { notificationUrl: other.url }), world.receiver)).toContain(
    "No verification request reached this receiver. From this machine the URL answers 401 to a request without a signature, as a receiver does.",
  );
});

test("a receiver that `createReceiver` did not make is refused", async () => {
  const { clientOf, desired, receiver } = await startWorld();
  const plan = planSubscriptions([desired()], { client: clientOf, receiver: { ...receiver } });
  await expect(plan).rejects.toMatchObject({ code: "receiver-invalid" });
});
