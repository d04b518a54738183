import express, { type RequestHandler } from "express";
import { createReceiver, memoryInbox, type Receiver } from "hookline";
import { expressReceiver } from "hookline/express";
import { nodeReceiver } from "hookline/node";
import { createHmac } from "node:crypto";
import type { IncomingMessage, RequestListener } from "node:http";
import { buffer } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { deferred } from "../support/event-loop.ts";
import { serve } from "../support/http.ts";
import { startCli } from "./child.ts";
import { runCli, type Run, type RunOptions } from "./in-process.ts";
import { jsonOf } from "./inbox-file.ts";

const SECRET = "a secret of the check";

/** Of apps that answer one status to everything, and what is said of it. */
const ANSWERS = [
  [201, "201 is what a framework answers to a POST on its own, and only exactly 200 acknowledges.\nFix: Answer 200."],
  [204, "204 is what a framework answers to a POST on its own, and only exactly 200 acknowledges.\nFix: Answer 200."],
  [302, "The app redirects to /log-in, and the service does not follow."],
  [403, "Something in front of the receiver guards the route"],
  [413, "There is a body limit in front of the receiver: of nginx, or of a body parser."],
  [418, "A framework or a proxy answers with a status of its own."],
  [422, "A gate or a tombstone says that the subscription is unwanted"],
  [503, "The receiver is closing, has no secret, or could not store the delivery"],
] as const;

