import { Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { expect, test } from "vitest";
import { createLog } from "../../src/cli/serve/log.ts";

test("on a terminal each line is text: the time, how bad it is, the message, the facts", () => {
  const { stream, text } = sink(true);
  const log = createLog(stream);
  log.debug({}, "not told");
  log.info({}, "hello");
  log.warn({ status: 401, code: "signature-wrong" }, "forged");
  log.error({ err: new TypeError("no such thing"), path: ["a"] }, "it failed");
  const lines = stripVTControlCharacters(text()).split("\n");
  expect(lines.map((line) => line.replace(/^\d\d:\d\d:\d\d /, ""))).toEqual([
    "info  hello",
    "warn  forged  status=401  code=signature-wrong",
    'error it failed  path=["a"]  error=no such thing',
    "",
  ]);
});

test("elsewhere each line is JSON", () => {
  const { stream, text } = sink(false);
  createLog(stream).info({ url: "http://127.0.0.1:3000" }, "listening");
  expect(JSON.parse(text())).toEqual({
    level: 30,
    time: expect.any(Number) as number,
    name: "hookline",
    url: "http://127.0.0.1:3000",
    msg: "listening",
  });
});

function sink(isTTY: boolean) {
  let told = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      told += chunk.toString();
      done();
    },
  });
  return { stream: Object.assign(stream, { isTTY }), text: () => told };
}
