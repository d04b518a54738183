import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { createClient, type ClientOptions } from "../../src/client.ts";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

/** When each request of all of these clients went out, in milliseconds. */
function timed() {
  const began = Date.now();
  const sent: number[] = [];
  const fetch = async (): Promise<Response> => {
    sent.push(Date.now() - began);
    return Response.json({ id: "m-1" });
  };
  return { sent, clientOf: (options: Partial<ClientOptions> = {}) => createClient({ token: "t", fetch, ...options }) };
}

/** No more than so many in any second. */
function mostInASecond(sent: readonly number[]): number {
  return Math.max(...sent.map((at) => sent.filter((other) => other >= at && other < at + 1_000).length));
}

describe("calls of an account", () => {
  test("start ten a second at most, in their order, and none is lost", async () => {
    const { sent, clientOf } = timed();
    const client = clientOf({ token: "a" });
    const all = Promise.all(Array.from({ length: 35 }, (_, nth) => client.messages.get(`m-${nth}`)));
    await vi.advanceTimersByTimeAsync(10_000);
    expect(await all).toHaveLength(35);
    expect(mostInASecond(sent)).toBe(10);
    expect(sent.at(-1)).toBeLessThanOrEqual(4_000);
  });

  test("share their rate with other clients of the account in this process, and not with other accounts", async () => {
    const { sent, clientOf } = timed();
    const rateLimit = { perSecond: 2 };
    const mine = [clientOf({ token: "b", rateLimit }), clientOf({ token: async () => "b", rateLimit })];
    const all = Promise.all([0, 1, 2, 3].flatMap((nth) => mine.map((client) => client.messages.get(`m-${nth}`))));
    await vi.advanceTimersByTimeAsync(10_000);
    await all;
    expect(mostInASecond(sent)).toBe(2);

    const other = timed();
    const theirs = ["c", "d", "e"].map((token) => other.clientOf({ token, rateLimit }).messages.get("m"));
    await vi.advanceTimersByTimeAsync(0);
    await Promise.all(theirs);
    expect(other.sent).toEqual([0, 0, 0]);
  });

  test("are as many in any second, not only in seconds that begin with the first call", async () => {
    const { sent, clientOf } = timed();
    const client = clientOf({ token: "i", rateLimit: { perSecond: 2 } });
    const calls = [client.messages.get("first")];
    await vi.advanceTimersByTimeAsync(990);
    calls.push(...["a", "b", "c"].map((id) => client.messages.get(id)));
    await vi.advanceTimersByTimeAsync(5_000);
    await Promise.all(calls);
    expect(mostInASecond(sent)).toBe(2);
  });

  test("have no limit where it is switched off", async () => {
    const { sent, clientOf } = timed();
    const client = clientOf({ token: "f", rateLimit: false });
    await Promise.all(Array.from({ length: 50 }, () => client.messages.get("m")));
    expect(sent).toHaveLength(50);
  });

  test("leave the queue when their signal aborts", async () => {
    const { sent, clientOf } = timed();
    const client = clientOf({ token: "g", rateLimit: { perSecond: 1 } });
    const controller = new AbortController();
    const first = client.messages.get("a");
    const waiting = client.messages.get("b", { signal: controller.signal });
    const ended = expect(waiting).rejects.toThrow("enough");
    await vi.advanceTimersByTimeAsync(100);
    controller.abort(new Error("enough"));
    await ended;
    const last = client.messages.get("c");
    await vi.advanceTimersByTimeAsync(5_000);
    await Promise.all([first, last]);
    expect(sent).toHaveLength(2);
  });
});