describe("hookline check", () => {
  test("finds nothing wrong with a receiver of Hookline, whose handlers see what it accepts", async () => {
    const seen: unknown[] = [];
    const receiver = receiving();
    receiver.on(["*", "unknown"], (event) => void seen.push([event.type, "id" in event ? event.id : undefined]));
    await receiver.start();
    const { url } = await serve(nodeReceiver(receiver));
    const cli = check(url);
    expect(await cli.ended).toBe(0);
    expect(cli.out()).toMatchInlineSnapshot(`
      "PROBE                              EXPECTED    GOT
      a delivery                         200         200
      a verification handshake           200         200
      a forged delivery                  401         401
      a delivery signed eight days ago   401         401
      a delivery without a signature     401         401
      a signed body that is not JSON     200         200
      a signed body of an unknown shape  200         200
      a delivery of up to 150 kB         200         200
      a delivery over the limit          413 or 502  413
      a GET                              405 or 404  405
      a delivery sent as text/plain      200         200
      a delivery sent as a form          200         200

      All 12 answers are as they should be.
      "
    `);
    expect(cli.err()).toBe("");
    await receiver.idle();
    const deletion = ["email.deleted", "hookline-check"];
    const unknown = ["unknown", undefined];
    expect(seen).toEqual([deletion, unknown, unknown, deletion, deletion, deletion]);
  });

  test("finds nothing wrong with a route for POST alone, which has no GET", async () => {
    const app = express();
    app.post("/webhooks", expressReceiver(receiving()));
    const { url } = await serve(app);
    const cli = check(`${url}/webhooks`);
    expect(await cli.ended, cli.out()).toBe(0);
    expect(cli.out()).toMatch(/^a GET +405 or 404 +404$/m);
  });

  test("finds that a body was parsed and written again", async () => {
    const { url } = await serve(
      express().use(
        express.json(),
        byHand((req) => JSON.stringify(req.body ?? {})),
      ),
    );
    const cli = check(url);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toContain(
      "401: a delivery, a signed body of an unknown shape, a delivery sent as text/plain, a delivery sent as a form\nThe body was parsed and written again",
    );
    expect(cli.out()).toContain("400: a signed body that is not JSON\nA body parser or a validation in front");
    expect(cli.out()).toContain(
      "413: a delivery of up to 150 kB\nA body parser in front of the receiver has a limit, 100 kB",
    );
    expect(cli.out()).toMatch(/^Fix: Mount Hookline before `express\.json\(\)`/m);
  });

  test("finds a parser that keeps the bytes of some content types", async () => {
    const keep = express.json({ limit: "2mb", verify: (req, _res, body) => void Object.assign(req, { stored: body }) });
    const { url } = await serve(
      express().use(
        keep,
        byHand((req) => (req as { stored?: Buffer }).stored ?? ""),
      ),
    );
    const cli = check(url);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toContain(
      "401: a delivery sent as text/plain, a delivery sent as a form\nA body parser that takes",
    );
  });

  test("finds that a parser ran before a mount of Hookline", async () => {
    const { url } = await serve(express().use(express.json(), expressReceiver(receiving())));
    const cli = check(url);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toContain(
      "500: a delivery, a signed body of an unknown shape\nA body parser read the body before",
    );
  });

  test("says once that the secret is another", async () => {
    const { url } = await serve(nodeReceiver(receiving()));
    const cli = check(url, [], { env: { SIGNING_SECRET: "another" } });
    expect(await cli.ended).toBe(1);
    expect(cli.out().match(/^\d{3}: .*\n.*\n.*$/gm)).toEqual([
      expect.stringMatching(/^401: a delivery, a verification handshake, .*\nEverything that is signed is refused: /),
    ]);
  });

  test("says once that nothing is mounted at this path", async () => {
    const { url } = await serve(nodeReceiver(receiving(), { path: "/webhooks" }));
    const cli = check(url);
    expect(await cli.ended).toBe(1);
    expect(cli.out().match(/^Nothing is mounted/gm)).toHaveLength(1);
    expect(cli.out()).toMatch(/^a GET +405 or 404 +404$/m);
  });

  test("explains apps that answer one status to everything", async () => {
    const explained = async (status: number, words: string): Promise<void> => {
      const { url } = await serve(answering(status, { Location: "/log-in", Server: "nginx" }));
      const cli = check(url);
      expect(await cli.ended, String(status)).toBe(1);
      expect(cli.out()).toContain(words);
    };
    await Promise.all(ANSWERS.map(([status, words]) => explained(status, words)));
  });

  test("finds an app that verifies nothing, and one that fails before it does", async () => {
    const lax = check((await serve(answering(200))).url);
    expect(await lax.ended).toBe(1);
    for (const words of [
      "200: a verification handshake\nThe content type is missing, expected text/plain: as HTML, a token sent by an attacker would run as a script. The body is empty, expected the token",
      "200: a forged delivery\nThe app does not compare the signature",
      "200: a delivery signed eight days ago\nThe app does not check the age",
      "200: a delivery without a signature\nThe app lets a missing signature pass",
      "200: a delivery over the limit\nThe app accepts bodies over the limit",
      "200: a GET\nSomething answers 200 to any request at this path",
    ])
      expect(lax.out()).toContain(words);
    const accepting = check((await serve(answering(204))).url);
    expect(await accepting.ended).toBe(1);
    expect(accepting.out()).toContain("204: a delivery without a signature\nThe app lets a missing signature pass");
    const failing = check((await serve(answering(500))).url);
    expect(await failing.ended).toBe(1);
    expect(failing.out()).toContain("a delivery over the limit, a GET\nThe app failed before");
  });

  test("finds a proxy that cuts at 100 kB", async () => {
    const receiver = nodeReceiver(receiving());
    const { url } = await serve((req, res) => {
      if (Number(req.headers["content-length"] ?? 0) <= 100_000) return receiver(req, res);
      req.resume();
      res.writeHead(413, { Server: "nginx/1.27", "Content-Type": "text/html" }).end("<html>too large</html>");
    });
    const cli = check(url);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toContain("1 of 12 checks failed.\n\n413: a delivery of up to 150 kB\nThere is a body limit");
    expect(cli.out()).toContain("of nginx/1.27, or of a body parser.\nFix: Raise it above the receiver's own");
  });

  test("finds a token that comes as HTML", async () => {
    const { url } = await serve(express().use(byHandRaw));
    const cli = check(url);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toContain("The content type is text/html; charset=utf-8, expected text/plain");
  });

  test("takes another account for a gate, and another limit", async () => {
    const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), log: false, maxBodyBytes: 300_000 });
    receiver.unsubscribeWhen(({ accountId, subscription }, unsubscribe) =>
      accountId === 7 && subscription === 8 ? undefined : unsubscribe("unknown"),
    );
    const { url } = await serve(nodeReceiver(receiver));
    const cli = check(url, ["--account", "7", "--subscription", "8", "--max-body", "300000"]);
    expect(await cli.ended, cli.out()).toBe(0);
    const unknown = check(url, ["--max-body", "300000", "--json"]);
    expect(await unknown.ended).toBe(1);
    const findings = jsonOf(unknown.out());
    expect(findings.filter(({ ok }) => ok !== true).map(({ probe, got }) => [probe, got])).toEqual([
      ["a delivery", { status: 422 }],
      ["a signed body of an unknown shape", { status: 422 }],
      ["a delivery of up to 150 kB", { status: 422 }],
      ["a delivery sent as text/plain", { status: 422 }],
      ["a delivery sent as a form", { status: 422 }],
    ]);
  });

  test("with --json is a line for each", async () => {
    const { url } = await serve(answering(404));
    const cli = check(url, ["--json"]);
    expect(await cli.ended).toBe(1);
    const lines = jsonOf(cli.out());
    expect(lines).toHaveLength(12);
    expect(lines[0]).toEqual({
      probe: "a delivery",
      expected: [200],
      got: { status: 404 },
      ok: false,
      cause: "Nothing is mounted at this path.",
      fix: "Compare the path with the app's.",
    });
  });

  test("says clearly that nothing listens, once", async () => {
    const { url, server } = await serve(answering(200));
    server.close();
    const cli = check(url);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toMatch(
      /^No answer: nothing listens on 127\.0\.0\.1:\d+: is the app running, .* \(ECONNREFUSED\)\.\n$/,
    );
  });

  test("goes on behind a request that is not answered", async () => {
    const { url } = await serve((req, res) => {
      if (req.method === "GET") req.socket.destroy();
      else answering(200)(req, res);
    });
    const cli = check(url);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toContain("ECONNRESET: a GET\nNo answer: the connection was closed before the answer was whole");
    expect(cli.out()).toMatch(/^a delivery sent as a form +200 +200$/m);
  });

  test("ends at Ctrl-C with what was found so far", async () => {
    const held = deferred();
    let count = 0;
    const { url } = await serve((req, res) => {
      if ((count += 1) < 3) answering(200)(req, res);
      else held.resolve();
    });
    const cli = check(url);
    await held.promise;
    cli.signals.emit("SIGINT", "SIGINT");
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toMatch(/^a delivery +200 +200$/m);
    expect(cli.out()).not.toContain("forged");
    expect(cli.err()).toBe("Stopped before all was asked.\n");
    expect(cli.signals.listenerCount("SIGINT")).toBe(0);
  });

  test("needs a URL and a secret", async () => {
    for (const [args, env, words] of [
      [[], { SIGNING_SECRET: SECRET }, "--to is missing"],
      [["--to", "http://localhost:1"], {}, "SIGNING_SECRET is not set."],
      [["--to", "http://localhost:1", "--max-body", "9"], { SIGNING_SECRET: SECRET }, '--max-body got "9"'],
    ] as const) {
      const cli = runCli(["check", ...args], { env });
      expect(await cli.ended).toBe(2);
      expect(cli.err()).toContain(`hookline check: ${words}`);
    }
  });

  test("as a process against another ends with 0, whatever the two do at once", async () => {
    const served = startCli(["serve", "--port", "0"], { SIGNING_SECRET: SECRET });
    const [url] = await served.says("err", /http:\/\/[^\s"]+/);
    const cli = startCli(["check", "--to", url], { SIGNING_SECRET: SECRET });
    expect(await cli.ended, cli.out()).toBe(0);
  });
});

