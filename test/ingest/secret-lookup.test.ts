import type { SecretRequest, SecretSource } from "hookline";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { Refused } from "../../src/ingest/refusals.ts";
import { createSecretLookup } from "../../src/ingest/secret-lookup.ts";
import { deferred, turns, watch } from "../support/event-loop.ts";
import { fakeClock } from "../support/fake-clock.ts";
import { changes, expectBare, mounted } from "../support/mounted.ts";

const DEADLINE_MS = 2_000;
const LONG_MS = 24 * 3_600_000;

type Found = Awaited<ReturnType<Extract<SecretSource, (request: SecretRequest) => unknown>>>;

/** A look-up whose results the test gives; they are shown as the names of the keys. */
function lookedUp({ isolateRequests = false } = {}) {
  const clock = fakeClock();
  const calls: { readonly source: string | undefined; end(found?: Found): void; fail(): void }[] = [];
  const find = vi.fn(({ source }: SecretRequest) => {
    const { promise, resolve, reject } = deferred<Found>();
    calls.push({ source, end: (found) => resolve(found), fail: () => reject(new Error("vault is sealed")) });
    return promise;
  });
  const lookup = createSecretLookup(find, { clock, timeoutMs: DEADLINE_MS, isolateRequests });

  async function ask(source: string | undefined): Promise<string> {
    const keys = await lookup.keys(source, () => ({ ...(source && { source }) }) as SecretRequest);
    return keys instanceof Refused ? keys.code : keys.map(({ name }) => name).join();
  }

  /** Asks, and answers what was asked at once. */
  async function askAndEnd(source: string, found?: Found): Promise<string> {
    const asked = calls.length;
    const answer = ask(source);
    for (const call of calls.slice(asked)) call.end(found);
    return answer;
  }
  return { clock, calls, ask, askAndEnd, find };
}

const named = (name: string): Found => ({ name, value: "s" });

describe("requests of one source", () => {
  test("share one look-up, at first and whenever what it found is over", async () => {
    const { clock, calls, ask } = lookedUp();
    for (const round of [1, 2, 3]) {
      const answers = Array.from({ length: 200 }, () => ask("a"));
      expect(calls).toHaveLength(round);
      calls.at(-1)?.end(named(`key-${round}`));
      expect(new Set(await Promise.all(answers))).toEqual(new Set([`key-${round}`]));
      await clock.advance(60_000);
    }
  });

  test("wait for no other source's", async () => {
    const { calls, ask } = lookedUp();
    const answers = [ask("a"), ask("b")].map(watch);
    expect(calls.map(({ source }) => source)).toEqual(["a", "b"]);
    calls[1]?.end(named("of b"));
    await turns();
    expect(answers).toMatchObject([{ ended: false }, { value: "of b" }]);
  });

  test("are refused when it throws a promise that rejects, and the process goes on", async () => {
    const unhandled: unknown[] = [];
    const note = (error: unknown): void => void unhandled.push(error);
    process.on("unhandledRejection", note);
    onTestFinished(() => void process.off("unhandledRejection", note));
    const lookup = createSecretLookup(
      () => {
        throw Promise.reject(new Error("no"));
      },
      { clock: fakeClock(), timeoutMs: DEADLINE_MS, isolateRequests: false },
    );
    expect(await lookup.keys("a", () => ({}) as SecretRequest)).toMatchObject({ code: "secret-lookup-failed" });
    await turns();
    expect(unhandled).toEqual([]);
  });

  test("share its failure, which is forgotten at once", async () => {
    const { calls, ask, askAndEnd } = lookedUp();
    const answers = [ask("a"), ask("a")];
    calls[0]?.fail();
    expect(await Promise.all(answers)).toEqual(["secret-lookup-failed", "secret-lookup-failed"]);
    expect(await askAndEnd("a", "")).toBe("secret-lookup-failed");
    expect(await askAndEnd("a", named("found"))).toBe("found");
  });

  test("have their full time each, however long the first one has waited", async () => {
    const { clock, calls, ask } = lookedUp();
    const first = ask("a");
    await clock.advance(DEADLINE_MS - 1);
    const second = ask("a");
    await clock.advance(1);
    expect(await first).toBe("secret-lookup-late");
    calls[0]?.end(named("slow"));
    expect(await second).toBe("slow");
    expect(calls).toHaveLength(1);
  });

  test("without a source share nothing: each may be another application's", async () => {
    const { calls, ask } = lookedUp();
    const answers = [ask(undefined), ask(undefined)];
    for (const [index, call] of calls.entries()) call.end(named(`of ${index}`));
    expect(await Promise.all(answers)).toEqual(["of 0", "of 1"]);
  });

  test("on a platform that isolates requests share the result, and never a look-up", async () => {
    const { calls, ask } = lookedUp({ isolateRequests: true });
    const answers = [ask("a"), ask("a")];
    expect(calls).toHaveLength(2);
    for (const call of calls) call.end(named("found"));
    expect(await Promise.all(answers)).toEqual(["found", "found"]);
    expect(await ask("a")).toBe("found");
  });
});

