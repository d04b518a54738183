import { generateKeyPairSync, sign } from "node:crypto";
import { once } from "node:events";
import { createServer as createTlsServer } from "node:https";
import { createServer, type AddressInfo, type Server, type Socket } from "node:net";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { toFailure } from "../../src/cli/answers/request-failure.ts";
import { deferred, turns } from "../support/event-loop.ts";
import { serve } from "../support/http.ts";
import { runCli } from "./in-process.ts";

const DAY_MS = 86_400_000;
const now = Date.now();

describe("on a real socket", () => {
  test.each<[string, (socket: Socket) => void, string]>([
    ["a connection that is closed", (socket) => void socket.end(), "UND_ERR_SOCKET"],
    ["a connection that is reset", (socket) => void socket.resetAndDestroy(), "ECONNRESET"],
    [
      "an answer that is cut off",
      (socket) => void socket.end("HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nok"),
      "UND_ERR_SOCKET",
    ],
  ])("%s", async (_, behave, code) => {
    const out = await failing(await listening(createServer((socket) => socket.once("data", () => behave(socket)))));
    expect(out).toContain(
      `No answer: the connection was closed before the answer was whole: did the app crash, or is it https://? (${code}).`,
    );
  });

  test("something that is no HTTP", async () => {
    const port = await listening(
      createServer((socket) => socket.once("data", () => socket.end("220 mail.example.com\r\n"))),
    );
    expect(await failing(port)).toContain(
      "what came back is no HTTP: is it another port, or is it https://? (HTTPParserError).",
    );
  });

  test("plain HTTP under https://", async () => {
    const { port } = await serve((_, response) => response.end());
    expect(await failing(port, "https")).toContain(
      `127.0.0.1:${port} does not speak TLS: is it http://? (ERR_SSL_WRONG_VERSION_NUMBER).`,
    );
  });

  test.each([
    [
      "self-signed",
      now + DAY_MS,
      "the certificate is signed by no authority that is known here: name its file in NODE_EXTRA_CA_CERTS (DEPTH_ZERO_SELF_SIGNED_CERT).",
    ],
    ["expired", now - DAY_MS, "the certificate has expired (CERT_HAS_EXPIRED)."],
  ])("a certificate that is %s", async (_, to, words) => {
    const identity = selfSigned("localhost", { from: new Date(now - 2 * DAY_MS), to: new Date(to) });
    expect(await failing(await listening(createTlsServer(identity)), "https")).toContain(`No answer: ${words}`);
  });

  test("a server without a certificate", async () => {
    expect(await failing(await listening(createTlsServer({})), "https")).toContain(
      "No answer: the TLS handshake failed (ERR_SSL_",
    );
  });

  test("a port that fetch refuses", async () => {
    expect(await failing(6_000)).toContain(
      "fetch never connects to port 6000, which is reserved for another protocol: take another (bad port).",
    );
  });

  test.each([
    ["no answer", false],
    ["an answer that does not end", true],
  ])("%s within 10 s", async (_, begins) => {
    vi.useFakeTimers({ toFake: ["setTimeout", "clearTimeout"] });
    onTestFinished(() => void vi.useRealTimers());
    const asked = deferred();
    const { url } = await serve((_request, response) => {
      if (begins) response.write("and then");
      asked.resolve();
    });
    const cli = runCli(["send", "email.created", "--to", url], { env });
    await asked.promise;
    let over = false;
    void cli.ended.then(() => (over = true));
    vi.advanceTimersByTime(9_999);
    await turns();
    expect(over).toBe(false);
    vi.advanceTimersByTime(1);
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toBe(
      "No answer: no answer within 10 s: the app hangs, or it does its work before it answers (TIMEOUT).\n",
    );
  });
});

