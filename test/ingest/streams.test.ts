import type { RawRequest } from "hookline";
import { describe, expect, test } from "vitest";
import { changes, mounted, SECRET } from "../support/mounted.ts";
import { signedHeaders } from "../support/sign.ts";

const CHUNK = Buffer.alloc(64, "x");

/** A signed request whose body has no end, and how far it was read. */
function endless() {
  const seen = { pulls: 0, ended: false };
  async function* body(): AsyncGenerator<Uint8Array> {
    try {
      // An end all the same, far beyond every limit: a test that fails must not take the machine with it.
      for (; seen.pulls < 10_000; seen.pulls += 1) yield CHUNK;
    } finally {
      seen.ended = true;
    }
  }
  const request: RawRequest = {
    method: "POST",
    url: "/",
    headers: signedHeaders(changes(), { secret: SECRET }),
    body: body(),
  };
  return { seen, request };
}

describe("a body that is an async iterable without an end", () => {
  test("is 413 with the first chunk over the limit: no further chunk is read, and the stream is ended", async () => {
    const { receiver } = await mounted({ maxBodyBytes: 10 * CHUNK.length });
    const { seen, request } = endless();
    expect(await receiver.receive(request)).toMatchObject({ status: 413 });
    expect(seen).toEqual({ pulls: 10, ended: true });
    expect(receiver.stats().refused).toEqual({ "body-too-large": 1 });
  });

  test("is 503 with the first chunk beyond what all bodies may hold", async () => {
    const { receiver, deliver } = await mounted({ maxInFlightBytes: 20 * CHUNK.length });
    const { seen, request } = endless();
    expect(await receiver.receive(request)).toMatchObject({ status: 503 });
    expect(seen).toEqual({ pulls: 20, ended: true });
    expect(receiver.stats().refused).toEqual({ "intake-full": 1 });
    expect(await deliver("x".repeat(20 * CHUNK.length))).toMatchObject({ status: 200 });
  });
});

test("a body that is an async iterable is taken up to the limit, to the byte", async () => {
  const body = changes();
  const { receiver } = await mounted({ maxBodyBytes: Buffer.byteLength(body) });
  async function* chunks(): AsyncGenerator<Uint8Array> {
    for (const letter of body) yield Buffer.from(letter);
  }
  const headers = signedHeaders(body, { secret: SECRET });
  expect(await receiver.receive({ method: "POST", url: "/", headers, body: chunks() })).toMatchObject({ status: 200 });
});

test.each<[string, () => Promise<never>]>([
  ["fails", () => Promise.reject(new Error("the connection is gone"))],
  ["never answers", () => new Promise(() => {})],
])("a stream that is too long is 413, where its end %s", async (_, end) => {
  const { receiver } = await mounted({ maxBodyBytes: 10 * CHUNK.length });
  const body = { [Symbol.asyncIterator]: () => ({ next: async () => ({ value: CHUNK }), return: end }) };
  const headers = signedHeaders(changes(), { secret: SECRET });
  expect(await receiver.receive({ method: "POST", url: "/", headers, body })).toMatchObject({ status: 413 });
});
