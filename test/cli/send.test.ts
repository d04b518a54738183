import type { IncomingMessage, ServerResponse } from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { SEND_NAMES } from "../../src/cli/send/compose-events.ts";
import { deferred, until } from "../support/event-loop.ts";
import { serve } from "../support/http.ts";
import { mounted, SECRET } from "../support/mounted.ts";
import { signatureOf } from "../support/sign.ts";
import { startCli } from "./child.ts";
import { runCli, type RunOptions } from "./in-process.ts";

describe("one event", () => {
  test.each(SEND_NAMES.filter((name) => name !== "handshake"))("%s arrives as what it is", async (name) => {
    const { url, types, receiver } = await receiving();
    const cli = send([name, "--to", url]);
    expect(await cli.ended).toBe(0);
    await receiver.idle();
    const [family] = name.split(".");
    expect(types()).toEqual(name.endsWith(".changes") ? [`${family}.created`, `${family}.updated`] : [name]);
    expect(cli.out()).toMatch(/^200 in [\d,.]+ ms: acknowledged\.\n$/);
    expect(cli.err()).toBe("");
  });

  test("is signed as the service signs, counted by hand", async () => {
    const { url, requests } = await recording();
    expect(await send(["email.created", "--to", `${url}/in?tenant=7`]).ended).toBe(0);
    const [request] = requests;
    const timestamp = request?.headers["x-aurinko-request-timestamp"] as string;
    expect(timestamp).toMatch(/^\d{10}$/);
    expect(request).toMatchObject({ method: "POST", url: "/in?tenant=7" });
    expect(request?.headers).toMatchObject({
      "x-aurinko-signature": signatureOf(request?.body ?? "", { secret: SECRET, timestamp }),
      "content-type": "application/json",
      "content-length": String(request?.body.length),
    });
    expect(JSON.parse(String(request?.body))).toMatchObject({ subscription: 1001, resource: "/email/messages" });
  });

  test.each([
    ["email.created", '{"id":"m-7","accountId":9}', { accountId: 9 }, { id: "m-7", changeType: "created" }],
    ["calendarEvent.deleted", '{"calendarId":"a/b"}', { resource: "/calendars/a%2Fb/events" }, { id: "e-1" }],
    ["task.updated", '{"resource":"/tasklists/l-2/tasks"}', { resource: "/tasklists/l-2/tasks" }, {}],
    ["tracking.click", '{"id":"12","referrer":"r"}', {}, { id: "12", referrer: "r", eventType: "click" }],
    ["booking", '{"bookingId":4}', { resource: "/booking/4" }, { bookingId: 4, eventId: "e-9" }],
    ["email.changes", '{"changes":[{"id":"x","changeType":"deleted"},5]}', {}, { id: "x" }],
    [
      "unknown",
      '{"resource":"/files","made":"up"}',
      { resource: "/files", made: "up", accountId: 2002 },
      { id: "n-1" },
    ],
  ])("%s with --data %s", async (name, data, envelope, entry) => {
    const { url, bodies } = await recording();
    expect(await send([name, "--to", url, "--data", data]).ended).toBe(0);
    const [body] = bodies();
    expect(body).toMatchObject(envelope);
    expect(body?.payloads?.[0]).toMatchObject(entry);
  });

  test.each([
    [
      201,
      "not acknowledged: it would be redelivered.\n201 is what a framework answers to a POST on its own, and only exactly 200 acknowledges. Answer 200.",
    ],
    [
      204,
      "not acknowledged: it would be redelivered.\n204 is what a framework answers to a POST on its own, and only exactly 200 acknowledges. Answer 200.",
    ],
    [302, "not acknowledged: it would be redelivered.\nThe app redirects, and the service does not follow."],
    [401, "not acknowledged: it would be redelivered.\nThe receiver has another secret"],
    [404, "not acknowledged: it would be redelivered.\nNothing is mounted at this path"],
    [418, "not acknowledged: it would be redelivered.\n"],
    [422, "the service would delete the subscription.\nA gate or a tombstone says that the subscription is unwanted"],
    [503, "not acknowledged: it would be redelivered.\nThe receiver is closing"],
  ])("answered %d ends with 1 and says what it means", async (status, words) => {
    const { url } = await serve((_, response) => answer(response, status));
    const cli = send(["email.created", "--to", url]);
    expect(await cli.ended).toBe(1);
    expect(cli.out().replace(/ in [\d,.]+ ms/, "")).toContain(`${status}: ${words}`);
  });

  test("a redirect is told, and not followed", async () => {
    const paths: (string | undefined)[] = [];
    const { url } = await serve((request, response) => {
      paths.push(request.url);
      answer(response, 308, { Location: "/webhooks/" });
    });
    const cli = send(["email.created", "--to", `${url}/webhooks`]);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toContain("The app redirects to /webhooks/, and the service does not follow.");
    expect(paths).toEqual(["/webhooks"]);
  });

  test("another secret is answered 401 by a receiver", async () => {
    const { url } = await receiving();
    const cli = send(["email.created", "--to", url], { env: { SIGNING_SECRET: "another secret" } });
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toMatch(/^401 in /);
  });

  test("an answer without end does not hold it", async () => {
    const { url } = await serve((request, response) => {
      request.resume();
      const pour = (): void => {
        while (!response.destroyed && response.write(Buffer.alloc(16_384, "x")));
      };
      response.on("drain", pour).on("error", () => {});
      pour();
    });
    const cli = send(["email.created", "--to", url]);
    expect(await cli.ended).toBe(0);
  });
});

