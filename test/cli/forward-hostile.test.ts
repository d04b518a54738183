import { createServer, type Socket } from "node:net";
import { once } from "node:events";
import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, onTestFinished, test } from "vitest";
import { until } from "../support/event-loop.ts";
import { bodyOf } from "../support/make-delivery.ts";
import { emails, rig } from "../support/rig.ts";
import { forwardTo, startApp } from "./forwarded-app.ts";

/** An app that answers as a program of its own would: with these bytes. */
async function rawApp(answer: (socket: Socket) => void): Promise<{ readonly url: string; connections(): number }> {
  let connections = 0;
  const server = createServer((socket) => {
    connections += 1;
    socket.on("error", () => {}).once("data", () => answer(socket));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/`, connections: () => connections };
}

async function forwarded(answer: (socket: Socket) => void, body = emails("m-1")) {
  const app = await rawApp(answer);
  const world = rig();
  forwardTo(world.receiver, app.url);
  await world.receiver.start();
  await world.send(body);
  return { ...world, app };
}

describe("an app that is no good HTTP server", () => {
  test.each([
    ["HTTP/1.0 with its end at the close", "HTTP/1.0 200 OK\r\n\r\n"],
    ["no reason and no headers", "HTTP/1.1 204 \r\n\r\n"],
    [
      "an early hint before the answer",
      "HTTP/1.1 103 Early Hints\r\nLink: <x>\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n",
    ],
    ["100 before the answer", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"],
  ])("%s: the event is done", async (_name, bytes) => {
    const { receiver } = await forwarded((socket) => socket.end(bytes));
    await until(() => receiver.stats().succeeded === 1);
    expect(receiver.stats().failed).toBe(0);
  });

  test.each([
    ["a reset connection", (socket: Socket) => socket.resetAndDestroy()],
    [
      "two lengths",
      (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 1\r\nContent-Length: 2\r\n\r\nab"),
    ],
    [
      "a chunk that is cut off",
      (socket: Socket) => socket.end("HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nab"),
    ],
    ["endless headers", (socket: Socket) => socket.end(`HTTP/1.1 200 OK\r\nX: ${"x".repeat(100_000)}\r\n\r\n`)],
    ["a status that is none", (socket: Socket) => socket.end("HTTP/1.1 999 Odd\r\nContent-Length: 0\r\n\r\n")],
    ["nothing but blanks", (socket: Socket) => socket.end("\r\n\r\n")],
  ])("%s: the event is tried again, and nothing else happens", async (_name, answer) => {
    const { receiver } = await forwarded(answer);
    await until(() => receiver.stats().retried === 1);
    expect(receiver.stats()).toMatchObject({ succeeded: 0, dead: 0 });
  });

  test("a connection that was closed while it was idle is worth one more request, however many there are", async () => {
    const held: ServerResponse[] = [];
    const app = await startApp((res, { body }) => {
      if (body.includes("poison")) res.destroy();
      else if (held.push(res) === 5) for (const one of held) one.end();
    });
    const { receiver, send } = rig();
    forwardTo(receiver, app.url);
    await receiver.start();
    await send(emails("m-1", "m-2", "m-3", "m-4", "m-5"));
    await until(() => receiver.stats().succeeded === 5);
    await send(emails("poison"));
    await until(() => receiver.stats().retried === 1);
    expect(app.got).toHaveLength(7);
  });

  test("bytes after an answer are of no later request", async () => {
    const { receiver, send, app } = await forwarded((socket) =>
      socket.write("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\nHTTP/1.1 410 Gone\r\nContent-Length: 0\r\n\r\n"),
    );
    await until(() => receiver.stats().succeeded === 1);
    await send(emails("m-2"));
    await until(() => receiver.stats().succeeded === 2);
    expect(receiver.stats().dead).toBe(0);
    expect(app.connections()).toBe(2);
  });

  test("a used connection that is closed under a request fails no attempt: a new one takes the request", async () => {
    const ok = "HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n";
    const { receiver, send, app } = await forwarded((socket) => {
      socket.write(ok);
      socket.once("data", () => socket.resetAndDestroy());
    });
    await until(() => receiver.stats().succeeded === 1);
    await send(emails("m-2"));
    await until(() => receiver.stats().succeeded === 2);
    expect(receiver.stats().failed).toBe(0);
    expect(app.connections()).toBe(2);
  });

  test("200 after the time is too late: the event comes again", async () => {
    const sockets: Socket[] = [];
    const { receiver, clock } = await forwarded((socket) => sockets.push(socket));
    await until(() => sockets.length === 1);
    await clock.advance(30_000);
    sockets[0]?.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    await until(() => receiver.stats().retried === 1);
    await clock.advance(2_000);
    await until(() => sockets.length === 2);
    sockets[1]?.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n");
    await until(() => receiver.stats().succeeded === 1);
  });

  test("a close while it waits releases the event, and is no failure of the app", async () => {
    const sockets: Socket[] = [];
    const { receiver, clock } = await forwarded((socket) => sockets.push(socket));
    await until(() => sockets.length === 1);
    const closed = receiver.close({ drainMs: 6_000 });
    await clock.advance(1_000);
    expect(await closed).toMatchObject({ released: 1, stuck: 0 });
    expect(receiver.stats()).toMatchObject({ failed: 0, dead: 0 });
    expect((await receiver.health()).problems.map(({ code }) => code)).not.toContain("forward-failing");
  });
});

test("an event that cannot be written as JSON is a dead letter, and holds up no other", async () => {
  const deep = `{"subscription":1001,"accountId":2002,"resource":"/odd","payloads":${"[".repeat(100_000)}${"]".repeat(100_000)}}`;
  const { receiver, send } = await forwarded(
    (socket) => socket.end("HTTP/1.1 200 OK\r\nContent-Length: 0\r\n\r\n"),
    deep,
  );
  await send(bodyOf());
  await until(() => receiver.stats().succeeded >= 1 && receiver.stats().succeeded + receiver.stats().dead >= 2);
  expect(receiver.stats().failed).toBe(receiver.stats().dead);
});
