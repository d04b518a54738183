import { createHmac, timingSafeEqual } from "node:crypto";
import type { IncomingMessage } from "node:http";
import { describe, expect, test } from "vitest";
import { signRequest } from "../../src/emulator/wire/sign-request.ts";
import { serve, startEmulator } from "./support.ts";

const at = new Date(1_700_000_000_000);
const secret = "test-signing-secret";

describe("the sender signs", () => {
  // Made with another program from the documented rule, not with code of this repository.
  test.each([
    ["", "81dd05befe5cbb6bb432e20e4430415f22beb4c0a80cbd8d9cf6e9a7716caeb7"],
    [
      '{"subscription":1001,"resource":"/contacts","accountId":2002,"payloads":[{"id":"c-1","changeType":"updated"}]}',
      "b6ab27c8bf67b1bb49a07e53153a4a0837b5ceb1cb5d1061e43bafb754750872",
    ],
  ])("%j as the service documents it", (body, signature) => {
    expect(signRequest(Buffer.from(body), { secret, at })).toEqual({
      "X-Aurinko-Request-Timestamp": "1700000000",
      "X-Aurinko-Signature": signature,
    });
  });

  test("nothing without a secret, or at no time", () => {
    const body = Buffer.from("{}");
    expect(() => signRequest(body, { secret: " ", at })).toThrow("The secret to sign with is empty");
    expect(() => signRequest(body, { secret, at: new Date(NaN) })).toThrow("expected a Date of 1970 or later");
  });
});

/** What consumers that work with the real service check, each in its own way. */
const consumers: Readonly<Record<string, (request: IncomingMessage, body: Buffer, key: string) => boolean>> = {
  "decodes the hex, and takes requests of up to 30 days": (request, body, key) => {
    const timestamp = Number(request.headers["x-aurinko-request-timestamp"]);
    const age = Date.now() / 1_000 - timestamp;
    if (!Number.isInteger(timestamp) || age > 30 * 86_400 || age < -300) return false;
    const given = Buffer.from(String(request.headers["x-aurinko-signature"]), "hex");
    const signed = Buffer.concat([Buffer.from(`v0:${timestamp}:`), body]);
    const expected = createHmac("sha256", Buffer.from(key, "utf8")).update(signed).digest();
    return given.length === 32 && timingSafeEqual(given, expected);
  },
  "compares the texts": (request, body, key) => {
    const timestamp = request.headers["x-aurinko-request-timestamp"];
    const hash = createHmac("sha256", key)
      .update(`v0:${String(timestamp)}:${body.toString()}`)
      .digest("hex");
    return hash === request.headers["x-aurinko-signature"];
  },
  "takes five minutes, and finds the token before it parses": (request, body, key) => {
    const timestamp = String(request.headers["x-aurinko-request-timestamp"]);
    if (Math.abs(Date.now() / 1_000 - Number(timestamp)) > 300) return false;
    const signature = createHmac("sha256", key).update(`v0:${timestamp}:`).update(body).digest("hex");
    const isHandshake = request.url?.includes("validationToken=") === true;
    if (!isHandshake) JSON.parse(body.toString());
    return timingSafeEqual(Buffer.from(signature), Buffer.from(String(request.headers["x-aurinko-signature"])));
  },
};

test.each(Object.entries(consumers))("a consumer that %s accepts handshake and deliveries", async (_, isGenuine) => {
  const emulator = await startEmulator({ clock: "real" });
  const { url } = await serve((request, response) => {
    const chunks: Buffer[] = [];
    request.on("data", (chunk: Buffer) => chunks.push(chunk));
    request.on("end", () => {
      if (!isGenuine(request, Buffer.concat(chunks), emulator.secret)) return void response.writeHead(401).end();
      const token = new URL(request.url ?? "", "http://localhost").searchParams.get("validationToken");
      response.writeHead(200, { "Content-Type": "text/plain; charset=utf-8" }).end(token ?? "");
    });
  });
  const account = await emulator.account();
  await emulator.subscribe(account, "/email/messages", `${url}?tenant=7`);
  await account.receiveMail({ subject: "Grüße, 你好" });
  await emulator.settled();
  expect(emulator.journal.map(({ status, outcome }) => ({ status, outcome }))).toEqual([
    { status: 200, outcome: "acknowledged" },
  ]);
});
