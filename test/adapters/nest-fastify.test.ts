import { FastifyAdapter } from "@nestjs/platform-fastify";
import type { FastifyInstance } from "fastify";
import { describe, expect, test } from "vitest";
import { send } from "../support/http.ts";
import { ACKNOWLEDGED, deliver, DELIVERY } from "./harness.ts";
import { listening, nestApp } from "./nest-apps.ts";
import { nestSuite, OtherModule, post } from "./nest-suite.ts";

const path = "/webhooks";

nestSuite("nest on fastify", () => new FastifyAdapter());

describe("nest on fastify", () => {
  test("a request without a connection, as `inject` makes them, is answered too", async () => {
    const adapter = new FastifyAdapter();
    await nestApp({ adapter });
    const answer = await adapter.inject({ method: "POST", url: path, payload: DELIVERY });
    expect(answer).toMatchObject({ statusCode: 401, body: "" });
  });

  test("without middleware: the mount comes before what the app adds", async () => {
    const adapter = new FastifyAdapter({ skipMiddie: true });
    const { url } = await listening({
      adapter,
      imports: [OtherModule],
      prepare() {
        const app = adapter.getInstance<FastifyInstance>();
        app.addHook("onRequest", async (request, res) => {
          if (request.url === path) return res.code(418).send();
        });
      },
    });
    expect(await deliver(url, DELIVERY, { path })).toMatchObject(ACKNOWLEDGED);
    expect(await send(`${url}/other`, post)).toMatchObject({ status: 201, body: '{"got":{"a":1}}' });
  });
});
