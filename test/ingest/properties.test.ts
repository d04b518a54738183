import fc from "fast-check";
import type { RawRequest, Reply } from "hookline";
import { METHODS } from "node:http";
import { describe, expect, test } from "vitest";
import { send, type Answered } from "../support/http.ts";
import { changes, mounted, SECRET } from "../support/mounted.ts";
import { signatureOf } from "../support/sign.ts";

const TABLE: readonly Reply["status"][] = [200, 400, 401, 405, 408, 413, 415, 422, 500, 503];
const MAX = 2_000;

/** These say how the message is framed: what Node's parser makes of them never reaches a mount. */
const FRAMING = new Set([
  "connection",
  "content-length",
  "expect",
  "host",
  "keep-alive",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade",
]);
const OURS = ["x-aurinko-signature", "x-aurinko-request-timestamp", "content-encoding", "content-type"];

const now = (): string => String(Math.floor(Date.now() / 1_000));

const envelope = fc
  .record({
    subscription: fc.oneof(fc.nat(5), fc.constant("3"), fc.constant(null), fc.double()),
    accountId: fc.oneof(fc.nat(5), fc.constant("x")),
    resource: fc.constantFrom("/email/messages", "/contacts", "/booking/5", "/unknown"),
    payloads: fc.option(
      fc.array(fc.oneof(fc.jsonValue(), fc.record({ id: fc.string(), changeType: fc.constantFrom("created", "x") }))),
    ),
  })
  .map((json) => Buffer.from(JSON.stringify(json)));

const body: fc.Arbitrary<Buffer> = fc.oneof(
  envelope,
  fc.uint8Array({ maxLength: 200 }).map((bytes) => Buffer.from(bytes)),
  fc.jsonValue().map((json) => Buffer.from(JSON.stringify(json)).subarray(0, MAX)),
  fc.constant(Buffer.alloc(0)),
  fc.constant(Buffer.alloc(MAX + 1)),
);

/** A text of these characters. */
const textOf = (characters: string, lengths: fc.StringConstraints): fc.Arbitrary<string> =>
  fc.string({ ...lengths, unit: fc.constantFrom(...Array.from(characters)) });

const headerText = textOf(' ,;="abc019-\u00e9', { maxLength: 70 });
const headerValue = fc.oneof(headerText, fc.constantFrom("gzip", "identity", "0", "a".repeat(64), now()));
const headerName = fc.oneof(
  fc.constantFrom(...OURS),
  textOf("abcxyz-_0", { minLength: 1, maxLength: 12 }).filter((name) => !FRAMING.has(name)),
);
const headers = fc.dictionary(headerName, headerValue, { maxKeys: 5 });

const query = fc.oneof(
  fc.constant(""),
  fc.constantFrom(
    "?validationToken=abc",
    "?validationToken=",
    "?validationToken",
    "?a=1&validationToken=%00",
    "?%",
    "??#",
  ),
  textOf("?&=+%/.;:validTokn0", { maxLength: 40 }).map((text) => `?${text}`),
);

/** How far a request is signed: as the service would, almost, or not at all. */
const signing = fc.constantFrom("well", "well", "well", "badly", "not");

function signed(bytes: Buffer, how: "well" | "badly" | "not"): Record<string, string> {
  if (how === "not") return {};
  const timestamp = now();
  const secret = how === "well" ? SECRET : "another secret";
  return { "x-aurinko-request-timestamp": timestamp, "x-aurinko-signature": signatureOf(bytes, { secret, timestamp }) };
}

/** A receiver whose gate wants no odd subscription, and which counts its decisions. */
async function choosy() {
  let decisions = 0;
  const own = await mounted({
    maxBodyBytes: MAX,
    gate: { maxUnsubscribesPerHour: 1_000 },
    prepare: (receiver) =>
      void receiver
        .on("email", () => {})
        .unsubscribeWhen(({ subscription }, unsubscribe) => {
          if (subscription % 2 === 0) return undefined;
          decisions += 1;
          return unsubscribe("odd");
        }),
  });
  await own.receiver.start();
  return {
    ...own,
    /** Runs something, and says how many decisions were made meanwhile. */
    async deciding<T>(run: () => Promise<T>): Promise<readonly [T, number]> {
      const before = decisions;
      return [await run(), decisions - before];
    },
  };
}