describe("a look-up that finds nothing", () => {
  test("is remembered for 2 s at most", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    expect(await askAndEnd("a")).toBe("secret-unknown");
    await clock.advance(1_999);
    expect(await ask("a")).toBe("secret-unknown");
    expect(calls).toHaveLength(1);
    await clock.advance(1);
    expect(await askAndEnd("a", named("found"))).toBe("found");
  });

  test("is as old as the beginning of the look-up, not as its end", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    const slow = ask("a");
    await clock.advance(1_500);
    calls[0]?.end();
    expect(await slow).toBe("secret-unknown");
    await clock.advance(500);
    expect(await askAndEnd("a", named("found"))).toBe("found");
  });

  test("does not outlive a clock set back", async () => {
    const { clock, askAndEnd } = lookedUp();
    await askAndEnd("a");
    clock.jump(-1);
    expect(await askAndEnd("a", named("found"))).toBe("found");
  });

  test("lets a tenant in that was registered a second after a refused handshake: at the next but one", async () => {
    const clock = fakeClock();
    const tenants = new Map<string, string>();
    const { deliver } = await mounted({
      clock,
      secret: async ({ source = "" }) => tenants.get(source),
      mount: { source: "new" },
    });
    const shake = () => deliver("", { target: "/?validationToken=token-of-the-service", secret: "of the new one" });
    expectBare(await shake(), 401);
    await clock.advance(1_000);
    tenants.set("new", "of the new one");
    expectBare(await shake(), 401);
    await clock.advance(1_000);
    expect(await shake()).toMatchObject({ status: 200, body: "token-of-the-service" });
    expectBare(await deliver(changes(), { secret: "of the new one" }), 200);
  });
});

describe("an unauthenticated client that invents sources", () => {
  test("causes one look-up for each, and removes no known source from the cache", async () => {
    const { calls, ask, askAndEnd } = lookedUp();
    await askAndEnd("known", named("known"));
    for (let index = 0; index < 3_000; index += 1) await askAndEnd(`made up ${index}`);
    expect(calls).toHaveLength(3_001);
    expect(await ask("known")).toBe("known");
    expect(calls).toHaveLength(3_001);
    expect(await ask("made up 2000")).toBe("secret-unknown"); // the last 1,000 are remembered, no more
    expect(calls).toHaveLength(3_001);
    expect(await askAndEnd("made up 1999")).toBe("secret-unknown");
    expect(calls).toHaveLength(3_002);
  });

  test("takes at most 1,000 look-ups at once; a known source still gets its own, and an unknown one soon", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    await askAndEnd("known", named("known"));
    await clock.advance(60_000);
    const flood = Array.from({ length: 1_500 }, (_, index) => watch(ask(`made up ${index}`)));
    await turns();
    expect(calls).toHaveLength(1_001);
    expect(flood.filter(({ value }) => value === "secret-lookup-failed")).toHaveLength(500);
    expect(await askAndEnd("known", named("known again"))).toBe("known again");
    expect(await ask("new")).toBe("secret-lookup-failed");
    const joined = watch(ask("made up 7"));
    calls.find(({ source }) => source === "made up 7")?.end(named("found"));
    await turns();
    expect(joined.value).toBe("found");
    await clock.advance(DEADLINE_MS);
    expect(await askAndEnd("new", named("found"))).toBe("found");
  });
});

