import { Writable } from "node:stream";
import { createReceiver, memoryInbox } from "hookline";
import { nodeReceiver } from "hookline/node";
import { describe, expect, onTestFinished, test } from "vitest";
import { serve, startEmulator } from "../emulator/support.ts";
import { runCli } from "./in-process.ts";

async function start(receiverSecret?: string) {
  const emulator = await startEmulator();
  const account = await emulator.account();
  const { secret, clock } = emulator;
  const receiver = createReceiver({ secret: receiverSecret ?? secret, inbox: memoryInbox(), clock, log: false });
  onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
  const { url } = await serve(nodeReceiver(receiver));
  return {
    emulator,
    account,
    url,
    async hookline(command: string, ...more: readonly string[]) {
      const args = ["subscriptions", ...command.split(" "), "--api", emulator.url, ...more];
      const cli = runCli(args, { env: { ACCESS_TOKEN: account.token } });
      const code = await cli.ended;
      return { code, out: cli.out(), err: cli.err() };
    },
  };
}

test("a plan is printed, applied, listed, pruned and deleted", async () => {
  const { emulator, account, url, hookline } = await start();
  await emulator.subscribe(account, "/contacts", url);
  const planned = await hookline("plan /email/messages /contacts --prune", "--to", url);
  expect(planned).toEqual({
    code: 0,
    err: "",
    out: [
      "STEP    ID     RESOURCE         URL",
      `create  (new)  /email/messages  ${url}`,
      `keep    1001   /contacts        ${url}`,
      "",
    ].join("\n"),
  });
  expect(emulator.subscriptions).toHaveLength(1);

  const args = ["--to", url, "--json"];
  const steps = (out: string): unknown[] =>
    out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
  const applied = await hookline("apply /email/messages", ...args);
  expect(steps(applied.out)).toEqual([{ step: "create", resource: "/email/messages", notificationUrl: url }]);
  const again = await hookline("apply /email/messages --prune", ...args);
  expect(steps(again.out)).toEqual([
    { step: "delete", id: 1001, resource: "/contacts", notificationUrl: url },
    { step: "keep", id: 1002, resource: "/email/messages", notificationUrl: url },
  ]);

  await account.expireCredentials();
  expect((await hookline("list")).out).toContain(
    `1002  /email/messages  Active token is missing, since 2026-01-02T03:04:05.000Z  ${url}\n`,
  );
  expect(steps((await hookline("list --json")).out)).toMatchObject([{ id: 1002, active: false }]);
  expect(await hookline("delete 1002")).toEqual({ code: 0, out: "Deleted subscription 1002.\n", err: "" });
  expect(await hookline("list")).toEqual({ code: 0, out: "", err: "There are no subscriptions.\n" });
});

test("a reader of the list that has seen enough, such as head, is no failure", async () => {
  const { emulator, account, url } = await start();
  for (const resource of ["/contacts", "/tasklists/primary/tasks"]) await emulator.subscribe(account, resource, url);
  const left = Object.assign(new Error("write EPIPE"), { code: "EPIPE" });
  for (const [taken, end] of [
    [1, [0, ""]],
    [0, [1, "hookline subscriptions list: stdout was closed before anything was printed.\n"]],
  ] as const) {
    let lines = 0;
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done((lines += 1) > taken ? left : null) });
    const args = ["subscriptions", "list", "--json", "--api", emulator.url];
    const cli = runCli(args, { env: { ACCESS_TOKEN: account.token }, stdout });
    expect([await cli.ended, cli.err()]).toEqual(end);
  }
});

describe("ends with 1 and the cause where", () => {
  test("the receiver does not verify the URL", async () => {
    const { url, hookline } = await start("another");
    const { code, out, err } = await hookline("apply /email/messages", "--to", url);
    expect({ code, out }).toEqual({ code: 1, out: "" });
    expect(err).toContain(`The service refused /email/messages at ${url} with 400 (notificationUrl.notValid).`);
    expect(err).not.toContain("    at ");
    expect(err).not.toContain("Account 0");
  });

  test("nothing answers there", async () => {
    const { hookline, emulator } = await start();
    await emulator.close();
    const { code, err } = await hookline("list");
    expect([code, err]).toEqual([1, expect.stringMatching(/no answer came \(ECONN[A-Z]+\)\. Look at `baseUrl`/)]);
  });

  test("there is no such subscription, or the token is wrong", async () => {
    const { account, url, hookline, emulator } = await start();
    const { code, err } = await hookline("delete 7");
    expect({ code, err }).toMatchObject({ code: 1, err: expect.stringContaining("the service answered 404") });
    expect(err).toContain("Look at the id");
    const args = ["subscriptions", "plan", "--to", url, "/contacts", "--api", emulator.url];
    const cli = runCli(args, { env: { ACCESS_TOKEN: `${account.token}x` } });
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toContain("the service answered 401");
    expect(cli.err()).not.toContain(account.token);
  });
});

describe("ends with 2 and what is expected for", () => {
  test.each([
    ["list", {}, "ACCESS_TOKEN is not set."],
    ["list", { ACCESS_TOKEN: " " }, "ACCESS_TOKEN is empty."],
    ["plan --to http://localhost/", { ACCESS_TOKEN: "t" }, "RESOURCE is missing, expected a resource such as /email"],
    ["plan /contacts", { ACCESS_TOKEN: "t" }, "--to is missing"],
    ["plan contacts --to http://localhost/", { ACCESS_TOKEN: "t" }, 'RESOURCE got "contacts"'],
    ["list --api ftp://x", { ACCESS_TOKEN: "t" }, '--api got "ftp://x", expected a URL such as'],
    ["lst", {}, "There is no command lst. Allowed: list, plan, apply, delete."],
    ["", {}, "The command is missing. Allowed: list, plan, apply, delete."],
  ])("%s", async (command, env, message) => {
    const cli = runCli(["subscriptions", ...command.split(" ").filter((word) => word !== "")], { env });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain(message);
  });
});
