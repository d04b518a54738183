import type { RawRequest } from "hookline";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { inFolders } from "../adapters/inbox/in-folder.ts";
import { invalidSources } from "../support/invalid-sources.ts";
import { changes, expectBare, mounted, SECRET } from "../support/mounted.ts";
import { signedHeaders } from "../support/sign.ts";

/** The path says which application it is; some names give what is no source. */
function sourceOf(url = ""): string | undefined {
  const name = url.slice(1);
  return (Object.hasOwn(invalidSources, name) ? invalidSources[Number(name)]?.[1]() : name) as string;
}

describe("a source that is no text", () => {
  test("refuses its own request alone: those that come with it are stored in the same file", async () => {
    const { make, cleanup } = inFolders();
    const inbox = await make();
    const open = vi.spyOn(inbox as unknown as { open(): unknown }, "open");
    const { deliver, receiver } = await mounted({ inbox, mount: { source: ({ url }) => sourceOf(url) } });
    onTestFinished(async () => {
      await receiver.close({ drainMs: 0 });
      await cleanup(inbox);
    });
    expectBare(await deliver(changes(), { target: "/first" }), 200);
    const answers = await Promise.all(
      Array.from({ length: 40 }, (_, index) =>
        deliver(changes(), { target: `/${index % 2 === 0 ? (index / 2) % invalidSources.length : "crm"}` }),
      ),
    );
    expect(answers.map(({ status }) => status)).toEqual(answers.map((_, index) => (index % 2 === 0 ? 503 : 200)));
    expect(receiver.stats()).toMatchObject({ stored: 21, refused: { internal: 20 } });
    expect(open).toHaveBeenCalledTimes(1);
  });

  test.each(invalidSources)("of a mount of one's own is refused the same way: %s", async (got, source) => {
    const { receiver, log } = await mounted();
    expect(await receiver.receive(request({ source: source() as string }))).toMatchObject({ status: 503 });
    expect(log.of("internal")).toMatchObject([
      {
        facts: {
          fix: expect.stringContaining("`source`"),
          err: { name: "UsageError", code: "option-invalid", message: expect.stringContaining(got) },
        },
      },
    ]);
  });

  test("may throw anything: the answer is 503, never the status of the error", async () => {
    for (const error of [
      Object.assign(new Error("no"), { name: "SignatureError", code: "signature-wrong" }),
      Object.assign(new Error("no"), { status: 422 }),
      null,
      "closing",
    ]) {
      const { receiver, log } = await mounted();
      const raw = Object.defineProperty(request(), "source", {
        get() {
          throw error;
        },
      });
      expect(await receiver.receive(raw)).toMatchObject({ status: 503 });
      expect(receiver.stats().refused).toEqual({ internal: 1 });
      const err: object = { code: "option-invalid", message: expect.stringContaining("`source` threw"), cause: error };
      expect(log.of("internal")).toMatchObject([{ facts: { fix: expect.stringContaining("return undefined"), err } }]);
    }
  });

  test("is not asked for before the headers have passed", async () => {
    const source = vi.fn(() => Promise.reject(new Error("no")));
    const { receiver } = await mounted();
    const raw = Object.defineProperty({ ...request(), headers: {} }, "source", { get: source });
    expect(await receiver.receive(raw)).toMatchObject({ status: 401 });
    expect(source).not.toHaveBeenCalled();
  });
});

function request(rest: Partial<RawRequest> = {}): RawRequest {
  const body = changes();
  return {
    method: "POST",
    url: "/",
    headers: signedHeaders(body, { secret: SECRET }),
    body: Buffer.from(body),
    ...rest,
  };
}