describe("a look-up that never returns", () => {
  test("gives way to another one after the deadline", async () => {
    const { clock, ask, askAndEnd } = lookedUp();
    const hung = ask("a");
    await clock.advance(DEADLINE_MS);
    expect(await hung).toBe("secret-lookup-late");
    expect(await askAndEnd("a", named("found"))).toBe("found");
  });

  test("is begun once per deadline, not at every redelivery; the source works again with its storage", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    await askAndEnd("a", named("found"));
    await clock.advance(60_000);
    for (let deadline = 1; deadline <= 10; deadline += 1) {
      const answers = [ask("a"), ask("a"), ask("a")];
      await clock.advance(DEADLINE_MS);
      expect(new Set(await Promise.all(answers))).toEqual(new Set(["secret-lookup-late"]));
      expect(calls).toHaveLength(1 + deadline);
    }
    expect(await askAndEnd("a", named("found again"))).toBe("found again");
  });

  test("counts when it returns after all", async () => {
    const { clock, calls, ask } = lookedUp();
    void ask("a");
    await clock.advance(DEADLINE_MS);
    void ask("a");
    calls[0]?.end(named("late"));
    await turns();
    expect(await ask("a")).toBe("late");
    calls[1]?.end();
    await turns();
    expect(clock.waiting).toBe(0);
  });

  test("is one of 2,000 at most for sources that may be made up, until it returns or a minute is over", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    await askAndEnd("known", named("known"));
    await clock.advance(60_000);
    for (const round of [1, 2, 3]) {
      for (let index = 0; index < 1_000; index += 1) void ask(`made up ${round}-${index}`);
      await clock.advance(DEADLINE_MS);
    }
    expect(calls).toHaveLength(2_001);
    expect(await ask("new")).toBe("secret-lookup-failed");
    expect(await askAndEnd("known", named("known again"))).toBe("known again");
    calls[1]?.fail();
    await turns();
    expect(await askAndEnd("new", named("found"))).toBe("found");
    void ask("made up again");
    expect(await ask("newer")).toBe("secret-lookup-failed");
    await clock.advance(60_000);
    expect(await askAndEnd("newer", named("found"))).toBe("found");
  });
});

describe("the result of a look-up", () => {
  test("is cached for 60 s from the beginning of the look-up", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    void ask("a");
    await clock.advance(30_000);
    calls[0]?.end(named("old"));
    await turns();
    await clock.advance(29_999);
    expect(await ask("a")).toBe("old");
    await clock.advance(1);
    expect(await askAndEnd("a", named("new"))).toBe("new");
  });

  test.each([1, 30_000, 60_000, LONG_MS])(
    "does not outlive a clock set back by %d ms: it may be revoked",
    async (ms) => {
      const { clock, ask, askAndEnd, calls } = lookedUp();
      await askAndEnd("a", named("revoked"));
      await clock.advance(ms === 30_000 ? 45_000 : 0);
      await ask("a");
      clock.jump(-ms);
      expect(await askAndEnd("a")).toBe("secret-unknown");
      await clock.advance(ms);
      expect(await askAndEnd("a")).toBe("secret-unknown");
      expect(calls.length).toBeGreaterThanOrEqual(2);
    },
  );

  test("is not used when its look-up began before a clock set back", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    const answer = ask("a");
    clock.jump(-LONG_MS);
    await askAndEnd("b", named("of b"));
    calls[0]?.end(named("old"));
    expect(await answer).toBe("old");
    expect(await askAndEnd("a", named("new"))).toBe("new");
  });

  test.each<[string, Found, string]>([
    ["found", named("new"), "new"],
    ["found nothing", undefined, "secret-unknown"],
  ])("too late does not replace what a newer one %s", async (_, found, answer) => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    void ask("a");
    await clock.advance(DEADLINE_MS);
    expect(await askAndEnd("a", found)).toBe(answer);
    calls[0]?.end(named("revoked"));
    await turns();
    expect(await ask("a")).toBe(answer);
    await clock.advance(2_000);
    expect(await askAndEnd("a", found)).toBe(answer);
  });

  test("too late does not come back after a newer one found nothing, although it was known before", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    await askAndEnd("a", named("revoked"));
    await clock.advance(60_000);
    void ask("a");
    await clock.advance(DEADLINE_MS);
    expect(await askAndEnd("a")).toBe("secret-unknown");
    calls[1]?.end(named("revoked"));
    await turns();
    expect(await ask("a")).toBe("secret-unknown");
  });

  test("makes room for more than 1,000 sources from the oldest on, and a refreshed one is new", async () => {
    const { clock, calls, ask, askAndEnd } = lookedUp();
    await askAndEnd("refreshed", named("key"));
    await clock.advance(59_000);
    for (let index = 0; index < 998; index += 1) await askAndEnd(`tenant ${index}`, named("key"));
    await clock.advance(1_000);
    for (const source of ["refreshed", "one more", "too many"]) await askAndEnd(source, named("key"));
    const asked = calls.length;
    for (const source of ["refreshed", "tenant 1", "tenant 997", "one more"]) expect(await ask(source)).toBe("key");
    expect(calls).toHaveLength(asked);
    await askAndEnd("tenant 0", named("key"));
    expect(calls).toHaveLength(asked + 1);
  });

  test("is forgotten when the next look-up finds nothing", async () => {
    const { clock, askAndEnd } = lookedUp();
    await askAndEnd("a", named("revoked"));
    await clock.advance(60_000);
    expect(await askAndEnd("a")).toBe("secret-unknown");
    await clock.advance(2_000);
    expect(await askAndEnd("a")).toBe("secret-unknown");
  });
});