describe("many", () => {
  test.each([
    ["email.updated", ["m-1", "m-1-2", "m-1-3"], "id"],
    ["email.created", ["7", "1007", "2007"], "id", '{"id":"7"}'],
    ["tracking.open", [701, 1701, 2701], "id"],
    ["tracking.open", [88, 1088, 2088], "trackingId"],
    ["booking", ["e-9", "e-9-2", "e-9-3"], "eventId"],
    ["task.changes", ["t-1", "t-1-2", "t-1-3"], "id"],
    ["unknown", ["n-1", "n-1-2", "n-1-3"], "id"],
    ["email.deleted", [null, null, null], "id", '{"id":null}'],
  ])("of %s are about other records: %j as %s", async (name, ids, field, data = "{}") => {
    const { url, bodies } = await recording();
    const cli = send([name, "--to", url, "--data", data, "--count", "3", "--concurrency", "1"]);
    expect(await cli.ended).toBe(0);
    expect(bodies().map(({ payloads }) => payloads?.[0]?.[field])).toEqual(ids);
  });

  test("are each handled, with nothing merged or taken for a duplicate", async () => {
    const { url, types, receiver } = await receiving();
    for (const name of ["tracking.open", "tracking.click", "booking", "email.created", "lifecycle.error"]) {
      expect(await send([name, "--to", url, "--count", "30"]).ended).toBe(0);
    }
    await receiver.idle();
    expect(types()).toHaveLength(150);
    expect(receiver.stats().duplicates).toBe(0);
  });

  test("print a table: sent, statuses with their meaning, latencies, causes", async () => {
    let count = 0;
    const { url } = await serve((request, response) => {
      count += 1;
      if (count === 4) request.socket.destroy();
      else answer(response, count === 2 ? 422 : count === 3 ? 500 : 200);
    });
    const cli = send(["email.created", "--to", url, "--count", "105", "--concurrency", "1"]);
    expect(await cli.ended).toBe(1);
    expect(cli.out().replaceAll(/[\d,.]+ (?:ms|s\b|per second)/g, "#")).toMatchInlineSnapshot(`
      "sent            105 in #, #
      200             102  acknowledged
      422               1  the service would delete the subscription
      500               1  not acknowledged: it would be redelivered
      UND_ERR_SOCKET    1  no answer: the connection was closed before the answer was whole: did the app crash, or is it https://?
      latency         p50 #  p95 #  p99 #  max #
      422: A gate or a tombstone says that the subscription is unwanted, or a validation refuses the content. At a 422 the service deletes the subscription. Name an account and a subscription that are wanted; answer 200 and validate the content later.
      500: A body parser read the body before the receiver, or the app threw. The app's log says which. Mount Hookline before \`express.json()\` and the like; an app of another kind must verify the bytes as they came.
      "
    `);
    expect(cli.err()).toBe("");
  });

  test("without an answer have no latency", async () => {
    const cli = send(["email.created", "--to", await refusing(), "--count", "2"]);
    expect(await cli.ended).toBe(1);
    const [first, second, ...rest] = cli.out().split("\n");
    expect(first).toMatch(/^sent {10}2 in /);
    expect(second).toMatch(/^ECONNREFUSED {2}2 {2}no answer: nothing listens on 127\.0\.0\.1:\d+: is the app running/);
    expect(rest).toEqual([""]);
  });

  test("go as many at once as the concurrency says, over connections that are stored", async () => {
    const open: (() => void)[] = [];
    let most = 0;
    const { url, connections } = await serve((_, response) => {
      open.push(() => answer(response, 200));
      most = Math.max(most, open.length);
      // Answered when as many as can be are here.
      if (open.length === 4) for (const end of open.splice(0)) end();
    });
    const cli = send(["email.created", "--to", url, "--count", "400", "--concurrency", "4"]);
    expect(await cli.ended).toBe(0);
    expect(most).toBe(4);
    expect(connections()).toBeLessThan(40);
  });

  test("keep to a rate", async () => {
    const { url, requests } = await recording();
    const cli = send(["email.created", "--to", url, "--count", "5", "--rate", "500"]);
    expect(await cli.ended).toBe(0);
    expect(requests).toHaveLength(5);
  });
});

