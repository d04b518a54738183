import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { createReceiver, memoryInbox } from "../../src/index.ts";
import { nodeReceiver } from "../../adapters/http/node.ts";
import { until } from "../support/event-loop.ts";
import { serve } from "../emulator/support.ts";
import { runCli } from "./in-process.ts";

const env = { SIGNING_SECRET: "whsec" };

async function startApp() {
  const receiver = createReceiver({ secret: "whsec", inbox: memoryInbox(), log: false });
  const handled: string[] = [];
  receiver.on("*", ({ type }) => void handled.push(type));
  await receiver.start();
  return { handled, ...(await serve(nodeReceiver(receiver, { path: "/webhooks" }))) };
}

describe("hookline emulator", () => {
  test("--notify: an app sees an event of a mailbox with one command", async () => {
    const app = await startApp();
    const cli = runCli(["emulator", "--port", "0", "--notify", app.url], { env });
    await until(() => app.handled.length > 0);
    expect(app.handled).toEqual(["email.created"]);
    await until(() => cli.out().includes("acknowledged"));
    expect(cli.out()).toMatch(/account {2}2001\n {2}token {4}token_[\da-f]{24}\n {2}secret {3}whsec\n/);
    expect(cli.out()).toContain("subscription 1005: /tasklists/default/tasks\n");
    expect(cli.out()).toMatch(
      /1001 \/email\/messages created m-[\da-f]{12}, attempt 1: 200 in [\d.]+ ms, acknowledged\n$/,
    );
    cli.signals.emit("SIGINT", "SIGINT");
    expect(await cli.ended).toBe(0);
  });

  test("--notify waits for an app that is started later, and says once why", async () => {
    const { promise: port, resolve } = Promise.withResolvers<number>();
    const placeholder = createServer().listen(0, "127.0.0.1", () =>
      resolve((placeholder.address() as AddressInfo).port),
    );
    const url = `http://127.0.0.1:${await port}/webhooks`;
    await new Promise((closed) => placeholder.close(closed));
    const cli = runCli(["emulator", "--port", "0", "--notify", url], { env });
    await until(() => cli.err().includes("not subscribed yet"));
    expect(cli.err()).toMatch(/^not subscribed yet: .*ECONNREFUSED.*\n$/);
    const receiver = createReceiver({ secret: "whsec", inbox: memoryInbox(), log: false });
    const handled: string[] = [];
    receiver.on("email", ({ type }) => void handled.push(type));
    await receiver.start();
    const app = createServer(nodeReceiver(receiver)).listen(await port, "127.0.0.1");
    await until(() => handled.length > 0);
    cli.signals.emit("SIGTERM", "SIGTERM");
    expect(await cli.ended).toBe(0);
    app.closeAllConnections();
    app.close();
  });

  test("the requests that it prints do what they say", async () => {
    const app = await startApp();
    const cli = runCli(["emulator", "--port", "0", "--seed", "7", "--notify", app.url]);
    await until(() => cli.out().includes("/v1/calendars"));
    const requests = [...cli.out().matchAll(/^ {2}curl -X POST (\S+) (.*)$/gm)];
    expect(requests).toHaveLength(3);
    for (const [, url = "", rest = ""] of requests.slice(1)) {
      const headers = Object.fromEntries(
        [...rest.matchAll(/-H '([^:]+): ([^']+)'/g)].map(([, name, value]) => [name, value]),
      );
      const body = /-d '([^']+)'/.exec(rest)?.[1] ?? "";
      expect((await fetch(url, { method: "POST", headers, body })).ok, url).toBe(true);
    }
    // Another secret than the app's: the URL of a first subscription is answered by a receiver that does not know it.
    const [, url = "", rest = ""] = requests[0] ?? [];
    const authorization = /-H 'Authorization: ([^']+)'/.exec(rest)?.[1] ?? "";
    const body = /-d '([^']+)'/.exec(rest)?.[1] ?? "";
    const headers = { Authorization: authorization, "Content-Type": "application/json" };
    const refused = await fetch(url, { method: "POST", headers, body });
    expect(refused.status).toBe(400);
    expect(await refused.text()).toContain("401");
    expect(app.handled).toEqual([]);
  });

  test.each([
    [["--clock", "fast"], '--clock got "fast", expected real or virtual.'],
    [["--notify", "webhooks"], "--notify got"],
    [["--seed", "x"], "--seed got"],
    [["--give-up-after", "0"], "--give-up-after got"],
  ])("%j is wrong usage", async (args, message) => {
    const cli = runCli(["emulator", ...args]);
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain(message);
  });

  test("a port that is taken is told", async () => {
    const { url } = await serve(() => {});
    const cli = runCli(["emulator", "--port", new URL(url).port]);
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toMatch(/Port \d+ of 127\.0\.0\.1 is taken\. Give another port/);
  });
});

describe("hookline emulator load", () => {
  test("reports what was accepted, and how fast", async () => {
    const app = await startApp();
    const cli = runCli(["emulator", "load", "--to", app.url, "--rate", "200", "--seconds", "1"], { env });
    expect(await cli.ended).toBe(0);
    expect(cli.out()).toMatch(
      /^sent {6}200 in [\d.,]+ m?s\naccepted {2}\d+ per second\n200 {7}200 {2}\w[\w ]+\nlatency {3}p50 [\d.,]+ ms {2}p99 [\d.,]+ ms\n$/,
    );
    await until(() => app.handled.length === 200);
  });

  test("ends with 1 where something was not answered 200", async () => {
    let asked = 0;
    const { url } = await serve((request, response) => {
      request.resume();
      request.on("end", () => ((asked += 1) % 2 === 0 ? response.writeHead(503).end() : request.socket.destroy()));
    });
    const cli = runCli(["emulator", "load", "--to", url, "--rate", "20", "--seconds", "1"], { env });
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toMatch(/^503 +\d+ {2}/m);
    expect(cli.out()).toMatch(/^ECONNRESET +\d+ {2}no answer$/m);
  });

  test("Ctrl-C ends it with a report", async () => {
    const app = await startApp();
    const cli = runCli(["emulator", "load", "--to", app.url, "--rate", "50", "--seconds", "60"], { env });
    await until(() => app.handled.length > 3);
    cli.signals.emit("SIGINT", "SIGINT");
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toMatch(/^sent +\d+ in/);
  });
});
