import { UndiciInstrumentation } from "@opentelemetry/instrumentation-undici";
import * as conventions from "@opentelemetry/semantic-conventions/incubating";
import { sqliteInbox } from "hookline/sqlite";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { CONVENTIONAL, CONVENTIONAL_METRICS } from "../../../adapters/observe/opentelemetry/names.ts";
import { startNode } from "../../cli/child.ts";
import { serve } from "../../support/http.ts";
import { expectLinkedAfterKill } from "./otel/linked-after-kill.ts";
import { PROMISES } from "./otel/promises.ts";
import { sdk3 } from "./otel/sdk-3.ts";
import { enableContext } from "./otel/sdk.ts";
import { createWorld } from "./otel/world.ts";

describe("with API 1.10 and SDK 3", () => {
  let disable = (): void => {};
  beforeAll(() => {
    disable = enableContext();
  });
  afterAll(() => disable());

  test.each(Object.entries(PROMISES))("%s", (_name, hold) => hold(sdk3));

  test("a handler's fetch is a child of its span, by the instrumentation of undici", async () => {
    const server = await serve((_req, res) => res.end());
    const { provider, spans } = sdk3.tracing();
    const undici = new UndiciInstrumentation();
    undici.setTracerProvider(provider as never);
    undici.enable();
    onTestFinished(() => undici.disable());
    await using world = createWorld(sdk3, { telemetry: { tracerProvider: provider } });
    world.receiver.on("email", async () => void (await fetch(server.url)).status);
    await world.receiver.start();
    await world.send();
    await world.receiver.idle();
    const fetched = spans().find(({ name }) => name === "GET");
    const processed = spans().find(({ name }) => name === "process mail");
    expect(fetched?.parentSpanContext?.spanId).toBe(processed?.spanContext().spanId);
    expect(fetched?.spanContext().traceId).toBe(processed?.spanContext().traceId);
  });

  test("the link survives a killed process, in a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "hookline-linked-"));
    onTestFinished(() => rmSync(folder, { recursive: true, force: true }));
    const file = join(folder, "inbox.db");
    await expectLinkedAfterKill(file, () => sqliteInbox(file));
  });
});

test("all of it holds with API 1.9 and SDK 2, too", async () => {
  const folder = "./test/adapters/observe/otel";
  const child = startNode(["--import", `${folder}/use-old-api.ts`, `${folder}/old-pair-process.ts`]);
  await child.ended;
  const { api, failures } = JSON.parse(child.out() || JSON.stringify({ failures: child.err() })) as {
    readonly api: string;
    readonly failures: object;
  };
  expect(failures).toEqual({});
  expect(api).toMatch(/^1\.9\./);
});

test("names of attributes and metrics are those of OpenTelemetry's conventions", () => {
  const known = new Set<unknown>(Object.values(conventions));
  const names: readonly string[] = [...Object.values(CONVENTIONAL), ...Object.values(CONVENTIONAL_METRICS)];
  expect(names.filter((name) => !known.has(name))).toEqual([]);
  expect(known.has("messaging.client.published.message")).toBe(false);
});
