import type { ServerResponse } from "node:http";
import { describe, expect, test } from "vitest";
import { until } from "../support/event-loop.ts";
import { freePort } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { emails, rig, type Rig } from "../support/rig.ts";
import { forwardTo, startApp } from "./forwarded-app.ts";

const answers =
  (status: number, headers: Readonly<Record<string, string>> = {}) =>
  (res: ServerResponse) =>
    res.writeHead(status, headers).end("{}");
const cutOff = (res: ServerResponse) => {
  res.writeHead(200, { "Content-Length": "100" }).write("half");
  setImmediate(() => res.destroy());
};

describe("what an app answers", () => {
  test.each([
    ["200", answers(200)],
    ["201", answers(201)],
    ["204, without a body", (res: ServerResponse) => res.writeHead(204).end()],
    ["10 MB, of which 64 KiB are read", (res: ServerResponse) => res.end(Buffer.alloc(10_000_000, "x"))],
  ])("%s: the event is done", async (_name, answer) => {
    const { receiver } = await forwarding(answer);
    await until(() => receiver.stats().succeeded === 1);
    expect(receiver.stats()).toMatchObject({ failed: 0 });
  });

  test("410: the event is a dead letter that names the app", async () => {
    const { receiver } = await forwarding(answers(410));
    await until(() => receiver.stats().dead === 1);
    const { jobs } = await receiver.jobs.list({ state: "dead" });
    expect(jobs).toMatchObject([{ lastError: { name: "GiveUp", message: 'App "default" answered 410.' } }]);
    expect(await codes(receiver)).not.toContain("forward-failing");
  });

  test.each([
    ["429 with Retry-After", 429, "30", 30],
    ["503 with Retry-After", 503, "30", 30],
    ["503 with a date", 503, "Wed, 06 May 2026 07:09:09 GMT", 60],
    ["429 that asks for thirty years", 429, "1000000000", 3_600],
  ])("%s: the event waits as asked, up to an hour", async (_name, status, header, seconds) => {
    const { clock, receiver, app } = await forwarding(answers(status, { "Retry-After": header }));
    await until(() => receiver.stats().retried === 1);
    await clock.advance(seconds * 1_000 - 1);
    expect(app.got).toHaveLength(1);
    await clock.advance(1);
    await until(() => receiver.stats().retried === 2);
    // It is no failed attempt.
    expect(app.got.map(({ json }) => json.attempt)).toEqual([1, 1]);
  });

  test.each([
    ["422, which is no unsubscribe here", answers(422)],
    ["500", answers(500)],
    ["503 without Retry-After", answers(503)],
    ["503 with an unreadable Retry-After", answers(503, { "Retry-After": "1e9" })],
    ["a redirect, which is not followed", answers(307, { Location: "/elsewhere" })],
    ["half an answer", cutOff],
    ["no answer: the connection is closed", (res: ServerResponse) => res.destroy()],
    [
      "another protocol",
      (res: ServerResponse) => res.socket?.end("HTTP/1.1 101 No\r\nUpgrade: x\r\nConnection: Upgrade\r\n\r\n"),
    ],
    ["no HTTP", (res: ServerResponse) => res.socket?.end("SSH-2.0\r\n\r\n")],
  ])("%s: the event is tried again", async (_name, answer) => {
    const { clock, receiver, app, offer } = await forwarding(answer);
    await until(() => receiver.stats().retried === 1);
    await clock.advance(1_000);
    await until(() => receiver.stats().retried === 2);
    expect(app.got.map(({ json, headers }) => [json.attempt, headers["webhook-id"]])).toEqual([
      [1, app.got[0]?.headers["webhook-id"]],
      [2, app.got[0]?.headers["webhook-id"]],
    ]);
    expect(receiver.stats()).toMatchObject({ succeeded: 0, dead: 0 });
    // The service never sees it.
    expect(await offer(emails("another"))).toMatchObject({ status: 200 });
    expect(await receiver.lists.tombstones()).toEqual([]);
    expect(await codes(receiver)).toContain("forward-failing");
  });

  test.each([
    ["no answer", () => {}],
    ["half an answer that hangs", (res: ServerResponse) => void res.writeHead(200).write("half")],
  ])("%s within the time: the connection ends, and the event is tried again", async (_name, answer) => {
    const { clock, receiver, app } = await forwarding(answer);
    await until(() => app.got.length === 1);
    await clock.advance(30_000);
    await until(() => receiver.stats().retried === 1);
    expect(await problem(receiver)).toContain("it gave no whole answer within 30 s.");
  });

  test("refused connections: the event is tried again, and health names why", async () => {
    const world = rig();
    const url = `http://127.0.0.1:${await freePort()}/events?token=hidden`;
    forwardTo(world.receiver, url);
    await world.receiver.start();
    await world.send();
    await until(() => world.receiver.stats().retried === 1);
    const message = await problem(world.receiver);
    expect(message).toContain('App "default" at http://127.0.0.1:');
    expect(message).toMatch(/nothing listens on 127\.0\.0\.1.*\?$/);
    expect(message).not.toContain("hidden");
  });
});

