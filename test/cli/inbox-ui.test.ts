import { describe, expect, test } from "vitest";
import { until } from "../support/event-loop.ts";
import { mailBody } from "../support/job-fixtures.ts";
import { send } from "../support/http.ts";
import { fileWith, inboxPath, offer, shop } from "./inbox-file.ts";
import { runCli } from "./in-process.ts";

const HEADERS = { "X-Hookline": "1", "Sec-Fetch-Site": "same-origin", "Content-Type": "application/json" };
const BAD = mailBody(2002, ["bad-1", "bad-2"]);

describe("hookline inbox ui", () => {
  test("shows what is in a file that nobody works on, and writes nothing", async () => {
    const { url } = await started(await fileWith([BAD]));
    expect(await read(url, "now")).toMatchObject({
      role: "not-worked-on",
      dead: 2,
      problems: [{ code: "dead-letters" }],
    });
    expect(await read(url, "dead")).toMatchObject({ count: 2, rights: { content: false, change: false } });
    const { body } = await send(`${url}api/dead?type=email.updated`, { method: "GET" });
    expect(body).not.toMatch(/bad-1|ann@example/);
    expect(await change(url, "drop", { filter: {}, count: 2 })).toMatchObject({ status: 403 });
    expect(await read(url, "dead")).toMatchObject({ count: 2 });
  });

  test("with --write and --show-content changes go to the process that works on the file", async () => {
    const file = inboxPath();
    const receiver = shop(file);
    await receiver.start();
    await offer(receiver, [BAD]);
    await expect.poll(async () => (await receiver.health()).dead).toBe(2);
    const { url, cli } = await started(file, "--write", "--show-content");
    expect(await read(url, "now")).toMatchObject({ role: "worked-on" });
    expect(await read(url, "dead?type=email.updated")).toMatchObject({
      jobs: [{ error: { message: "no bad-2 for ann@example.com" } }, {}],
    });
    expect(await change(url, "drop", { filter: {}, count: 2 })).toMatchObject({ status: 200 });
    await expect.poll(async () => (await receiver.health()).dead).toBe(0);
    expect(cli.err()).toMatch(/"who":"hookline inbox ui".*"verb":"drop"/);
    cli.signals.emit("SIGINT", "SIGINT");
    expect(await cli.ended).toBe(0);
    await receiver.close();
  });

  test("only who has the URL is answered, by a name of this machine", async () => {
    const { url } = await started(await fileWith([BAD]));
    expect(url).toMatch(/^http:\/\/127\.0\.0\.1:\d+\/[\w-]{22}\/$/);
    const { origin } = new URL(url);
    for (const path of ["/", "/api/now", "/x/api/now", "/page/page.css"])
      expect(await send(origin + path, { method: "GET" })).toMatchObject({ status: 404 });
    expect(await send(url, { method: "GET", headers: { Host: "evil.example" } })).toMatchObject({ status: 403 });
    expect(await send(url, { method: "GET" })).toMatchObject({ status: 200 });
  });

  test("a file that is not there is not made", async () => {
    const cli = runCli(["inbox", "ui", "--inbox", inboxPath()]);
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toContain("inbox-missing");
  });
});

async function started(file: string, ...flags: readonly string[]) {
  const cli = runCli(["inbox", "ui", "--inbox", file, ...flags]);
  await until(() => /^http\S+/m.test(cli.out()));
  const url = /^http\S+/m.exec(cli.out())?.[0] ?? "";
  return { url, cli };
}

async function read(url: string, path: string): Promise<unknown> {
  return JSON.parse((await send(`${url}api/${path}`, { method: "GET" })).body);
}

function change(url: string, verb: string, body: object) {
  return send(`${url}api/${verb}`, { headers: HEADERS, body: JSON.stringify(body) });
}