describe("Ctrl-C", () => {
  test("prints what became of those that were sent, and ends with 1", async () => {
    const held = deferred();
    let count = 0;
    const { url } = await serve((_, response) => {
      count += 1;
      if (count <= 3) answer(response, 200);
      else if (count === 5) held.resolve();
    });
    const cli = send(["email.created", "--to", url, "--count", "50", "--concurrency", "2"]);
    await held.promise;
    cli.signals.emit("SIGINT", "SIGINT");
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toMatch(/^sent +5 of 50 in /);
    expect(cli.out()).toMatch(/^200 +3 {2}acknowledged$/m);
    expect(cli.out()).toMatch(/^stopped +2 {2}no answer yet at the stop$/m);
    expect(cli.signals.listenerCount("SIGINT")).toBe(0);
    expect(cli.exit).not.toHaveBeenCalled();
  });

  test("does not wait for the next one of a slow rate, and ends with 1 although all so far were acknowledged", async () => {
    vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] });
    onTestFinished(() => void vi.useRealTimers());
    const { url } = await recording();
    const args = ["email.created", "--to", url, "--count", "50", "--rate", "0.001", "--concurrency", "3"];
    const cli = send(args, { terminal: true });
    await until(() => {
      vi.advanceTimersByTime(200);
      return cli.err().includes("1 of 50 sent");
    });
    cli.signals.emit("SIGINT", "SIGINT");
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toMatch(/^sent +1 of 50 in [^\n]+\n200 +1 {2}acknowledged\nlatency/);
  });

  test.each(["email.created", "handshake"])("ends a single %s that waits", async (name) => {
    const asked = deferred();
    const { url } = await serve(() => asked.resolve());
    const cli = send([name, "--to", url]);
    await asked.promise;
    cli.signals.emit("SIGTERM", "SIGTERM");
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toBe("Stopped before there was an answer.\n");
  });
});

describe("wrong usage ends with 2", () => {
  const names = SEND_NAMES.join(", ");
  const url = "expected a URL with http:// or https:// and without a password, such as http://localhost:3000/webhooks.";
  const data = 'expected a JSON object with fields of the event, such as {"accountId":7}.';
  const to = ["--to", "http://localhost:3000"];

  test.each([
    [to, `NAME is missing, expected one of ${names}, or --from with a file.`],
    [["emial.created", ...to], `NAME got "emial.created", expected one of ${names}.`],
    [["email", ...to], `NAME got "email", expected one of ${names}.`],
    [["email.created"], `--to is missing, ${url}`],
    [
      ["email.created", "http://localhost:3000"],
      'Got the argument "http://localhost:3000", expected one NAME and flags only. Allowed: --to, --from, --only, --data, --count, --rate, --per-second, --concurrency, --help.',
    ],
    [
      ["--name", "email.created"],
      "There is no flag --name. Allowed: --to, --from, --only, --data, --count, --rate, --per-second, --concurrency, --help.",
    ],
    [["email.created", "--to", "localhost:3000"], `--to got "localhost:3000", ${url}`],
    [["email.created", "--to", "ftp://example.com"], `--to got "ftp://example.com", ${url}`],
    [["email.created", "--to", "http://"], `--to got "http://", ${url}`],
    [["email.created", "--to", "http://ann:pw@example.com"], `--to got "http://ann:pw@example.com", ${url}`],
    [["email.created", ...to, "--data", "{id:1}"], `--data got "{id:1}", ${data}`],
    [["email.created", ...to, "--data", "[1]"], `--data got "[1]", ${data}`],
    [["email.created", ...to, "--data", "null"], `--data got "null", ${data}`],
    [["email.created", ...to, "--data", '"m-1"'], `--data got ""m-1"", ${data}`],
    [
      ["booking", ...to, "--data", '{"eventid":"e"}'],
      '--data got the field "eventid", which booking does not take. Allowed: subscription, accountId, resource, bookingId, calendarId, eventId.',
    ],
    [
      ["email.created", ...to, "--data", '{"changeType":"deleted"}'],
      '--data got the field "changeType", which email.created does not take. Allowed: subscription, accountId, resource, id, attributes.',
    ],
    [
      ["email.changes", ...to, "--data", '{"signalled":true}'],
      '--data got the field "signalled", which email.changes does not take. Allowed: subscription, accountId, resource, changes.',
    ],
    [["email.created", ...to, "--count", "0"], '--count got "0", expected a whole number from 1 to 1,000,000.'],
    [["email.created", ...to, "--count", "1e3"], '--count got "1e3", expected a whole number from 1 to 1,000,000.'],
    [
      ["email.created", ...to, "--rate", "0"],
      '--rate got "0", expected a number from 0.001 to 1,000,000, such as 50 or 0.5.',
    ],
    [
      ["email.created", ...to, "--rate", "fast"],
      '--rate got "fast", expected a number from 0.001 to 1,000,000, such as 50 or 0.5.',
    ],
    [
      ["email.created", ...to, "--concurrency", "1001"],
      '--concurrency got "1001", expected a whole number from 1 to 1,000.',
    ],
    [["handshake", ...to, "--data", "{}"], "--data does not go with handshake, which is one request without fields."],
    [["handshake", ...to, "--count", "2"], "--count does not go with handshake, which is one request without fields."],
  ])("hookline send %j", async (args, message) => {
    const cli = send(args);
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toBe(`hookline send: ${message}\nSee hookline send --help.\n`);
    expect(cli.out()).toBe("");
  });

  test("without a secret it names the variable", async () => {
    const cli = send(["email.created", ...to], { env: {} });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain("hookline send: SIGNING_SECRET is not set.");
  });
});

