import { describe, expect, test } from "vitest";
import { createClient } from "../../src/client.ts";
import { notPlayed } from "../../src/emulator/unified-api/not-played-routes.ts";
import { call, startEmulator } from "./support.ts";

describe("what is not played", () => {
  test.each(notPlayed([]).filter((operation) => /\/v1\/(?:followup|user)/.test(operation)))(
    "%s is 501, which says how to give it an answer",
    async (operation) => {
      const emulator = await startEmulator();
      const { status, json } = await call(emulator, operation.replace(/\{\w+\}/, "7"));
      expect(status).toBe(501);
      expect(json).toMatchObject({ code: "notPlayed", requestId: expect.any(String) as string });
      const [method = "", path = ""] = operation.split(" ");
      expect(json["message"]).toContain(operation);
      expect(json["message"]).toContain(`emulator.respond("${method}", "${path}", { json: ... })`);
    },
  );
});

describe("emulator.respond", () => {
  test("gives a path an answer of one's own, until it is taken back or all begins anew", async () => {
    const emulator = await startEmulator();
    const client = createClient({ token: "any", baseUrl: emulator.url, retry: false });
    const get = (id: string) => client.request("GET", `/v1/user/accounts/${id}`);
    emulator.respond("get", "/v1/user/accounts/{id}", { json: { id: 7 } });
    expect(await get("7")).toEqual({ id: 7 });
    expect(await get("8")).toEqual({ id: 7 });
    emulator.respond("GET", "/v1/user/accounts/8", { status: 429, headers: { "Retry-After": "30" } });
    await expect(get("8")).rejects.toMatchObject({ status: 429, retryAfterMs: 30_000 });
    expect(await get("7")).toEqual({ id: 7 });
    await expect(get("7/managed")).rejects.toMatchObject({ status: 405 });
    emulator.respond("GET", "/v1/user/accounts/8", undefined);
    expect(await get("8")).toEqual({ id: 7 });
    await emulator.reset();
    await expect(get("7")).rejects.toMatchObject({ status: 501 });
  });

  test("stands in front of what is played, other methods of the path do not", async () => {
    const emulator = await startEmulator();
    const { token } = await emulator.account();
    emulator.respond("GET", "/v1/email/messages", { status: 503, json: { code: "down" } });
    expect(await call(emulator, "GET /v1/email/messages?q=x", { token })).toMatchObject({
      status: 503,
      json: { code: "down" },
    });
    const to = [{ address: "a@example.com" }];
    expect((await call(emulator, "POST /v1/email/messages", { token, body: { to } })).status).toBe(201);
  });

  test.each([
    ["GET", "/v1/user?x=1", {}],
    ["GET", "v1/user", {}],
    ["G T", "/v1/user", {}],
    ["GET", "/v1/user", { status: 99 }],
    ["GET", "/v1/user", { status: 600 }],
    ["GET", "/v1/user", { status: 200.5 }],
  ])("refuses %s %s %j", async (method, path, answer) => {
    const emulator = await startEmulator();
    expect(() => emulator.respond(method, path, answer)).toThrow(expect.objectContaining({ code: "option-invalid" }));
  });

  test("is POST /emulator/answers for other languages", async () => {
    const emulator = await startEmulator();
    const give = (answer: object | null, path = "/v1/user") =>
      call(emulator, "POST /emulator/answers", { body: { method: "GET", path, answer } });
    expect((await give({ status: 201, json: { email: "lin@example.com" } })).status).toBe(200);
    expect(await call(emulator, "GET /v1/user")).toMatchObject({ status: 201, json: { email: "lin@example.com" } });
    expect((await give(null)).status).toBe(200);
    expect((await call(emulator, "GET /v1/user")).status).toBe(501);
    expect(await give({}, "user")).toMatchObject({ status: 400, json: { code: "option-invalid" } });
  });
});
