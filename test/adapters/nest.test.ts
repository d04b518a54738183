import { ExpressAdapter } from "@nestjs/platform-express";
import express from "express";
import { memoryInbox } from "hookline";
import { HooklineModule } from "hookline/nest";
import { describe, expect, test } from "vitest";
import { ACKNOWLEDGED, deliver, DELIVERY } from "./harness.ts";
import { listening } from "./nest-apps.ts";
import { nestSuite } from "./nest-suite.ts";

const path = "/webhooks";

nestSuite("nest on express", () => new ExpressAdapter());

test("a path that no request can have is refused at once, and so is a missing one", () => {
  for (const bad of ["webhooks", "/a?b", undefined as unknown as string]) {
    const options = { useFactory: () => ({ secret: "", inbox: memoryInbox() }), mount: { path: bad } };
    expect(() => HooklineModule.forRootAsync(options)).toThrow(expect.objectContaining({ code: "option-invalid" }));
  }
});

describe("an app that was made before Nest", () => {
  test("and reads bodies, as Express: 500, and the log says what to change", async () => {
    const { url, log } = await listening({ adapter: new ExpressAdapter(express().use(express.json())) });
    expect(await deliver(url, DELIVERY, { path })).toMatchObject({ status: 500, body: "" });
    expect(log.of("body-consumed")).toMatchObject([
      { facts: { fix: expect.stringContaining("Leave the parser to Nest") } },
    ]);
  });

  test("and leaves the bytes, as Express: 200, and the log warns", async () => {
    const adapter = new ExpressAdapter(express().use(express.raw({ type: "*/*" })));
    const { url, log } = await listening({ adapter });
    expect(await deliver(url, DELIVERY, { path })).toMatchObject(ACKNOWLEDGED);
    expect(log.of("parsed-before")).toMatchObject([
      { facts: { fix: expect.stringContaining("Leave the parser to Nest") } },
    ]);
  });
});
