import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { Writable } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { turns, until } from "../support/event-loop.ts";
import { dial, headersText, send } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";
import { startCli } from "./child.ts";
import { runCli, type RunOptions } from "./in-process.ts";

const env = { SIGNING_SECRET: "a secret of these tests" };
const created = bodyOf({ payloads: [change("m-1", "created")] });

describe("in this process", () => {
  test("prints each handled event as a line of JSON, whatever it is", async () => {
    const cli = serve();
    const url = await cli.url();
    for (const body of [created, bodyOf({ payloads: null }), bodyOf({ resource: "/notes" }), "no JSON"])
      await deliver(url, body);
    await until(() => cli.out().split("\n").length > 4);
    expect(eventsOf(cli.out())).toEqual([
      ["email.created", 1, 1],
      ["email.signal", 1, 1],
      ["unknown", 1, 1],
      ["unknown", 1, 1],
    ]);
  });

  test("says how many changes of one record came as a line", async () => {
    const held: (() => void)[] = [];
    let out = "";
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, done) {
        out += chunk.toString();
        held.push(done);
      },
    });
    const url = await serve({ stdout }).url();
    for (let count = 0; count < 4; count += 1) await deliver(url, created);
    await until(() => held.length === 1);
    held[0]?.();
    await until(() => held.length === 2);
    held[1]?.();
    expect(eventsOf(out)).toEqual([
      ["email.created", 1, 1],
      ["email.created", 1, 3],
    ]);
  });

  test("accepts the old secret as well, while it is changed", async () => {
    const old = { secret: "the one before" };
    const headers = signedHeaders(created, old);
    expect((await send(await serve().url(), { body: created, headers })).status).toBe(401);
    const changing = await serve({ env: { ...env, OLD_SIGNING_SECRET: old.secret } }).url();
    expect((await send(changing, { body: created, headers })).status).toBe(200);
    expect((await deliver(changing)).status).toBe(200);
  });

  test("listens where it is told to, and answers other paths with 404", async () => {
    const cli = serve({}, ["--path", "/hooks/mail", "--host", "localhost"]);
    const url = await cli.url();
    expect(url).toMatch(/^http:\/\/(127\.0\.0\.1|\[::1\]):\d+\/hooks\/mail$/);
    expect((await deliver(url)).status).toBe(200);
    expect((await deliver(new URL("/webhooks", url).href)).status).toBe(404);
  });

  test("answers the verification handshake", async () => {
    const url = await serve().url();
    const answer = await send(`${url}?validationToken=a%20token`, { body: "", headers: signedHeaders("", secret()) });
    expect(answer).toMatchObject({ status: 200, body: "a token" });
  });

  test("logs a forged delivery, as JSON for machines and as text for people", async () => {
    const [machine, person] = [serve(), serve({ terminal: true })];
    for (const cli of [machine, person]) {
      const answer = await send(await cli.url(), {
        body: created,
        headers: signedHeaders(created, { secret: "another" }),
      });
      expect(answer.status).toBe(401);
    }
    const lines = machine
      .err()
      .trimEnd()
      .split("\n")
      .map((line) => JSON.parse(line) as object);
    expect(lines).toEqual([
      expect.objectContaining({ level: 30, name: "hookline", msg: "listening", url: await machine.url() }),
      expect.objectContaining({ level: 40, code: "signature-wrong", status: 401 }),
    ]);
    const [first, second] = person.err().split("\n");
    expect(first).toMatch(/^\d\d:\d\d:\d\d info {2}listening {2}url=http:\S+$/);
    expect(second).toMatch(/^\d\d:\d\d:\d\d warn {2}.+\. {2}code=signature-wrong {2}status=401 {2}fix=.+\.$/);
  });

  test.each(["SIGTERM", "SIGINT"])(
    "%s takes nothing more in, prints what was taken in, and ends with 0",
    async (signal) => {
      const held: (() => void)[] = [];
      const stdout = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void held.push(done) });
      const cli = serve({ stdout });
      const url = await cli.url();
      await deliver(url, created);
      await deliver(url, bodyOf({ payloads: [change("m-2")] }));
      await until(() => held.length === 1);

      vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
      onTestFinished(() => void vi.useRealTimers());
      cli.signals.emit(signal, signal);
      await until(() => cli.err().includes("stopping"));
      await expect(deliver(url)).rejects.toThrow("ECONNREFUSED");
      held[0]?.();
      await until(() => held.length === 2);
      held[1]?.();
      expect(await cli.ended).toBe(0);
      expect(cli.signals.listenerCount(signal)).toBe(0);
      expect(cli.exit).not.toHaveBeenCalled();
    },
  );

  test("a second signal ends the process at once with 1", async () => {
    const cli = serve();
    const wire = await dial(Number(new URL(await cli.url()).port));
    wire.write(headersText({ "Content-Length": "5" }));
    await turns();
    cli.signals.emit("SIGTERM", "SIGTERM");
    expect(cli.exit).not.toHaveBeenCalled();
    cli.signals.emit("SIGINT", "SIGINT");
    expect(cli.exit.mock.calls).toEqual([[1]]);
  });

  test("what cannot be printed in time is told, and ends the process with 1", async () => {
    const cli = serve({ stdout: new Writable({ write() {} }) });
    const url = await cli.url();
    await deliver(url, created);
    await deliver(url, created);
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    cli.signals.emit("SIGTERM", "SIGTERM");
    await until(() => {
      vi.advanceTimersByTime(1_000);
      return cli.exit.mock.calls.length > 0;
    });
    expect(cli.exit.mock.calls).toEqual([[1]]);
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toContain(
      '"msg":"the reader did not take all lines in time: events that were stored in memory are lost"',
    );
  });

  test("a reader that left ends it quietly with 0", async () => {
    const cli = serve({ stdout: broken("EPIPE") });
    await deliver(await cli.url());
    expect(await cli.ended).toBe(0);
    expect(cli.err().trimEnd().split("\n")).toEqual([expect.stringContaining("listening")]);
  });

  test("a stdout that fails ends it with 1 and the reason", async () => {
    const cli = serve({ stdout: broken("ENOSPC") });
    await deliver(await cli.url());
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toContain("hookline serve: stdout takes no more lines: it failed with ENOSPC.\n");
  });

  test("a port in use ends it with 1 and the way out", async () => {
    const port = await takenPort();
    const cli = serve({}, ["--port", String(port)]);
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toBe(
      `hookline serve: Port ${port} on 127.0.0.1 is in use. Stop what listens there, or take another: --port 0 takes any free one.\n`,
    );
  });

  test("an address of another machine ends it with 1", async () => {
    const cli = serve({}, ["--host", "192.0.2.1"]);
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toBe(
      "hookline serve: 192.0.2.1 is no address of this machine. --host takes one of its own, such as 127.0.0.1, or 0.0.0.0 for all.\n",
    );
  });
});