describe("as a process", () => {
  test("sends to a receiver and ends with 0", async () => {
    const { url, types, receiver } = await receiving();
    const cli = startCli(["send", "tracking.open", "--to", url, "--count", "25"], { SIGNING_SECRET: SECRET });
    expect(await cli.ended).toBe(0);
    await receiver.idle();
    expect(types()).toEqual(Array.from({ length: 25 }, () => "tracking.open"));
    expect(cli.out()).toMatch(
      /^sent +25 in [^\n]+\n200 +25 {2}acknowledged\nlatency +p50 [\d.]+ ms {2}p95 .+ max .+ ms\n$/,
    );
    expect(cli.err()).toBe("");
  });

  test("a handshake that is right ends with 0", async () => {
    const { url } = await receiving();
    const cli = startCli(["send", "handshake", "--to", url], { SIGNING_SECRET: SECRET });
    expect(await cli.ended).toBe(0);
    expect(cli.out()).toMatch(/^200 in [\d.]+ ms: the handshake is right\.\n$/);
  });

  test("Ctrl-C prints the table and ends with 1", async () => {
    const asked = deferred();
    const { url } = await serve(() => asked.resolve());
    const cli = startCli(["send", "booking", "--to", url, "--count", "9", "--concurrency", "1"], {
      SIGNING_SECRET: SECRET,
    });
    await Promise.race([asked.promise, cli.ended]);
    cli.kill("SIGINT");
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toMatch(/^sent +1 of 9 in [^\n]+\nstopped +1 {2}no answer yet at the stop\n$/);
  });
});

function send(args: readonly string[], options: RunOptions = {}) {
  return runCli(["send", ...args], { env: { SIGNING_SECRET: SECRET }, ...options });
}

/** A receiver that tells what it handled. */
async function receiving() {
  const types: string[] = [];
  const server = await mounted({
    prepare: (receiver) => receiver.on(["*", "unknown"], (event) => void types.push(event.type)),
  });
  await server.receiver.start();
  return { ...server, types: () => types.toSorted() };
}

interface Recorded {
  readonly method: string | undefined;
  readonly url: string | undefined;
  readonly headers: IncomingMessage["headers"];
  readonly body: Buffer;
}

/** A server that keeps what came, and answers 200. */
async function recording() {
  const requests: Recorded[] = [];
  const served = await serve((request, response) => {
    void buffer(request).then((body) => {
      const { method, url, headers } = request;
      requests.push({ method, url, headers, body });
      answer(response, 200);
    });
  });
  const bodies = () =>
    requests.map(
      ({ body }) => JSON.parse(String(body)) as Record<string, unknown> & { payloads?: Record<string, unknown>[] },
    );
  return { ...served, requests, bodies };
}

function answer(response: ServerResponse, status: number, headers: Record<string, string> = {}): void {
  response.writeHead(status, { "Content-Length": "0", ...headers }).end();
}

/** A URL where nothing listens any more. */
async function refusing(): Promise<string> {
  const { server, url } = await serve(() => {});
  await new Promise((resolve) => server.close(resolve));
  return url;
}
