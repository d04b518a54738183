import { chmodSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import tls from "node:tls";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { eventually } from "../support/eventually.ts";
import { runCli } from "./in-process.ts";
import { prepare, says, startDev, startSubscribed } from "./dev/start-dev.ts";

const folder = join(import.meta.dirname, "dev");
const tunnel = `"${process.execPath}" --disable-warning=ExperimentalWarning "${join(folder, "tunnel-program.ts")}" {port}`;
const known = tls.getCACertificates("default");

beforeAll(() => tls.setDefaultCACertificates([...known, readFileSync(join(folder, "cert.pem"), "utf8")]));
afterAll(() => tls.setDefaultCACertificates(known));

describe("--tunnel", () => {
  test("the first URL that leads here is taken; another one moves the subscriptions, and its end is the command's", async () => {
    const setting = await prepare();
    const { emulator, account, app } = setting;
    const dev = await startSubscribed(setting, ["--tunnel", tunnel]);
    const origin = () => new URL(emulator.subscriptions[0]?.notificationUrl ?? "").origin;
    const first = origin();
    expect(first).toMatch(/^https:\/\/127\.0\.0\.1:\d+$/);
    await account.receiveMail();
    await eventually(() => expect(app.requests).toHaveLength(1));

    await fetch(`${first}/-/move`);
    await eventually(() => expect(emulator.subscriptions).toMatchObject([{ id: 1002 }]));
    const second = origin();
    expect(second).not.toBe(first);
    await account.receiveMail();
    await eventually(() => expect(app.requests).toHaveLength(2));

    await fetch(`${second}/-/crash`).catch(() => {});
    expect(await dev.ended).toBe(1);
    expect(dev.err()).toMatch(/tunnel-ended: .*: it ended with 3\. It printed:\n/);
    expect(emulator.journal.every(({ status }) => status === 200)).toBe(true);
    expect(emulator.subscriptions).toEqual([]);
  });

  test("one that ends, or is not there, is tunnel-silent with what it printed", async () => {
    const setting = await prepare();
    const dev = await startDev(setting, ["--tunnel", "echo port {port} >&2; exit 4"]);
    expect(await dev.ended).toBe(1);
    expect(dev.err()).toContain(
      `tunnel-silent: echo port {port} >&2; exit 4: it ended with 4. It printed:\nport ${dev.port}`,
    );
    expect(setting.emulator.subscriptions).toEqual([]);
  });

  test("--ngrok runs ngrok with this port", async () => {
    const setting = await prepare();
    const ngrok = join(setting.cwd, "ngrok");
    writeFileSync(
      ngrok,
      `#!/bin/sh\necho "lvl=info asked=$*" >"$0.asked"\nexec ${tunnel.replace("{port}", '"${2##*:}"')}\n`,
    );
    chmodSync(ngrok, 0o755);
    const env = { ...setting.env, PATH: `${setting.cwd}:${process.env["PATH"]}` };
    const dev = await startSubscribed({ ...setting, env }, ["--ngrok"]);
    expect(readFileSync(`${ngrok}.asked`, "utf8")).toBe(`lvl=info asked=http 127.0.0.1:${dev.port} --log stdout\n`);
    expect(setting.emulator.subscriptions).toMatchObject([{ notificationUrl: expect.stringMatching(/^https:/) }]);
  });
});

describe("the app behind --", () => {
  const print = (code: string): string[] => ["--", process.execPath, "-e", code];

  test("has the secret, prints on stderr, and its exit code is the command's", async () => {
    const setting = await prepare();
    const code = `console.log("secret", process.env.SIGNING_SECRET.length); setTimeout(() => process.exit(7), 1000)`;
    const dev = await startSubscribed(setting, print(code));
    await says(dev, new RegExp(`^secret ${setting.emulator.secret.length}$`, "m"));
    expect(await dev.ended).toBe(7);
    expect(setting.emulator.subscriptions).toEqual([]);
  });

  test("ends with the command, and all that it started", async () => {
    const setting = await prepare();
    const child = `require("child_process").spawn(process.execPath, ["-e", "console.log('inner', process.pid); setInterval(() => {}, 1e6)"], { stdio: "inherit" }); setInterval(() => {}, 1e6)`;
    const dev = await startSubscribed(setting, print(child));
    await says(dev, /^inner \d+$/m);
    const pid = Number(/^inner (\d+)$/m.exec(dev.err())?.[1]);
    dev.signals.emit("SIGHUP", "SIGHUP");
    expect(await dev.ended).toBe(0);
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
  });

  test("is killed by a second Ctrl-C", async () => {
    const setting = await prepare();
    const stubborn = `process.on("SIGTERM", () => {}); console.log("pid", process.pid); setInterval(() => {}, 1e6)`;
    const dev = await startSubscribed(setting, print(stubborn));
    await says(dev, /^pid \d+$/m);
    const pid = Number(/^pid (\d+)$/m.exec(dev.err())?.[1]);
    dev.signals.emit("SIGINT", "SIGINT");
    dev.signals.emit("SIGINT", "SIGINT");
    expect(dev.exit).toHaveBeenCalledWith(1);
    await eventually(() => expect(() => process.kill(pid, 0)).toThrow("ESRCH"));
  });

  test("that is no program is told", async () => {
    const dev = await startDev(await prepare(), ["--", "no-such-program"]);
    expect(await dev.ended).toBe(1);
    expect(dev.err()).toContain("no-such-program cannot be started: there is no such program.");
  });
});

test("a --url that leads elsewhere makes no subscription, and is told", async () => {
  const { emulator, account, app, cwd, env } = await prepare();
  const of = ["--account", String(account.accountId), "--api", emulator.url];
  const dev = runCli(["dev", "--to", app.url, "--port", "0", "--url", app.url, ...of], { cwd, env });
  await says(dev, /^Waiting for the app .*: http:\S+\/webhooks does not lead here: status 200$/m);
  expect(emulator.subscriptions).toEqual([]);
  dev.signals.emit("SIGINT", "SIGINT");
  expect(await dev.ended).toBe(0);
});
