import { createHmac, createSecretKey, timingSafeEqual } from "node:crypto";
import type { IncomingHttpHeaders } from "node:http";
import { SECRET } from "../signing.ts";

// Created once: a raw key for each call costs five times as much.
const KEY = createSecretKey(SECRET, "utf8");

const FIVE_MINUTES_MS = 300_000;

/** The service's signature, compared in constant time. */
export function isSigned(body: Uint8Array, headers: IncomingHttpHeaders): boolean {
  const { "x-aurinko-signature": signature, "x-aurinko-request-timestamp": timestamp } = headers;
  if (typeof signature !== "string" || typeof timestamp !== "string") return false;
  const mac = createHmac("sha256", KEY).update(`v0:${timestamp}:`).update(body).digest();
  const given = Buffer.from(signature, "hex");
  return given.length === mac.length && timingSafeEqual(given, mac);
}

/** Not an old replay. */
export function isFresh(headers: IncomingHttpHeaders): boolean {
  return Math.abs(Date.now() - Number(headers["x-aurinko-request-timestamp"]) * 1_000) < FIVE_MINUTES_MS;
}