function check(url: string, args: readonly string[] = [], options: RunOptions = {}): Run {
  return runCli(["check", "--to", url, ...args], { env: { SIGNING_SECRET: SECRET }, ...options });
}

function receiving(): Receiver {
  const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), log: false });
  onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
  return receiver;
}

function answering(status: number, headers: Record<string, string> = {}): RequestListener {
  return (req, res) => {
    req.resume();
    req.on("end", () => res.writeHead(status, headers).end());
  };
}

/** What people write who verify by hand, over what a parser left them. */
function byHand(textOf: (req: IncomingMessage & { readonly body?: unknown }) => string | Uint8Array): RequestHandler {
  return (req, res) => {
    const isGreeting = req.query["validationToken"] !== undefined;
    if (!isSigned(req, isGreeting ? "" : textOf(req))) return void res.sendStatus(401);
    if (isGreeting) return void res.type("text/plain").send(req.query["validationToken"]);
    res.sendStatus(200);
  };
}

const byHandRaw: RequestHandler = (req, res) => {
  void buffer(req).then((body) => {
    if (isSigned(req, body)) res.send(req.query["validationToken"] ?? "");
    else res.sendStatus(401);
  });
};

function isSigned({ headers }: IncomingMessage, body: string | Uint8Array): boolean {
  const timestamp = String(headers["x-aurinko-request-timestamp"]);
  const mac = createHmac("sha256", SECRET).update(`v0:${timestamp}:`).update(body).digest("hex");
  return mac === headers["x-aurinko-signature"];
}
