import { createHash, randomBytes, randomInt } from "node:crypto";
import { Agent, type IncomingMessage } from "node:http";
import { buffer } from "node:stream/consumers";
import { expect, onTestFinished, test } from "vitest";
import { createPassThrough } from "../../src/cli/dev/pass-through.ts";
import { send, serve } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";

const ROUNDS = 1_000;
const sha = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex");

/** A pass-through, and what came out behind it. */
async function start(answer: (body: Buffer) => { status: number; headers: string[]; body: Buffer }) {
  const got: { method: string | undefined; url: string | undefined; raw: string[]; body: Buffer }[] = [];
  const app = await serve((req: IncomingMessage, res) => {
    void buffer(req).then((body) => {
      got.push({ method: req.method, url: req.url, raw: req.rawHeaders, body });
      const { status, headers, body: text } = answer(body);
      res.writeHead(status, headers).end(text);
    });
  });
  const over = new AbortController();
  const { listener } = createPassThrough({
    to: new URL(`${app.url}/webhooks?tenant=7`),
    secret: "a secret",
    run: "this run",
    allowUnsubscribe: false,
    hold: false,
    capture: undefined,
    onPassed() {},
    note() {},
    signal: over.signal,
  });
  const front = await serve(listener);
  onTestFinished(() => over.abort());
  const agent = new Agent({ keepAlive: true, maxSockets: 1 });
  onTestFinished(() => agent.destroy());
  return { url: `${front.url}/webhooks`, front, app, got, agent };
}

const CONTENT_TYPES = [
  "application/json",
  "text/plain; charset=utf-8",
  "application/octet-stream",
  "APPLICATION/Json ;x=1",
  "",
];

test(`${ROUNDS} random bodies and their headers pass byte for byte over one connection, and so do the answers`, async () => {
  const { url, front, app, got, agent } = await start((body) => ({
    status: 200,
    headers: ["X-Sum", sha(body), "Set-Cookie", "a=1", "Set-Cookie", "b=2"],
    body: Buffer.from([...body.subarray(0, 64)].toReversed()),
  }));
  for (let round = 0; round < ROUNDS; round += 1) {
    // Some are empty, a few are large; the bytes are of no encoding.
    const size = round % 50 === 0 ? 0 : round % 50 === 1 ? randomInt(500_000, 2_000_000) : randomInt(1, 3_000);
    const body = randomBytes(size);
    const type = CONTENT_TYPES[round % CONTENT_TYPES.length];
    const headers = {
      ...signedHeaders(body, { secret: "a secret" }),
      ...(type !== "" && { "Content-Type": type ?? "" }),
      ...(round % 3 === 0 && { "Transfer-Encoding": "chunked" }),
      ...(round % 7 === 0 && { "Content-Encoding": "gzip" }),
      "X-Odd-CASE": `${round}; "é" \t,`.normalize("NFC"),
      "X-Twice": ["one", "two"],
    };
    const search = round % 4 === 0 ? `?tenant=7&a=%2F+%20'&b` : "";
    const answer = await send(url + search, { headers, body, agent, path: `/webhooks${search}` });
    const { method, url: target, raw, body: arrived } = got.at(-1) as (typeof got)[number];
    expect([method, target, sha(arrived)]).toEqual(["POST", `/webhooks${search}`, sha(body)]);
    const sentLines = Object.entries(headers).flatMap(([name, value]) =>
      [value].flat().map((one) => `${name}: ${one}`),
    );
    const lines = raw.flatMap((name, at) => (at % 2 === 0 ? [`${name}: ${raw[at + 1]}`] : []));
    expect(lines).toEqual(expect.arrayContaining(sentLines));
    // Those of each connection, and the length, are all else.
    const added = lines.filter((line) => !sentLines.includes(line)).map((line) => line.split(":")[0]);
    expect(new Set(added)).toEqual(
      new Set(["Connection", ...("Transfer-Encoding" in headers ? [] : ["Content-Length"]), "Host"]),
    );
    expect(lines).toContain(`Host: 127.0.0.1:${app.port}`);
    expect(answer.headers).toMatchObject({ "x-sum": sha(body), "set-cookie": ["a=1", "b=2"] });
    expect(answer.status).toBe(200);
  }
  expect(got).toHaveLength(ROUNDS);
  expect(front.connections()).toBe(1);
});

test("a handshake passes, and so do a refusal before the body's end, and an answer without a body", async () => {
  let status = 200;
  const { url, got } = await start(() => ({
    status,
    headers: ["Content-Type", "text/plain"],
    body: Buffer.from(status === 204 ? "" : "a+b %"),
  }));
  const shaken = await send(`${url}?tenant=7&validationToken=a%2Bb+%25`, { headers: { "Content-Type": "text/plain" } });
  expect(shaken).toMatchObject({ status: 200, body: "a+b %", headers: { "content-type": "text/plain" } });
  expect(got.at(-1)).toMatchObject({ url: "/webhooks?tenant=7&validationToken=a%2Bb+%25", body: Buffer.alloc(0) });
  status = 413;
  expect(await send(url, { body: randomBytes(5_000_000) })).toMatchObject({ status: 413, body: "a+b %" });
  status = 204;
  const empty = await send(url, { body: "{}" });
  expect(empty).toMatchObject({ status: 204, body: "" });
  expect(empty.headers).not.toHaveProperty("content-length");
});

test("a body of over 64 MiB is refused here", async () => {
  const { url, got } = await start(() => ({ status: 200, headers: [], body: Buffer.alloc(0) }));
  const answer = await send(url, { body: Buffer.alloc(64 * 1_024 ** 2 + 1) }).catch((error: unknown) => error);
  expect([413, "ECONNRESET", "EPIPE"]).toContain(
    (answer as { status?: number }).status ?? (answer as { code?: string }).code,
  );
  expect(got).toEqual([]);
});
