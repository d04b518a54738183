import assert from "node:assert/strict";
import type { Answered } from "../../../src/cli/check/ask.ts";
import type { HttpBench } from "./fixture.ts";

/** What every server sends. */
const USUAL = ["date", "connection", "keep-alive", "content-length", "transfer-encoding"];

/** The status, the body, and no header but these, what every server sends, and what the platform adds. */
export function assertAnswer(
  { subject }: Pick<HttpBench, "subject">,
  answer: Answered,
  expected: {
    readonly status: number;
    readonly headers?: Readonly<Record<string, string>>;
    readonly body?: string;
  },
): void {
  const { status, headers = {}, body = "" } = expected;
  const known = new Set([...USUAL, ...(subject.platform?.ownHeaders ?? [])]);
  const told = Object.fromEntries(
    Object.entries(answer.headers).filter(([name]) => name in headers || !known.has(name)),
  );
  assert.deepEqual({ status: answer.status, headers: told, body: answer.body }, { status, headers, body });
}

export function assertStored({ heard }: Pick<HttpBench, "heard">, ...bodies: readonly (string | Uint8Array)[]): void {
  assert.deepEqual(
    heard.bodies(),
    bodies.map((body) => Buffer.from(body).toString("base64")),
  );
}

/** 503, and when to come again. */
export function assertLater(bench: Pick<HttpBench, "subject">, answer: Answered): void {
  assertAnswer(bench, answer, { status: 503, headers: { "retry-after": answer.headers["retry-after"] ?? "missing" } });
  assert.match(answer.headers["retry-after"] ?? "missing", /^\d+$/);
}
