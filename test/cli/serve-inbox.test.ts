import { Writable } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { until } from "../support/event-loop.ts";
import { send, serve as serveHttp } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";
import { runCli, type RunOptions } from "./in-process.ts";
import { inboxPath } from "./inbox-file.ts";

const env = { SIGNING_SECRET: "a secret of these tests" };

describe("hookline serve --inbox", () => {
  test("a line whose reader left comes again after the next start", async () => {
    const file = inboxPath();
    const left = Object.assign(new Error("left"), { code: "EPIPE" });
    const first = serve(file, { stdout: new Writable({ write: (_chunk, _encoding, done) => done(left) }) });
    await deliver(await first.url(), "m-1");
    expect(await first.ended).toBe(0);
    expect(first.err()).not.toContain("lost");

    const second = serve(file);
    await second.url();
    await until(() => second.out().includes('"id":"m-1"'));
    expect(JSON.parse(second.out())).toMatchObject({ attempt: 1 });
    second.signals.emit("SIGTERM", "SIGTERM");
    expect(await second.ended).toBe(0);
  });

  test("what was not printed in time is stored, and that is told", async () => {
    const file = inboxPath();
    const write = vi.fn<() => void>();
    const first = serve(file, { stdout: new Writable({ write }) });
    const url = await first.url();
    for (const id of ["m-1", "m-2"]) await deliver(url, id);
    await until(() => write.mock.calls.length > 0);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    first.signals.emit("SIGTERM", "SIGTERM");
    // Five times as fast, and no faster, nor by leaps where the machine is busy: what the commit thread takes is real.
    let then = performance.now();
    await until(() => {
      const now = performance.now();
      vi.advanceTimersByTime(Math.min(5 * (now - then), 100));
      then = now;
      return first.exit.mock.calls.length > 0;
    });
    expect(first.exit.mock.calls).toEqual([[1]]);
    expect(await first.ended).toBe(1);
    expect(first.err()).toContain(
      '"msg":"the reader did not take all lines in time: they are stored, and come again at the next start"',
    );
  });

  test("where its port is in use it leaves the file to others", async () => {
    const file = inboxPath();
    const taken = await serveHttp(() => {});
    const first = runCli(["serve", "--port", new URL(taken.url).port, "--inbox", file], { env });
    expect(await first.ended).toBe(1);
    const second = serve(file);
    await second.url();
    expect(second.err()).not.toContain("another process works");
  });

  test("stands by where another works on the file, and says so", async () => {
    const file = inboxPath();
    const first = serve(file);
    await first.url();
    const second = serve(file);
    await deliver(await second.url(), "m-1");
    await until(() => first.out().includes('"id":"m-1"'));
    expect(second.err()).toContain("another process works on the inbox");
    expect(second.out()).toBe("");
  });
});

function serve(file: string, options: RunOptions = {}) {
  return runCli(["serve", "--port", "0", "--inbox", file], { env, ...options });
}

async function deliver(url: string, id: string): Promise<void> {
  const body = bodyOf({ payloads: [change(id)] });
  expect(await send(url, { body, headers: signedHeaders(body, { secret: env.SIGNING_SECRET }) })).toMatchObject({
    status: 200,
  });
}
