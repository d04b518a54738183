import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";
import { join } from "node:path";
import { describe, expect, onTestFinished, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { runCli } from "./in-process.ts";
import { prepare, says, startDev, startSubscribed, terminal } from "./dev/start-dev.ts";

const line = (status: string, rest: string) =>
  new RegExp(`^\\d{4}-\\S+ \\S+  ${status} +[\\d,.]+ ms  /webhooks  ${rest}$`, "m");

describe("deliveries pass to the app", () => {
  test("with a line each; Ctrl-C removes the subscriptions", async () => {
    const setting = await prepare();
    const { emulator, account, app, cwd, env } = setting;
    const dev = await startSubscribed(setting, ["--resource", "/contacts", "--resource", "/email/messages"]);
    expect(emulator.subscriptions).toMatchObject([
      { resource: "/contacts", notificationUrl: dev.url },
      { resource: "/email/messages", notificationUrl: dev.url },
    ]);
    expect(dev.err()).toContain(`Subscribed at ${dev.url}: 1001 /contacts, 1002 /email/messages.`);
    await account.receiveMail();
    await emulator.settled();
    expect(app.requests).toHaveLength(1);
    expect(emulator.journal).toMatchObject([{ status: 200, body: app.requests[0]?.body.toString() }]);
    await says(dev, line("200", "email.created"), "out");

    const state = readFileSync(join(cwd, ".hookline/dev.json"), "utf8");
    expect(JSON.parse(state)).toMatchObject({
      runs: [
        { port: dev.port, account: account.accountId, made: [{ id: 1001, notificationUrl: dev.url }, { id: 1002 }] },
      ],
    });
    dev.signals.emit("SIGINT", "SIGINT");
    expect(await dev.ended).toBe(0);
    expect(emulator.subscriptions).toEqual([]);
    expect(dev.err()).toMatch(/^Subscriptions removed: 2\.$/m);
    expect(JSON.parse(readFileSync(join(cwd, ".hookline/dev.json"), "utf8"))).toEqual({ runs: [] });
    for (const text of [dev.out(), dev.err(), state])
      for (const secret of Object.values(env)) expect(text).not.toContain(secret);
  });

  test("as lines of JSON", async () => {
    const setting = await prepare();
    const dev = await startSubscribed(setting, ["--json"]);
    setting.app.answer = (_, res) => void res.writeHead(500).end();
    await setting.account.receiveMail();
    await setting.emulator.settled();
    await says(dev, /"email\.created"/, "out");
    const lines = dev
      .out()
      .trim()
      .split("\n")
      .map((text) => JSON.parse(text) as object);
    expect(lines.at(-1)).toMatchObject({
      path: "/webhooks",
      events: ["email.created"],
      status: 500,
      answered: 500,
      ms: expect.any(Number),
    });
    expect(dev.out()).not.toMatch(/^ /m);
  });

  test("in colours on a terminal, with a summary below", async () => {
    const setting = await prepare();
    const stdout = terminal();
    let shown = "";
    stdout.on("data", (text: Buffer) => (shown += text.toString()));
    const dev = await startSubscribed(setting, [], { stdout });
    await setting.account.receiveMail();
    await says(dev, /0\.\d per second {2}\| {2}200 x2 {2}\| {2}0 waiting/, "out");
    expect(dev.out()).toMatch(/^\r?\d\d:\d\d:\d\d {2}200 +[\d,.]+ ms {2}\/webhooks {2}email\.created$/m);
    expect(shown).toContain("\u001B[K");
    dev.signals.emit("SIGINT", "SIGINT");
    await dev.ended;
    expect(shown.endsWith("\r\u001B[K")).toBe(true);
  });

  test("a 401 is explained", async () => {
    const setting = await prepare();
    const { emulator, account, app } = setting;
    const dev = await startSubscribed(setting);
    app.answer = (_, res) => void res.writeHead(401).end();
    await account.receiveMail();
    await says(dev, line("401", "email.created"), "out");
    await says(dev, /^ {2}signature-right: The signature is right .*\n {2}Fix: Give the app/m, "out");
    emulator.fault(emulator.subscriptions[0]?.id ?? 0, "wrong-signature");
    await account.receiveMail();
    await says(dev, /^ {2}secret-wrong: No known mistake/m, "out");
  });

  test("a 422 goes on as 503, and deletes no subscription", async () => {
    const setting = await prepare();
    const { emulator, account, app } = setting;
    const dev = await startSubscribed(setting);
    app.answer = (_, res) => void res.writeHead(422).end();
    await account.receiveMail();
    await emulator.settled();
    expect(emulator.journal).toMatchObject([{ status: 503 }]);
    expect(emulator.subscriptions).toHaveLength(1);
    await says(dev, line("422", "email.created, answered 503"), "out");
  });

  test("a 422 goes on where --allow-unsubscribe says so", async () => {
    const setting = await prepare();
    const { emulator, account, app } = setting;
    const dev = await startSubscribed(setting, ["--allow-unsubscribe"]);
    app.answer = (_, res) => void res.writeHead(422).end();
    await account.receiveMail();
    await eventually(() => expect(emulator.subscriptions).toEqual([]));
    dev.signals.emit("SIGTERM", "SIGTERM");
    // What is gone already is no failure.
    expect(await dev.ended).toBe(0);
  });

  test("requests of other paths do not, and an answer of the app that does not come is 502", async () => {
    const setting = await prepare();
    const { emulator, account, app } = setting;
    const dev = await startSubscribed(setting);
    expect((await fetch(dev.url.replace("webhooks", "admin"), { method: "POST" })).status).toBe(404);
    app.answer = (req) => void req.socket.destroy();
    await account.receiveMail();
    await emulator.settled();
    expect(emulator.journal).toMatchObject([{ status: 502 }]);
    expect(app.requests).toHaveLength(1);
    await says(
      dev,
      line("---", "email.created, answered 502\n {2}ECONNRESET: No answer: the connection was closed .*"),
      "out",
    );
  });
});

describe("with --hold", () => {
  test("the service gets 200, and the app gets it again until it answers 200", async () => {
    const setting = await prepare();
    const { emulator, account, app, cwd, env } = setting;
    const dev = await startSubscribed(setting, ["--hold", "--capture", "held.jsonl"]);
    const statuses = [500, 422, 200];
    app.answer = (_, res) => void res.writeHead(statuses.shift() ?? 200).end();
    await account.receiveMail();
    await emulator.settled();
    expect(emulator.journal).toMatchObject([{ status: 200 }]);
    await says(dev, line("500", "email.created, held: again in 1 s"), "out");
    await says(dev, line("422", "email.created, held: again in 2 s"), "out");
    await says(dev, line("200", "email.created"), "out");
    expect(new Set(app.requests.map(({ body }) => body.toString())).size).toBe(1);

    // A forged one is not held: it would be repeated for ever.
    app.answer = (_, res) => void res.writeHead(401).end();
    expect((await fetch(dev.url, { method: "POST", body: "{}" })).status).toBe(401);

    const [first = ""] = readFileSync(join(cwd, "held.jsonl"), "utf8").split("\n");
    const explained = runCli(["explain"], { env, stdin: first });
    expect(await explained.ended).toBe(0);
    expect(JSON.parse(first)).toMatchObject({ bodyBase64: app.requests[0]?.body.toString("base64") });
  });

  test("what cannot be captured is answered 503, and what the app has not accepted at the end is told", async () => {
    const setting = await prepare();
    const { emulator, account, app, cwd } = setting;
    const dev = await startSubscribed(setting, ["--hold", "--capture", "no/such/folder.jsonl"]);
    await account.receiveMail();
    await emulator.settled();
    expect(emulator.journal).toMatchObject([{ status: 503 }]);
    expect(app.requests).toEqual([]);
    await says(dev, /^A delivery was not captured: ENOENT/m);
    dev.signals.emit("SIGINT", "SIGINT");
    await dev.ended;

    const again = await startSubscribed(setting, ["--hold", "--capture", "held.jsonl"]);
    app.answer = (_, res) => void res.writeHead(500).end();
    await account.receiveMail();
    await says(again, /held: again in 1 s/, "out");
    again.signals.emit("SIGINT", "SIGINT");
    expect(await again.ended).toBe(0);
    expect(again.err()).toContain("has not accepted 1 of the deliveries: hookline send --from held.jsonl");
    expect(existsSync(join(cwd, "held.jsonl"))).toBe(true);
  });
});

describe("--emulator", () => {
  test("needs nothing: a first message comes by itself", async () => {
    const { app, cwd } = await prepare();
    const dev = runCli(["dev", "--to", app.url, "--emulator", "--port", "0"], { cwd });
    await says(dev, line("200", "email.created"), "out");
    expect(dev.err()).toMatch(/^Its signing secret, for the app: \S+$/m);
    dev.signals.emit("SIGINT", "SIGINT");
    expect(await dev.ended).toBe(0);
  });
});

describe("ends with 2 and what is expected for", () => {
  const to = ["--to", "http://127.0.0.1:1/in"];
  const env = { ACCESS_TOKEN: "t", SIGNING_SECRET: "s" };
  test.each([
    [[], env, "--to is missing"],
    [to, env, "Got no way from the service to this machine, expected one of --emulator"],
    [[...to, "--emulator", "--ngrok"], env, "Got --emulator and --ngrok, expected one of"],
    [[...to, "--ngrok"], env, "--account is missing, expected a number"],
    [[...to, "--emulator", "--hold"], env, "--hold needs --capture"],
    [
      [...to, "--account", "7", "--ngrok"],
      { SIGNING_SECRET: "s" },
      "authorising an account gives one, too. Without any, --emulator",
    ],
    [[...to, "--account", "7", "--ngrok"], { ACCESS_TOKEN: "t" }, "SIGNING_SECRET is not set"],
  ])("%j", async (args, given, message) => {
    const cli = runCli(["dev", ...args], { env: given });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain(message);
  });
});

describe("subscriptions that a run did not make", () => {
  test("are refused at its URL, and stay", async () => {
    const setting = await prepare();
    const { emulator, account } = setting;
    const dev = await startDev(setting, [], { before: (url) => emulator.subscribe(account, "/contacts", url) });
    expect(await dev.ended).toBe(1);
    expect(dev.err()).toContain(`The account has subscription 1001 at ${dev.url}, which this command did not make.`);
    expect(emulator.subscriptions).toMatchObject([{ id: 1001 }]);
  });

  test("are too many for --yes to be left out where there are more than 20", async () => {
    const setting = await prepare();
    const { emulator, account, app } = setting;
    for (let id = 1; id <= 21; id += 1) await emulator.subscribe(account, `/booking/${id}`, app.url);
    const dev = await startDev(setting);
    expect(await dev.ended).toBe(2);
    expect(dev.err()).toContain("The account has 21 subscriptions, so it may be one of your users.");
    const sure = await startSubscribed(setting, ["--yes"]);
    sure.signals.emit("SIGINT", "SIGINT");
    expect(await sure.ended).toBe(0);
    expect(emulator.subscriptions).toHaveLength(21);
  });

  test("and those of a run that works, of another account or API, are no leftovers", async () => {
    const setting = await prepare();
    const { emulator, account, app, cwd, env } = setting;
    await startSubscribed(setting);
    const ids = await Promise.all(
      ["/contacts", "/email/tracking"].map((resource) => emulator.subscribe(account, resource, app.url)),
    );
    const [left, other] = ids as [number, number];
    const state = { run: "killed", port: 1, api: new URL(emulator.url).href, account: account.accountId };
    const file = join(cwd, ".hookline/dev.json");
    const { runs } = JSON.parse(readFileSync(file, "utf8")) as { runs: unknown[] };
    const others = [
      { ...state, run: "other account", account: 7, made: [{ id: other, notificationUrl: app.url }] },
      { ...state, run: "other API", api: "https://example.com/", made: [{ id: other, notificationUrl: app.url }] },
    ];
    // An emulator that was started anew gives ids again.
    const made = [
      { id: left, notificationUrl: app.url },
      { id: other, notificationUrl: "https://another.example/" },
    ];
    writeFileSync(file, JSON.stringify({ runs: [...runs, { ...state, made }, ...others] }));
    const second = await startSubscribed({ ...setting, env });
    expect(second.err()).toContain("Subscriptions removed that a killed run had left: 1.");
    expect(emulator.subscriptions.map(({ id }) => id)).toEqual([1001, other, 1004]);
    second.signals.emit("SIGINT", "SIGINT");
    await second.ended;
    expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ runs: [{ made: [{ id: 1001 }] }, ...others] });
  });

  test("one that was killed while it made them has left all of its URL", async () => {
    const setting = await prepare();
    const { emulator, account, app, cwd } = setting;
    await emulator.subscribe(account, "/contacts", app.url);
    mkdirSync(join(cwd, ".hookline"));
    const state = { run: "killed", port: 1, api: new URL(emulator.url).href, account: account.accountId };
    writeFileSync(join(cwd, ".hookline/dev.json"), JSON.stringify({ runs: [{ ...state, made: [], making: app.url }] }));
    const dev = await startSubscribed(setting);
    expect(emulator.subscriptions).toMatchObject([{ notificationUrl: dev.url }]);
  });
});

test("an app that is started later is waited for, and a wrong one is told what is wrong", async () => {
  const setting = await prepare();
  const { emulator, app } = setting;
  const server = createServer((_, res) => res.writeHead(401).end());
  const port = await freePort();
  const later = { ...setting, app: { ...app, url: `http://127.0.0.1:${port}/webhooks` } };
  const dev = await startDev(later);
  await says(dev, new RegExp(`Waiting for the app .*: nothing listens on 127\\.0\\.0\\.1:${port}`));
  server.listen(port, "127.0.0.1");
  onTestFinished(() => void server.close());
  await says(dev, /Waiting for the app .*: The status is 401, expected 200\. The receiver has another secret/);
  expect(emulator.subscriptions).toEqual([]);
});
