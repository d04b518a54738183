// `hookline/signature` alone: verifying, signing, explaining, and schemes as data.
import { createReceiver, memoryInbox } from "hookline";
import { explain, sign, verify } from "hookline/signature";
import type { SignatureScheme, SignedRequest, Verified, VerifyOptions } from "hookline/signature";
import type { Equal, Expect, Fits } from "./support.ts";

declare const chance: boolean;
declare const body: Uint8Array;
declare const arrived: { readonly headers: NodeJS.Dict<string | string[]> };

// The schemes of two other services, as data.
const slack: SignatureScheme = {
  algorithm: "sha256",
  signed: [{ text: "v0:" }, "timestamp", { text: ":" }, "body"],
  signature: { header: "X-Slack-Signature", encoding: "hex", prefix: "v0=" },
  timestamp: { header: "X-Slack-Request-Timestamp", unit: "seconds" },
};
const github = {
  algorithm: "sha256",
  signed: ["body"],
  signature: { header: "X-Hub-Signature-256", encoding: "hex", prefix: "sha256=" },
} as const satisfies SignatureScheme;
export const schemes: readonly SignatureScheme[] = [
  slack,
  github,
  { ...slack, algorithm: "sha1", signature: { header: "a", encoding: "base64" } },
  { ...slack, algorithm: "sha512", timestamp: { header: "b", unit: "milliseconds" } },
];
for (const scheme of schemes) createReceiver({ secret: "s", inbox: memoryInbox(), scheme });
createReceiver({ secret: "s", inbox: memoryInbox(), scheme: chance ? github : undefined });

// Requests as Node, a function platform and fetch give them.
export const requests: readonly SignedRequest[] = [
  { headers: arrived.headers, body },
  { headers: { a: "b", c: ["d"], e: undefined }, body: "{}" },
  { headers: new Headers(), body: Buffer.from("{}") },
];
const options: VerifyOptions = {
  secret: process.env["SIGNING_SECRET"],
  scheme: chance ? slack : undefined,
  maxAgeSeconds: chance ? 300 : undefined,
  now: chance ? new Date() : undefined,
};
export const verified: Verified = verify({ headers: arrived.headers, body }, options);
verify({ headers: {}, body }, { secret: ["s", { name: "old", value: "t" }] });
verify({ headers: {}, body }, { secret: undefined });
export type VerifiedFields = [
  Expect<Equal<Verified["signedBy"], string>>,
  Expect<Equal<Verified["sentAt"], Date | undefined>>,
  Expect<Fits<Verified["body"], Uint8Array>>,
];

const headers: Record<string, string> = sign("{}", { secret: "s" });
await fetch("https://example.com", { method: "POST", body: "{}", headers });
sign(body, { secret: "s", at: chance ? new Date() : undefined, scheme: chance ? slack : undefined });

const { matches, mistakes } = explain({ headers, body: "{}" }, "s");
for (const { code, message, fix } of mistakes) if (!matches) [code, message, fix] satisfies string[];
explain({ headers: new Headers(headers), body }, "s", slack);
export const known: ReturnType<typeof explain> = { matches: false, mistakes: [{ code: "a", message: "b", fix: "c" }] };

// @ts-expect-error -- it throws, it never answers yes or no
export const yes: boolean = verify({ headers, body }, { secret: "s" });
// @ts-expect-error -- without a word about the secret
verify({ headers, body }, {});
// @ts-expect-error -- the secret stands in an object, with its name
verify({ headers, body }, "s");
// @ts-expect-error -- a look-up is for receivers
verify({ headers, body }, { secret: async () => "s" });
// @ts-expect-error -- a body that a parser made has other bytes
verify({ headers, body: { subscription: 1 } }, { secret: "s" });
// @ts-expect-error -- an age without its unit
verify({ headers, body }, { secret: "s", maxAge: 300 });
// @ts-expect-error -- nothing is signed without a secret
sign("{}", { secret: process.env["SIGNING_SECRET"] });
// @ts-expect-error -- the time is a Date
sign("{}", { secret: "s", at: Date.now() });
// @ts-expect-error -- an algorithm that is none of the three
export const weak: SignatureScheme = { ...slack, algorithm: "md5" };
// @ts-expect-error -- a part that is neither body, timestamp nor text
export const other: SignatureScheme = { ...slack, signed: ["url", "body"] };
// @ts-expect-error -- a literal stands in an object
export const literal: SignatureScheme = { ...slack, signed: ["v0:", "timestamp", "body"] };
// @ts-expect-error -- an encoding that is none of the two
export const encoded: SignatureScheme = { ...slack, signature: { header: "a", encoding: "base64url" } };
// @ts-expect-error -- seconds or milliseconds?
export const unitless: SignatureScheme = { ...slack, timestamp: { header: "b" } };
