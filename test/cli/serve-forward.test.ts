import { describe, expect, test } from "vitest";
import { until } from "../support/event-loop.ts";
import { freePort, send } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";
import { FORWARD_SECRET, startApp } from "./forwarded-app.ts";
import { runCli, type Run } from "./in-process.ts";
import { inboxPath } from "./inbox-file.ts";

const SIGNING_SECRET = "a secret of these tests";
const env = { SIGNING_SECRET, FORWARD_SECRET };
const KEY = FORWARD_SECRET.slice(6);

describe("hookline serve --forward-to", () => {
  test("hands events to an app instead of printing them, and never says the secret", async () => {
    const app = await startApp((res) => res.writeHead(app.got.length === 1 ? 500 : 200).end());
    const cli = gateway(["--forward-to", `${app.url}/events`]);
    await deliver(await cli.url(), "m-1");
    await until(() => app.got.length === 2);
    expect(app.got.map(({ json }) => [json.type, json.attempt])).toEqual([
      ["email.updated", 1],
      ["email.updated", 2],
    ]);
    expect(await stopped(cli)).toBe(0);
    expect(cli.out()).toBe("");
    expect(cli.err()).toContain('App \\"default\\" answered 500.');
    expect(cli.err()).not.toContain(KEY);
  });

  test("several apps each get all events, and one that is down delays no other", async () => {
    const app = await startApp();
    const down = `down=http://127.0.0.1:${await freePort()}`;
    const cli = gateway(["--forward-to", down, "--forward-to", `crm=${app.url}`]);
    const url = await cli.url();
    for (const id of ["m-1", "m-2", "m-3"]) await deliver(url, id);
    await until(() => app.got.length === 3);
    await stopped(cli);
  });

  test("takes only the events that it is told to take; others wait without a handler", async () => {
    const app = await startApp();
    const cli = gateway(["--forward-to", app.url, "--only", "contact,email.deleted"]);
    const url = await cli.url();
    await deliver(url, "m-1", "updated");
    await deliver(url, "m-2", "deleted");
    await until(() => app.got.length === 1);
    expect(app.got[0]?.json).toMatchObject({ type: "email.deleted", event: { id: "m-2" } });
    await stopped(cli);
    const unknown = gateway(["--forward-to", app.url, "--only", "mail"]);
    expect(await unknown.ended).toBe(1);
    expect(unknown.err()).toContain('got "mail". Allowed are: email.created');
  });

  test("SIGTERM waits for the app's answer to what is under way", async () => {
    const held: { end(): void }[] = [];
    const app = await startApp((res) => held.push(res));
    const cli = gateway(["--forward-to", app.url]);
    await deliver(await cli.url(), "m-1");
    await until(() => held.length === 1);
    cli.signals.emit("SIGTERM", "SIGTERM");
    await until(() => cli.err().includes("stopping"));
    held[0]?.end();
    expect(await cli.ended).toBe(0);
    expect(app.got).toHaveLength(1);
  });
});

describe("wrong usage of --forward-to", () => {
  const to = ["--forward-to", "http://127.0.0.1:8000/"];
  const secretIs = (secret: string) => ({ SIGNING_SECRET, FORWARD_SECRET: secret });

  test.each<[string, readonly string[], string, Record<string, string>?]>([
    ["without an inbox", to, "Got --forward-to without --inbox"],
    ["flags without it", ["--inbox", "x.db", "--only", "email"], "Got --only without --forward-to. Give that too."],
    ["one name twice", ["--inbox", "x.db", ...to, ...to], '--forward-to got the name "default" twice.'],
    ["no URL", ["--inbox", "x.db", "--forward-to", "crm=ftp://x"], "expected a URL with http:// or https://"],
    ["a password in the URL", ["--inbox", "x.db", "--forward-to", "http://u:p@x/"], "without a password"],
    ["the address of metadata", ["--inbox", "x.db", "--forward-to", "http://0xA9FEA9FE/"], "got 169.254.169.254"],
    [
      "the same in IPv6",
      ["--inbox", "x.db", "--forward-to", "http://[::ffff:169.254.169.254]/"],
      "got ::ffff:a9fe:a9fe",
    ],
    ["no secret", ["--inbox", "x.db", ...to], "FORWARD_SECRET is not set. Make one with:", { SIGNING_SECRET }],
    ["a secret without its prefix", ["--inbox", "x.db", ...to], "does not begin with whsec_", secretIs(KEY)],
    [
      "one that is no base64",
      ["--inbox", "x.db", ...to],
      "is no base64 with its padding",
      secretIs(`whsec_${KEY.slice(0, -1)}`),
    ],
    [
      "base64 of URLs",
      ["--inbox", "x.db", ...to],
      "is no base64 with its padding",
      secretIs(`whsec_${"_-".repeat(20)}`),
    ],
    ["a short one", ["--inbox", "x.db", ...to], "has 3 bytes, expected 24 to 64", secretIs("whsec_aGV5")],
    ["an empty flag", ["--inbox", "x.db", ...to, "--forward-secret", ""], "--forward-secret got"],
  ])("%s is refused, with the fix and without the secret", async (_name, args, message, given = env) => {
    const cli = runCli(["serve", "--port", "0", ...args], { env: given });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain(message);
    expect(cli.err()).not.toContain(KEY.slice(0, -1));
  });
});

function gateway(args: readonly string[]): Run {
  return runCli(["serve", "--port", "0", "--inbox", inboxPath(), ...args], { env });
}

async function stopped(cli: Run): Promise<number> {
  cli.signals.emit("SIGTERM", "SIGTERM");
  return cli.ended;
}

async function deliver(url: string, id: string, changeType = "updated"): Promise<void> {
  const body = bodyOf({ payloads: [change(id, changeType)] });
  expect(await send(url, { body, headers: signedHeaders(body, { secret: SIGNING_SECRET }) })).toMatchObject({
    status: 200,
  });
}
