import fc from "fast-check";
import { isHooklineError } from "hookline";
import { describe, expect, test } from "vitest";
import { createClient, type Client } from "../../src/client.ts";
import { skippingClock, startService } from "./support.ts";

/** A service with so many messages, in pages of a size; some of its answers are failures. */
function servedBy(pages: readonly (readonly string[])[], failures: Iterator<number | undefined>) {
  const asked: (string | null)[] = [];
  const fetch = async (input: string | URL | Request): Promise<Response> => {
    const status = failures.next().value;
    if (status === 0) throw new TypeError("fetch failed");
    if (status !== undefined) return Response.json({}, { status });
    const token = new URL(input instanceof Request ? input.url : input).searchParams.get("pageToken");
    asked.push(token);
    const nth = token === null ? 0 : Number(token);
    const records = (pages[nth] ?? []).map((id) => ({ id }));
    return Response.json({ records, ...(nth + 1 < pages.length && { nextPageToken: String(nth + 1) }) });
  };
  const options = { token: "t", fetch, clock: skippingClock(), rateLimit: false } as const;
  return { client: createClient({ ...options, retry: { attempts: 3, budgetMs: 20_000 } }), asked };
}

function* forever(): Generator<number | undefined> {
  for (;;) yield undefined;
}

function idsOf(pages: readonly (readonly string[])[]): readonly string[] {
  return pages.flat();
}

const pagesOf = fc.array(fc.array(fc.uuid(), { maxLength: 4 }), { minLength: 1, maxLength: 6 });

async function walk(client: Client): Promise<readonly string[]> {
  const seen: string[] = [];
  for await (const { id } of client.messages.list()) seen.push(id);
  return seen;
}

describe("a walk of a list", () => {
  test("gives every record once, in order, whatever fails for a time", async () => {
    const someFailures = fc.array(fc.constantFrom(undefined, undefined, undefined, 0, 429, 503), { maxLength: 40 });
    await fc.assert(
      fc.asyncProperty(pagesOf, someFailures, async (pages, failures) => {
        // Two failures in a row at most: three attempts pass.
        const bearable = failures.map((failure, nth) => (nth % 3 === 2 ? undefined : failure));
        function* script(): Generator<number | undefined> {
          yield* bearable;
          yield* forever();
        }
        const { client } = servedBy(pages, script());
        expect(await walk(client)).toEqual(idsOf(pages));
      }),
      { numRuns: 200 },
    );
  });

  test("that fails for good can be taken up at the page where it failed: none twice, none missed", async () => {
    const failures = fc.array(fc.constantFrom(undefined, undefined, 404, 400, 503, 0), { maxLength: 60 });
    await fc.assert(
      fc.asyncProperty(pagesOf, failures, async (pages, given) => {
        function* script(): Generator<number | undefined> {
          yield* given;
          yield* forever();
        }
        const { client } = servedBy(pages, script());
        const seen: string[] = [];
        let token: string | undefined;
        let isOver = false;
        while (!isOver) {
          try {
            const page = await client.messages.list().page(token);
            seen.push(...page.records.map(({ id }) => id));
            token = page.nextPageToken;
            isOver = token === undefined;
          } catch {
            // The same token again.
          }
        }
        expect(seen).toEqual(idsOf(pages));
      }),
      { numRuns: 200 },
    );
  });

  test("asks for a page only when it is come to", async () => {
    const { client, asked } = servedBy([["a", "b"], ["c"], ["d"]], forever());
    for await (const { id } of client.messages.list()) if (id === "b") break;
    expect(asked).toEqual([null]);
    const pages: (string | undefined)[] = [];
    for await (const page of client.messages.list().pages()) pages.push(page.nextPageToken);
    expect(pages).toEqual(["1", "2", undefined]);
  });

  test("begins anew each time", async () => {
    const { client } = servedBy([["a"], ["b"]], forever());
    const list = client.messages.list();
    for (let times = 0; times < 2; times += 1) {
      const seen: string[] = [];
      for await (const { id } of list) seen.push(id);
      expect(seen).toEqual(["a", "b"]);
    }
  });

  test("goes over empty pages, and takes an empty token for none", async () => {
    const { client } = servedBy([[], ["a"], []], forever());
    expect(await walk(client)).toEqual(["a"]);
    expect((await client.messages.list().page("")).nextPageToken).toBe("1");
    const { url, requests } = await startService(() => ({ json: { records: [], nextPageToken: "" } }));
    expect(await walk(createClient({ baseUrl: url, token: "t" }))).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  test("ends where the service gives the same page for ever", async () => {
    const { url } = await startService(() => ({ json: { records: [{ id: "a" }], nextPageToken: "1" } }));
    const endless: unknown = await walk(createClient({ baseUrl: url, token: "t" })).catch((error: unknown) => error);
    expect(isHooklineError(endless, "page-repeated")).toBe(true);
  });

  test("of a sync sends the delta token once, and gives the next one with the last page", async () => {
    const { url, requests } = await startService(({ query }) => ({
      json: Object.fromEntries(query)["pageToken"]
        ? { records: [{ id: "b" }], nextDeltaToken: "d-2" }
        : { records: [{ id: "a" }], nextPageToken: "p-1" },
    }));
    const updated = createClient({ baseUrl: url, token: "t" }).messages.sync.updated({ deltaToken: "d-1" });
    const tokens: (string | undefined)[] = [];
    for await (const { nextDeltaToken } of updated.pages()) tokens.push(nextDeltaToken);
    expect(tokens).toEqual([undefined, "d-2"]);
    expect(requests.map(({ query }) => query)).toEqual([[["deltaToken", "d-1"]], [["pageToken", "p-1"]]]);
  });

  test("of subscriptions counts its way: their pages have no tokens", async () => {
    const all = Array.from({ length: 5 }, (_, nth) => ({ id: nth + 1, resource: "/contacts", notificationUrl: "u" }));
    const { url } = await startService(({ query }) => {
      const offset = Number(Object.fromEntries(query)["offset"] ?? 0);
      return { json: { offset, totalSize: 5, done: offset + 2 >= 5, records: all.slice(offset, offset + 2) } };
    });
    const { subscriptions } = createClient({ baseUrl: url, token: "t" });
    const seen: number[] = [];
    for await (const { id } of subscriptions.list()) seen.push(id);
    expect(seen).toEqual([1, 2, 3, 4, 5]);
  });

  test("of subscriptions ends at an empty page that says it is not the last", async () => {
    const { url, requests } = await startService(() => ({ json: { offset: 0, done: false, records: [] } }));
    for await (const _ of createClient({ baseUrl: url, token: "t" }).subscriptions.list()) expect.unreachable();
    expect(requests).toHaveLength(1);
  });
});
