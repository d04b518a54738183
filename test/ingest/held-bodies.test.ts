import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import type { RawRequest } from "hookline";
import { describe, expect, test } from "vitest";
import { deferred, turns } from "../support/event-loop.ts";
import { eventually } from "../support/eventually.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { changes, mounted, type Setup } from "../support/mounted.ts";

const BODY = changes();
const never = (): Promise<never> => new Promise(() => {});

/** A receiver with room for two of the bodies at once. */
async function narrow(setup: Setup = {}) {
  const clock = fakeClock();
  const own = await mounted({ clock, maxInFlightBytes: 2 * BODY.length + 1, ...setup });
  const receive = async (body: RawRequest["body"] = async () => Buffer.from(BODY)): Promise<number> =>
    (await own.receiver.receive({ method: "POST", url: "/", headers: own.signed(BODY), body })).status;
  return { ...own, clock, receive };
}

describe("bodies are in flight until their requests are answered", () => {
  test.each<[string, RawRequest["body"]]>([
    ["as bytes", Buffer.from(BODY)],
    ["by a way to read that counts nothing", async () => Buffer.from(BODY)],
    [
      "by a way to read that counts more than there is",
      async ({ count }) => {
        count?.(BODY.length + 1);
        await turns(1);
        return Buffer.from(BODY);
      },
    ],
  ])("while the secret is looked up: %s", async (_, body) => {
    const own = await narrow({ secret: never, secretTimeoutMs: 2_000 });
    const first = own.receive(body);
    await turns();
    const second = own.receive(body);
    await turns();
    expect(await own.receive(body)).toBe(503);
    expect(own.receiver.stats().refused).toEqual({ "intake-full": 1 });
    await own.clock.advance(2_000);
    expect(await Promise.all([first, second])).toEqual([503, 503]);
    const last = [own.receive(body)];
    await turns();
    last.push(own.receive(body));
    await turns();
    await own.clock.advance(2_000);
    expect(await Promise.all(last)).toEqual([503, 503]);
    expect(own.receiver.stats().refused).toEqual({ "intake-full": 1, "secret-lookup-late": 4 });
  });

  test("while the gate decides, and then until they are stored", async () => {
    const gates = [deferred(), deferred()];
    let asked = 0;
    const own = await narrow({ prepare: ({ unsubscribeWhen }) => unsubscribeWhen(() => gates[asked++]?.promise) });
    const held = [own.receive(), own.receive()];
    await turns();
    expect(await own.receive()).toBe(503);
    for (const { resolve } of gates) resolve();
    expect(await Promise.all(held)).toEqual([200, 200]);
    expect(await own.receive()).toBe(200);
  });
});

test("a stream that stops keeps no chunk in memory once its request is answered", async () => {
  setFlagsFromString("--expose-gc");
  const collect = runInNewContext("gc") as () => void;
  const { receive, clock } = await narrow({ bodyTimeoutMs: 2_000 });
  const given: WeakRef<Uint8Array>[] = [];
  const connection = deferred<never>();
  const stream = {
    [Symbol.asyncIterator]: () => ({
      async next() {
        if (given.length === 2) return connection.promise;
        const value = new Uint8Array(10);
        given.push(new WeakRef(value));
        return { done: false as const, value };
      },
    }),
  };
  const reply = receive(stream);
  await turns();
  await clock.advance(2_000);
  expect(await reply).toBe(408);
  await eventually(() => {
    collect();
    expect(given.map((one) => one.deref())).toEqual([undefined, undefined]);
  });
  connection.reject(new Error("closed at last"));
});
