import { once } from "node:events";
import { createServer, type AddressInfo } from "node:net";
import { networkInterfaces } from "node:os";
import { Writable } from "node:stream";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { until } from "../support/event-loop.ts";
import { dial, freePort, headersText, send, type Sent } from "../support/http.ts";
import { bodyOf } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";
import { startCli } from "./child.ts";
import { runCli, type RunOptions } from "./in-process.ts";

const addresses = Object.values(networkInterfaces()).flatMap((all) => all ?? []);
const noIpv6 = !addresses.some(({ address }) => address === "::1");
/** An address of this machine beside 127.0.0.1. */
const elsewhere = addresses.find(({ family, internal }) => family === "IPv4" && !internal)?.address ?? "127.0.0.2";
const env = { SIGNING_SECRET: "a secret of these tests" };

describe("hookline serve --admin-port", () => {
  test("tells that it lives and is ready, and how it stands", async () => {
    const { admin, url } = await serve();
    expect(await deliver(url)).toMatchObject({ status: 200 });
    expect(await ask(`${admin}/livez`)).toMatchObject({ status: 200, body: '{"live":true}\n' });
    expect(await ask(`${admin}/readyz?verbose`)).toMatchObject({ status: 200, body: '{"ready":true}\n' });
    const { status, headers, body } = await ask(`${admin}/stats`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "application/json",
      "cache-control": "no-store",
      "x-content-type-options": "nosniff",
    });
    expect(JSON.parse(body)).toMatchObject({
      stats: { role: "working", stored: 1, answered: { 200: 1 } },
      health: { live: true, ready: true, problems: [], waiting: 0 },
    });
  });

  test("gives metrics to Prometheus, from the start", async () => {
    const { admin, url } = await serve();
    expect(await deliver(url)).toMatchObject({ status: 200 });
    const { status, headers, body } = await ask(`${admin}/metrics`);
    expect(status).toBe(200);
    expect(headers).toMatchObject({
      "content-type": "text/plain; version=0.0.4; charset=utf-8",
      "cache-control": "no-store",
    });
    expect(body).toContain('hookline_requests_total{status="200"} 1\n');
    expect(body).toContain('hookline_attempts_failed_total{consumer="default",type="email.created"} 0\n');
    expect(await ask(`${admin}/metrics`, { headers: { Host: "evil.example" } })).toMatchObject({ status: 403 });
  });

  test("has the dashboard, without content and changes", async () => {
    const { admin, url } = await serve();
    expect(await deliver(url)).toMatchObject({ status: 200 });
    expect(await ask(`${admin}/ui`)).toMatchObject({ status: 302, headers: { location: "ui/" } });
    expect(await ask(`${admin}/ui/`)).toMatchObject({
      status: 200,
      body: expect.stringContaining("<title>Hookline") as string,
    });
    const { body } = await ask(`${admin}/ui/api/now`);
    expect(JSON.parse(body)).toMatchObject({ role: "working", rights: { content: false, change: false } });
    expect(await ask(`${admin}/ui/`, { headers: { Host: "evil.example" } })).toMatchObject({ status: 403 });
    const { admin: open } = await serve(["--admin-host", "0.0.0.0"]);
    expect(await ask(`${open}/ui/`)).toMatchObject({
      status: 403,
      body: expect.stringContaining("hookline inbox ui") as string,
    });
  });

  test("tells problems with their fixes, but no content, and no secret", async () => {
    const { admin, url } = await serve();
    const body = bodyOf({ payloads: "ann@example.com" });
    await send(url, { body, headers: { ...signedHeaders(body, secret), "Content-Encoding": "gzip" } });
    await send(url, { body, headers: signedHeaders(body, secret) });
    const { body: text } = await ask(`${admin}/stats`);
    expect(JSON.parse(text)).toMatchObject({
      stats: { refused: { "content-encoding": 1 } },
      health: { ready: true, problems: [{ code: "content-encoding", fix: expect.any(String) as string }] },
    });
    expect(text).not.toMatch(/ann|a secret of these tests|127\.0\.0\.1/);
  });

  test("answers HEAD without a body, other methods with 405, and other paths with 404", async () => {
    const { admin } = await serve();
    const head = await ask(`${admin}/stats`, { method: "HEAD" });
    expect(head).toMatchObject({ status: 200, body: "" });
    expect(Number(head.headers["content-length"])).toBeGreaterThan(100);
    for (const method of ["POST", "PUT", "DELETE", "OPTIONS"]) {
      const answer = await ask(`${admin}/livez`, { method });
      expect([method, answer.status, answer.headers["allow"]]).toEqual([method, 405, "GET, HEAD"]);
      expect(JSON.parse(answer.body)).toEqual({ error: expect.any(String) as string });
    }
    for (const path of ["/", "/livez/", "/webhooks", "//livez", "/LIVEZ", "http://localhost/livez"])
      expect([path, (await ask(admin, { path })).status]).toEqual([path, 404]);
  });

  test("is for this machine alone: a page whose name resolves to it learns nothing", async () => {
    const { admin, port } = await serve();
    expect(new URL(admin).hostname).toBe("127.0.0.1");
    for (const host of ["127.0.0.1", "localhost", "LOCALHOST", "[::1]", `localhost:${port}`, `[::1]:${port}`])
      expect([host, (await ask(`${admin}/livez`, { headers: { Host: host } })).status]).toEqual([host, 200]);
    for (const host of ["evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "192.0.2.1", "[::2]"]) {
      const { status, body } = await ask(`${admin}/stats`, { headers: { Host: host } });
      expect([host, status, Object.keys(JSON.parse(body) as object)]).toEqual([host, 403, ["error"]]);
    }
    for (const head of ["GET /livez HTTP/1.0\r\n\r\n", "GET /livez HTTP/1.0\r\nHost:\r\n\r\n"]) {
      const wire = await dial(port);
      wire.write(head);
      await wire.closed;
      expect(wire.text()).toContain("403 Forbidden");
    }
  });

  test("stays on 127.0.0.1 when deliveries may come from elsewhere", async () => {
    const { admin } = await serve(["--host", "0.0.0.0"]);
    expect(new URL(admin).hostname).toBe("127.0.0.1");
  });

  test("with --admin-host tells whoever reaches that address, by whatever name", async () => {
    const { admin, url, port } = await serve(["--admin-host", "0.0.0.0"]);
    expect([new URL(admin).hostname, new URL(url).hostname]).toEqual(["0.0.0.0", "127.0.0.1"]);
    for (const address of [elsewhere, "127.0.0.1"])
      for (const host of [`${address}:${port}`, "inbox.svc.cluster.local"])
        expect([
          address,
          host,
          (await ask(`http://${address}:${port}/readyz`, { headers: { Host: host } })).status,
        ]).toEqual([address, host, 200]);
    const wire = await dial(port);
    wire.write("GET /livez HTTP/1.0\r\n\r\n");
    await wire.closed;
    expect(wire.text()).toContain("200 OK");
  });

  test("with --admin-host listens on the one address that it names", async () => {
    const { admin, port } = await serve(["--admin-host", elsewhere]);
    expect(admin).toBe(`http://${elsewhere}:${port}`);
    expect(await ask(`${admin}/livez`, { headers: { Host: elsewhere } })).toMatchObject({ status: 200 });
  });

  test.skipIf(noIpv6)("with --admin-host :: is reached by IPv6 and by IPv4", async () => {
    const { admin, port } = await serve(["--admin-host", "::"]);
    expect(admin).toBe(`http://[::]:${port}`);
    for (const host of ["[::1]", "127.0.0.1"])
      expect(await ask(`http://${host}:${port}/livez`, { headers: { Host: "pod" } })).toMatchObject({ status: 200 });
  });

  test.each(["localhost", "127.0.0.1", ...(noIpv6 ? [] : ["::1"])])(
    "with --admin-host %s is for this machine alone, as without",
    async (address) => {
      const { admin } = await serve(["--admin-host", address]);
      expect(await ask(`${admin}/livez`)).toMatchObject({ status: 200 });
      expect(await ask(`${admin}/livez`, { headers: { Host: "evil.example" } })).toMatchObject({ status: 403 });
    },
  );

  test("--admin-host has nothing to say where there is no --admin-port", async () => {
    const cli = runCli(["serve", "--port", "0", "--admin-host", "0.0.0.0"], { env });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain("--admin-host got 0.0.0.0, but there is no admin server without --admin-port.");
  });

  test("an --admin-host that is not this machine's is told by its flag", async () => {
    const cli = runCli(["serve", "--port", "0", "--admin-port", "0", "--admin-host", "203.0.113.7"], { env });
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toContain("203.0.113.7 is no address of this machine. --admin-host takes one of its own");
  });

  test("ends after the receiver's own server: until then it says that nothing is taken in", async () => {
    const held: (() => void)[] = [];
    const stdout = new Writable({ highWaterMark: 1, write: (_chunk, _encoding, done) => void held.push(done) });
    const { cli, admin, url, port } = await serve([], { stdout });
    await deliver(url);
    await until(() => held.length === 1);
    const [probe, slow] = [await dial(port), await dial(port)];
    slow.write("GET /livez HTTP/1.1\r\n"); // and nothing more: it must not hold up the end
    probe.write(headersText({}, "GET /livez HTTP/1.1")); // and keeps its connection
    await until(() => probe.text().includes('{"live":true}'));

    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    cli.signals.emit("SIGTERM", "SIGTERM");
    await until(() => cli.err().includes("stopping"));
    await expect(deliver(url)).rejects.toThrow("ECONNREFUSED");
    expect(await ask(`${admin}/livez`)).toMatchObject({ status: 200 });
    expect(await ask(`${admin}/readyz`)).toMatchObject({ status: 503, body: '{"ready":false}\n' });
    expect(JSON.parse((await ask(`${admin}/stats`)).body)).toMatchObject({ health: { ready: false } });
    held[0]?.();
    expect(await cli.ended).toBe(0);
    await Promise.all([probe.closed, slow.closed]);
    await expect(ask(`${admin}/livez`)).rejects.toThrow("ECONNREFUSED");
  });

  test("says that its port is in use, and which flag takes another", async () => {
    const port = await takenPort();
    const cli = runCli(["serve", "--port", "0", "--admin-port", String(port)], { env });
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toBe(
      `hookline serve: Port ${port} on 127.0.0.1 is in use. Stop what listens there, or take another: --admin-port 0 takes any free one.\n`,
    );
  });

  test("ends with the receiver's own server where that cannot begin", async () => {
    const [taken, free] = [await takenPort(), await freePort()];
    const cli = runCli(["serve", "--port", String(taken), "--admin-port", String(free)], { env });
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toContain(`Port ${taken} on 127.0.0.1 is in use.`);
    await expect(ask(`http://127.0.0.1:${free}/livez`)).rejects.toThrow("ECONNREFUSED");
    expect(cli.signals.listenerCount("SIGTERM")).toBe(0);
  });

  test("is not there unless it is asked for", async () => {
    const cli = runCli(["serve", "--port", "0"], { env });
    await cli.url();
    expect(JSON.parse(cli.err())).not.toHaveProperty("admin");
  });

  test("as a process: answers a probe, and ends with 0 on SIGTERM", async () => {
    const cli = startCli(["serve", "--port", "0", "--admin-port", "0"], env);
    const [, admin] = await cli.says("err", /"admin":"(http:[^"]+)"/);
    expect(await ask(`${admin}/readyz`)).toMatchObject({ status: 200 });
    cli.kill("SIGTERM");
    expect(await cli.ended).toBe(0);
  });
});

const secret = { secret: env.SIGNING_SECRET };

/** One that listens, with where it tells how it stands. */
async function serve(args: readonly string[] = [], options: RunOptions = {}) {
  const cli = runCli(["serve", "--port", "0", "--admin-port", "0", ...args], { env, ...options });
  const url = await cli.url();
  const { admin } = JSON.parse(cli.err().split("\n")[0] ?? "") as { readonly admin: string };
  return { cli, url, admin, port: Number(new URL(admin).port) };
}

function ask(url: string, how: Sent = {}) {
  return send(url, { method: "GET", ...how });
}

function deliver(url: string) {
  const body = bodyOf();
  return send(url, { body, headers: signedHeaders(body, secret) });
}

/** A port that somebody listens on until the test ends. */
async function takenPort(): Promise<number> {
  const server = createServer().listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