describe("whatever comes over the wire", { timeout: 60_000 }, () => {
  test("gets a status of the table; 422 only by a decision; 200 only when signed, and stored or a handshake", async () => {
    const { url, receiver, deciding } = await choosy();
    const method = fc.oneof(
      { weight: 4, arbitrary: fc.constant("POST") },
      { weight: 1, arbitrary: fc.constantFrom(...METHODS.filter((one) => one !== "CONNECT")) },
    );
    await fc.assert(
      fc.asyncProperty(fc.record({ method, headers, body, query, signing }), async (request) => {
        const { stored } = receiver.stats();
        const [answer, decided] = await deciding(() =>
          send(url, {
            method: request.method,
            path: `/${request.query}`,
            body: request.body,
            headers: { ...request.headers, ...signed(request.body, request.signing) },
          }),
        );
        expect(TABLE).toContain(answer.status);
        expect(decided).toBe(answer.status === 422 ? 1 : 0);
        expectConsistent(answer, request.signing, receiver.stats().stored - stored);
      }),
      { numRuns: 400 },
    );
  });

  test("gets a status of the table from receive() too, whatever a mount makes of it", async () => {
    const { receiver, deciding } = await choosy();
    const value = fc.oneof(headerValue, fc.string(), fc.array(fc.string(), { maxLength: 3 }), fc.constant(undefined));
    const wild = fc.record({
      method: fc.oneof(fc.constant("POST"), fc.string()),
      url: fc.oneof(
        query.map((text) => `/${text}`),
        fc.string(),
        fc.webUrl(),
      ),
      headers: fc.dictionary(fc.oneof(headerName, fc.string(), fc.constantFrom("content-length", "__proto__")), value, {
        maxKeys: 5,
      }),
      body,
      signing,
    });
    await fc.assert(
      fc.asyncProperty(wild, async ({ signing: how, ...rest }) => {
        const request: RawRequest = { ...rest, headers: { ...rest.headers, ...signed(rest.body, how) } };
        const { stored } = receiver.stats();
        const [answer, decided] = await deciding(() => receiver.receive(request));
        expect(TABLE).toContain(answer.status);
        expect(decided).toBe(answer.status === 422 ? 1 : 0);
        expectConsistent(answer, how, receiver.stats().stored - stored);
      }),
      { numRuns: 1_000 },
    );
  });
});

describe("a signed delivery", { timeout: 60_000 }, () => {
  test("that is stored is answered exactly 200, and its bytes are stored as they came", async () => {
    const bytes: string[] = [];
    const { deliver, receiver } = await mounted({
      prepare: (own) =>
        void own
          .use(async (_, ctx, next) => {
            bytes.push((await ctx.delivery()).bodyBase64);
            await next();
          })
          .on(["unknown", "*", "email.signal", "contact.signal"], () => {}),
    });
    await receiver.start();
    await fc.assert(
      fc.asyncProperty(body, async (sent) => {
        bytes.length = 0;
        expect(await deliver(sent)).toMatchObject({ status: 200, body: "" });
        await receiver.idle();
        expect(new Set(bytes)).toEqual(new Set([sent.toString("base64")]));
      }),
      { numRuns: 100 },
    );
  });

  test("with one byte of its body, timestamp or signature changed is 401", async () => {
    const { url, receiver } = await mounted();
    const original = Buffer.from(changes());
    const timestamp = now();
    const signature = signatureOf(original, { secret: SECRET, timestamp });
    const change = fc.oneof(
      fc.record({
        part: fc.constant("body" as const),
        at: fc.nat(original.length - 1),
        flip: fc.integer({ min: 1, max: 255 }),
      }),
      fc.record({
        part: fc.constant("timestamp" as const),
        at: fc.nat(timestamp.length - 1),
        flip: fc.integer({ min: 1, max: 9 }),
      }),
      fc.record({ part: fc.constant("signature" as const), at: fc.nat(63), flip: fc.integer({ min: 1, max: 15 }) }),
    );
    const headersOf = (time: string, mac: string) => ({
      "X-Aurinko-Request-Timestamp": time,
      "X-Aurinko-Signature": mac,
    });
    await fc.assert(
      fc.asyncProperty(change, async ({ part, at, flip }) => {
        const changed = Buffer.from(original);
        if (part === "body") changed[at] = (changed[at] ?? 0) ^ flip;
        const turned = (text: string, base: number): string =>
          text.slice(0, at) + ((parseInt(text[at] ?? "0", base) + flip) % base).toString(base) + text.slice(at + 1);
        const given = headersOf(
          part === "timestamp" ? turned(timestamp, 10) : timestamp,
          part === "signature" ? turned(signature, 16) : signature,
        );
        expect(await send(url, { body: changed, headers: given })).toMatchObject({ status: 401, body: "" });
      }),
      { numRuns: 300 },
    );
    expect(receiver.stats()).toMatchObject({ stored: 0, secrets: [] });
    expect(await send(url, { body: original, headers: headersOf(timestamp, signature) })).toMatchObject({
      status: 200,
    });
  });

  test("with bytes added to or taken from its body is 401", async () => {
    const { url, signed: sign, receiver } = await mounted();
    const original = Buffer.from(changes());
    const given = sign(original);
    const added = fc.uint8Array({ minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(fc.oneof(added, fc.integer({ min: 1, max: original.length })), async (more) => {
        const changed = typeof more === "number" ? original.subarray(0, -more) : Buffer.concat([original, more]);
        expect(await send(url, { body: changed, headers: given })).toMatchObject({ status: 401 });
      }),
      { numRuns: 100 },
    );
    expect(receiver.stats().stored).toBe(0);
  });
});

/** A token is only in an answer of 200, and a 200 says: signed, and stored unless it is a handshake. */
function expectConsistent(answer: Answered | Reply, how: string, stored: number): void {
  if (answer.status !== 200) expect({ body: answer.body, stored }).toEqual({ body: "", stored: 0 });
  if (how !== "well") expect(answer.status).not.toBe(200);
  if (answer.status === 200 && answer.body === "") expect(stored).toBe(1);
}
