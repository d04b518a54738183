import { readFileSync } from "node:fs";
import { join } from "node:path";
import { beforeEach, describe, expect, onTestFinished, test, vi } from "vitest";
import { signedHeaders } from "../support/sign.ts";

const SECRET = "a secret of the shop";

const body = JSON.stringify({
  subscription: 1001,
  accountId: 2002,
  resource: "/email/messages",
  payloads: [{ id: "m-1", changeType: "created" }],
});

function requestOf(secret: string): Request {
  return new Request("https://shop.example/webhooks", {
    method: "POST",
    headers: signedHeaders(body, { secret }),
    body,
  });
}

beforeEach(() => {
  vi.stubEnv("SIGNING_SECRET", SECRET);
  const print = vi.spyOn(console, "log").mockImplementation(() => {});
  onTestFinished(() => {
    vi.unstubAllEnvs();
    print.mockRestore();
  });
});

describe("the examples of functions that take web-standard requests", () => {
  test.each(["netlify.ts", "vercel.ts", "workers.ts"])("are short: %s", (name) => {
    const text = readFileSync(join(import.meta.dirname, "../../examples", name), "utf8");
    expect(text.split("\n").length).toBeLessThan(40);
  });

  test.each([
    ["vercel.ts", async () => (await import("../../examples/vercel.ts")).POST],
    ["netlify.ts", async () => (await import("../../examples/netlify.ts")).default],
  ])("handle, and then answer: %s", async (_, load) => {
    const handle = await load();
    const answer = await handle(requestOf(SECRET));
    expect([answer.status, await answer.text()]).toEqual([200, ""]);
    expect(vi.mocked(console.log).mock.calls).toEqual([["account 2002: created message m-1"]]);
    expect((await handle(requestOf("another"))).status).toBe(401);
  });

  test("say for which path they are: netlify.ts", async () => {
    expect((await import("../../examples/netlify.ts")).config).toEqual({ path: "/webhooks" });
  });
});