test("an app that is down for a day gets all of it afterwards, once, and each record in order", async () => {
  let isDown = true;
  const app = await startApp((res) => res.writeHead(isDown ? 502 : 200).end());
  const world = rig();
  // Time passes faster than answers come.
  forwardTo(world.receiver, app.url, { timeoutMs: 2_000_000_000 });
  await world.receiver.start();
  for (let hour = 0; hour < 24; hour += 1) {
    await world.send(tracked(hour));
    const { failed } = world.receiver.stats();
    await world.clock.advance(3_600_000);
    await until(() => world.receiver.stats().failed > failed);
  }
  expect(world.receiver.stats()).toMatchObject({ dead: 0, succeeded: 0, answered: { 200: 24 } });
  isDown = false;
  const before = app.got.length;
  while (world.receiver.stats().succeeded < 24) await world.pass(60_000);
  const places = app.got.slice(before).map(({ json }) => (json.event as { readonly id: number }).id);
  expect(places.filter((id) => id % 2 === 0)).toEqual(evenOnes);
  expect(places.filter((id) => id % 2 === 1)).toEqual(evenOnes.map((id) => id + 1));
  expect(await codes(world.receiver)).not.toContain("forward-failing");
});

test("an app that hangs is asked one by one, and others are not behind it", async () => {
  const hanging = await startApp(() => {});
  const quick = await startApp();
  const world = rig({ concurrency: 2 });
  const targets = [
    { name: "hanging", url: hanging.url },
    { name: "quick", url: quick.url },
  ];
  forwardTo(world.receiver, "", { targets, concurrency: 2 });
  await world.receiver.start();
  await world.send(emails("a", "b", "c", "d", "e", "f"));
  await until(() => hanging.got.length > 0);
  // The first requests fill the places once.
  await world.clock.advance(30_000);
  await until(() => hanging.got.length >= 2);
  await world.clock.advance(30_000);
  await until(() => quick.got.length === 6);
  const asked = hanging.got.length;
  await world.pass(20_000);
  expect(hanging.got.length - asked).toBeLessThanOrEqual(1);
});

test("changes of one record that wait are one request", async () => {
  const held: ServerResponse[] = [];
  const app = await startApp((res) => held.push(res));
  const world = rig();
  forwardTo(world.receiver, app.url);
  await world.receiver.start();
  await world.send(bodyOf({ payloads: [change("m-1", "created")] }));
  await until(() => held.length === 1);
  await world.send(bodyOf({ payloads: [change("m-1", "updated")] }));
  await world.send(bodyOf({ payloads: [change("m-1", "deleted")] }));
  await world.pass();
  held[0]?.end();
  await until(() => held.length === 2);
  held[1]?.end();
  expect(app.got.map(({ json }) => [json.type, json.merged])).toEqual([
    ["email.created", 1],
    ["email.deleted", 2],
  ]);
});

test("connections are used again, and there are no more than requests at once", async () => {
  const app = await startApp();
  const world = rig({ concurrency: 3 });
  forwardTo(world.receiver, app.url, { concurrency: 3 });
  await world.receiver.start();
  await world.send(emails(...Array.from({ length: 50 }, (_, index) => `m-${index}`)));
  await until(() => world.receiver.stats().succeeded === 50);
  expect(app.connections()).toBeLessThanOrEqual(3);
});

test("a connection that the app closes while it is idle fails no attempt", async () => {
  const app = await startApp();
  const world = rig();
  forwardTo(world.receiver, app.url);
  await world.receiver.start();
  await world.send(emails("m-1"));
  await until(() => world.receiver.stats().succeeded === 1);
  app.server.closeAllConnections();
  await world.send(emails("m-2"));
  await until(() => world.receiver.stats().succeeded === 2);
  expect(world.receiver.stats()).toMatchObject({ failed: 0 });
});

/** Two records, whose events are not merged. */
function tracked(id: number): string {
  const payload = { id, eventType: "open", createdAt: "2026-05-06T07:08:09Z", trackingId: id % 2 };
  return bodyOf({ resource: "/email/tracking", payloads: [payload] });
}
const evenOnes = Array.from({ length: 12 }, (_, index) => 2 * index);

/** One event, on its way to an app. */
async function forwarding(answer: (res: ServerResponse) => unknown) {
  const app = await startApp(answer);
  const world = rig();
  forwardTo(world.receiver, app.url);
  await world.receiver.start();
  await world.send();
  return { ...world, app };
}

async function codes(receiver: Rig["receiver"]): Promise<readonly string[]> {
  return (await receiver.health()).problems.map(({ code }) => code);
}

async function problem(receiver: Rig["receiver"]): Promise<string | undefined> {
  return (await receiver.health()).problems.find(({ code }) => code === "forward-failing")?.message;
}