describe("as a process", () => {
  test("prints exactly one line for a signed delivery, and ends with 0 on SIGTERM", async () => {
    const cli = startCli(["serve", "--port", "0"], env);
    const [url] = await cli.says("err", /http:[^"]+/);
    expect((await deliver(url)).status).toBe(200);
    await cli.says("out", /\n/);
    const { jobId } = JSON.parse(cli.out()) as { jobId: string };
    expect(cli.out()).toBe(
      `{"name":"email.created","jobId":"${jobId}","attempt":1,"merged":1,"event":{"id":"m-1","changeType":"created","subscription":1001,"accountId":2002,"resource":"/email/messages","type":"email.created"}}\n`,
    );
    cli.kill("SIGTERM");
    expect(await cli.ended).toBe(0);
  });

  test("answers and prints a delivery that was on its way when SIGTERM came", async () => {
    const cli = startCli(["serve", "--port", "0"], env);
    const [url] = await cli.says("err", /http:[^"]+/);
    const headers = { ...signedHeaders(created, secret()), "Content-Length": String(created.length) };
    const wire = await dial(Number(new URL(url).port));
    wire.write(headersText({ ...headers, Expect: "100-continue" }, "POST /webhooks HTTP/1.1"));
    await until(() => wire.text().includes("100 Continue"));

    cli.kill("SIGTERM");
    await cli.says("err", /stopping/);
    wire.write(created);
    await wire.closed;
    expect(wire.text()).toContain("HTTP/1.1 200 OK");
    expect(await cli.ended).toBe(0);
    expect(eventsOf(cli.out())).toEqual([["email.created", 1, 1]]);
  });

  test("a second signal ends it at once with 1", async () => {
    const cli = startCli(["serve", "--port", "0"], env);
    const [url] = await cli.says("err", /http:[^"]+/);
    const wire = await dial(Number(new URL(url).port));
    wire.write(headersText({ ...signedHeaders("", secret()), "Content-Length": "5", Expect: "100-continue" }));
    await until(() => wire.text() !== "");
    cli.kill("SIGINT");
    await cli.says("err", /stopping/);
    cli.kill("SIGINT");
    expect(await cli.ended).toBe(1);
  });

  test("ends quietly with 0 when its reader leaves", async () => {
    const cli = startCli(["serve", "--port", "0"], env);
    const [url] = await cli.says("err", /http:[^"]+/);
    cli.stdout.destroy();
    await deliver(url);
    expect(await cli.ended).toBe(0);
    expect(cli.err().trimEnd().split("\n")).toEqual([expect.stringContaining("listening")]);
  });

  test("ends with 1 when its port is in use", async () => {
    const port = await takenPort();
    const cli = startCli(["serve", "--port", String(port)], env);
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toContain(`Port ${port} on 127.0.0.1 is in use.`);
  });
});

function serve(options: RunOptions = {}, args: readonly string[] = []) {
  return runCli(["serve", ...(args.includes("--port") ? args : ["--port", "0", ...args])], { env, ...options });
}

function secret(): { readonly secret: string } {
  return { secret: env.SIGNING_SECRET };
}

function deliver(url: string, body = created) {
  return send(url, { body, headers: signedHeaders(body, secret()) });
}

function eventsOf(lines: string): readonly (readonly unknown[])[] {
  return lines
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Record<string, unknown>)
    .map(({ name, attempt, merged }) => [name, attempt, merged]);
}

/** A stdout whose every write fails. */
function broken(code: string): Writable {
  const error = Object.assign(new Error(`it failed with ${code}`), { code });
  return new Writable({ write: (_chunk, _encoding, done) => done(error) });
}

/** A port that somebody listens on until the test ends. */
async function takenPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