describe("in words", () => {
  test.each([
    ["ENOTFOUND", "there is no host app.example.com"],
    ["EAI_AGAIN", "the address of app.example.com could not be looked up: is there a network?"],
    ["EHOSTUNREACH", "app.example.com:8443 could not be reached: is it up, or does a firewall drop it?"],
    ["ETIMEDOUT", "app.example.com:8443 could not be reached: is it up, or does a firewall drop it?"],
    ["UND_ERR_CONNECT_TIMEOUT", "app.example.com:8443 could not be reached: is it up, or does a firewall drop it?"],
    ["EPIPE", "the connection was closed before the answer was whole: did the app crash?"],
    ["ERR_TLS_CERT_ALTNAME_INVALID", "the certificate is for another host"],
    ["CERT_NOT_YET_VALID", "the certificate is not valid yet: is this machine's clock right?"],
    [
      "UNABLE_TO_VERIFY_LEAF_SIGNATURE",
      "the certificate's authority is not known here: does the server send its intermediate certificates?",
    ],
    ["EPROTO", "the TLS handshake failed"],
    ["EWHATEVER", "it failed"],
  ])("%s", (code, words) => {
    const cause = Object.assign(new Error("it failed"), { code });
    expect(toFailure(new TypeError("fetch failed", { cause }), "https://app.example.com:8443/")).toEqual({
      code,
      words,
    });
  });

  test("of several addresses the one counts that refused", () => {
    const errors = ["ENETUNREACH", "ECONNREFUSED"].map((code) => Object.assign(new Error(code), { code }));
    const both = new TypeError("fetch failed", { cause: new AggregateError(errors) });
    expect(toFailure(both, "http://localhost:3000/")).toMatchObject({ code: "ECONNREFUSED" });
    const first = new TypeError("fetch failed", { cause: new AggregateError(errors.slice(0, 1)) });
    expect(toFailure(first, "http://localhost:3000/")).toMatchObject({ code: "ENETUNREACH" });
  });

  test("what is no error at all", () => {
    expect(toFailure("odd", "http://localhost:3000/")).toEqual({ code: "odd", words: "odd" });
  });
});

const env = { SIGNING_SECRET: "a secret of these tests" };

/** What it prints for a request that gets no answer. */
async function failing(port: number, protocol = "http"): Promise<string> {
  const cli = runCli(["send", "email.created", "--to", `${protocol}://127.0.0.1:${port}/`], { env });
  expect(await cli.ended).toBe(1);
  expect(cli.err()).toBe("");
  return cli.out();
}

async function listening(server: Server): Promise<number> {
  const sockets: Socket[] = [];
  server.on("connection", (socket: Socket) => sockets.push(socket.on("error", () => {}))).listen(0, "127.0.0.1");
  onTestFinished(() => {
    server.close();
    for (const socket of sockets) socket.destroy();
  });
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

interface Identity {
  /** PEM. */
  readonly cert: string;
  /** PEM. */
  readonly key: string;
}

/** A certificate that no authority signed but its own key, for a name of a host. */
function selfSigned(commonName: string, { from, to }: { readonly from: Date; readonly to: Date }): Identity {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  const algorithm = der(0x30, Buffer.from("06082a8648ce3d040302", "hex")); // ecdsa-with-SHA256
  const name = der(0x30, der(0x31, der(0x30, Buffer.from("0603550403", "hex"), der(0x0c, Buffer.from(commonName)))));
  const body = der(
    0x30,
    der(0x02, Buffer.from([1])),
    algorithm,
    name,
    der(0x30, time(from), time(to)),
    name,
    publicKey.export({ type: "spki", format: "der" }),
  );
  const signature = sign("sha256", body, privateKey);
  const certificate = der(0x30, body, algorithm, der(0x03, Buffer.from([0]), signature));
  const lines = certificate.toString("base64").replaceAll(/.{64}/g, "$&\n");
  return {
    cert: `-----BEGIN CERTIFICATE-----\n${lines}\n-----END CERTIFICATE-----\n`,
    key: privateKey.export({ type: "pkcs8", format: "pem" }) as string,
  };
}

/** @see X.690: a tag, a length, and what is in it */
function der(tag: number, ...parts: readonly Buffer[]): Buffer {
  const content = Buffer.concat(parts);
  const { length } = content;
  const size = length < 0x80 ? [length] : length < 0x100 ? [0x81, length] : [0x82, length >> 8, length & 0xff];
  return Buffer.concat([Buffer.from([tag, ...size]), content]);
}

/** @see X.690: UTCTime, `YYMMDDhhmmssZ` */
function time(at: Date): Buffer {
  const digits = at.toISOString().replaceAll(/[-:T]|\.\d+/g, "");
  return der(0x17, Buffer.from(digits.slice(2)));
}
