import { once } from "node:events";
import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { ask } from "../../src/cli/check/ask.ts";

async function listening(answer: (request: IncomingMessage, response: ServerResponse) => unknown): Promise<string> {
  const server = createServer((request, response) => void answer(request, response)).listen(0, "127.0.0.1");
  onTestFinished(() => void server.close());
  await once(server, "listening");
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

test("of an answer that never ends the beginning is enough", async () => {
  let isOpen = true;
  const url = await listening((_, response) => {
    response.on("close", () => (isOpen = false));
    const write = (): void => {
      if (isOpen) response.write("x".repeat(32_768), () => setImmediate(write));
    };
    write();
  });
  const { status, body } = await ask(url, { method: "GET", headers: {} });
  expect(status).toBe(200);
  expect(body.length).toBeGreaterThanOrEqual(65_536);
  expect(new Set(body)).toEqual(new Set(["x"]));
});

test("a long body arrives whole at a server that begins to read late", async () => {
  const body = Buffer.alloc(16 * 1024 * 1024, "y");
  const url = await listening(async (request, response) => {
    let turns = 2_000;
    while (turns-- > 0) await new Promise((resolve) => setImmediate(resolve));
    let bytes = 0;
    for await (const chunk of request as AsyncIterable<Buffer>) bytes += chunk.length;
    response.end(String(bytes));
  });
  const answered = await ask(url, { method: "POST", headers: {}, body }, { limitMs: 60_000, earlyMs: 0 });
  expect(answered).toMatchObject({ status: 200, body: String(body.length) });
});

test("over TLS a server that speaks none is told as such", async () => {
  const url = await listening((_, response) => void response.end());
  await expect(ask(url.replace("http:", "https:"), { method: "GET", headers: {} })).rejects.toMatchObject({
    code: expect.stringMatching(/EPROTO|ERR_SSL|ECONNRESET/),
  });
});
