import { PassThrough } from "node:stream";
import { WriteStream } from "node:tty";
import { stripVTControlCharacters } from "node:util";
import { afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { showLiveLine } from "../../src/cli/terminal/live-line.ts";
import { createPacer } from "../../src/cli/send/send-requests.ts";
import { duration, grouped, milliseconds, percentile, perSecond } from "../../src/cli/terminal/format.ts";
import { until } from "../support/event-loop.ts";
import { serve } from "../support/http.ts";
import { runCli } from "./in-process.ts";

const env = { SIGNING_SECRET: "a secret of these tests" };

describe("the progress line", () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ["setInterval", "clearInterval"] }));
  afterEach(() => void vi.useRealTimers());

  test("is written over in place on a terminal, and taken away at the end", async () => {
    const held: (() => void)[] = [];
    const { url } = await serve((request, response) => {
      request.resume();
      held.push(() => response.writeHead(held.length === 1 ? 500 : 200).end());
    });
    const cli = runCli(["send", "booking", "--to", url, "--count", "1500", "--concurrency", "1"], {
      env,
      terminal: true,
    });
    await until(() => held.length === 1);
    expect(cli.err()).toBe("");
    vi.advanceTimersByTime(200);
    await until(() => cli.err() !== "");
    expect(cli.err()).toMatch(/^\r0 of 1,500 sent, 0 per second, 0 not acknowledged$/);
    held[0]?.();
    await until(() => held.length === 2);
    vi.advanceTimersByTime(200);
    await until(() => cli.err().includes("\r1 of"));
    expect(cli.err()).toMatch(/\r1 of 1,500 sent, [\d,.]+ per second, 1 not acknowledged$/);
    cli.signals.emit("SIGINT", "SIGINT");
    await cli.ended;
    expect(cli.err()).toMatch(/ not acknowledged\r$/);
    expect(vi.getTimerCount()).toBe(0);
  });

  test("is not there in a pipe, nor for a run that ends at once", async () => {
    const { url } = await serve((_, response) => {
      vi.advanceTimersByTime(1_000);
      response.end();
    });
    const pipe = runCli(["send", "booking", "--to", url, "--count", "20"], { env });
    expect(await pipe.ended).toBe(0);
    expect(pipe.err()).toBe("");
    const quick = await serve((_, response) => response.end());
    const terminal = runCli(["send", "booking", "--to", quick.url, "--count", "20"], { env, terminal: true });
    expect(await terminal.ended).toBe(0);
    expect(terminal.err()).toBe("");
  });

  test("is cut to the terminal's width", () => {
    let told = "";
    const stream = Object.assign(new PassThrough(), { isTTY: true, columns: 11 });
    stream.on("data", (text: Buffer) => (told += text.toString()));
    const line = showLiveLine(stream, () => "0123456789abcdef");
    vi.advanceTimersByTime(200);
    line.remove();
    expect(stripVTControlCharacters(told.replaceAll("\u001B[K", "<"))).toBe("\r012345678…<\r<");
  });
});

describe("colours", () => {
  afterEach(() => void vi.unstubAllEnvs());

  test.each([
    [200, "32"],
    [422, "31"],
    [500, "33"],
  ])("%d has one on a terminal", async (status, colour) => {
    expect(await shown(status, true, {})).toMatch(new RegExp(`^\\u001b\\[${colour}m${status}\\u001b\\[39m in `));
  });

  test("there are none in a pipe, and none where NO_COLOR is set", async () => {
    expect(await shown(422, false, {})).toMatch(/^422 in /);
    expect(await shown(422, true, { NO_COLOR: "1" })).toMatch(/^422 in /);
  });

  async function shown(status: number, isTTY: boolean, vars: Readonly<Record<string, string>>): Promise<string> {
    // Each of these is asked whether the terminal has colours; a build machine sets some.
    for (const name of [
      "NO_COLOR",
      "FORCE_COLOR",
      "NODE_DISABLE_COLORS",
      "CI",
      "TEAMCITY_VERSION",
      "TMUX",
      "COLORTERM",
    ])
      vi.stubEnv(name, vars[name]);
    vi.stubEnv("TERM", "xterm-256color");
    // As a real terminal judges it.
    const { getColorDepth } = WriteStream.prototype;
    const stdout = Object.assign(new PassThrough(), { isTTY, getColorDepth });
    let told = "";
    stdout.on("data", (text: Buffer) => (told += text.toString()));
    const { url } = await serve((_, response) => response.writeHead(status).end());
    await runCli(["send", "email.created", "--to", url], { env, stdout }).ended;
    return told;
  }
});

describe("the pace", () => {
  test("without a rate lets all go at once", () => {
    const pace = createPacer(undefined);
    expect([pace(0), pace(0), pace(5)]).toEqual([0, 0, 0]);
  });

  test("spreads them evenly, counting the time that has passed", () => {
    const pace = createPacer(20);
    expect([pace(1_000), pace(1_000), pace(1_010), pace(1_200)]).toEqual([0, 50, 90, 0]);
  });

  test("makes up for a tenth of a second at most", () => {
    const pace = createPacer(100);
    expect(pace(0)).toBe(0);
    const waits = Array.from({ length: 13 }, () => pace(60_000));
    expect(waits).toEqual([0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 20]);
  });
});

test("numbers are as exact as they matter", () => {
  expect([0.04, 9.96, 10.4, 1_234.5].map(milliseconds)).toEqual(["0.0 ms", "10.0 ms", "10 ms", "1,235 ms"]);
  expect([999, 1_000, 61_250].map(duration)).toEqual(["999 ms", "1 s", "61.3 s"]);
  expect([perSecond(3, 2_000), perSecond(500, 1_000), perSecond(1, 0)]).toEqual([
    "1.5 per second",
    "500 per second",
    "0 per second",
  ]);
  expect(grouped(1_000_000)).toBe("1,000,000");
});

test("a percentile is one of the values", () => {
  const values = Array.from({ length: 200 }, (_, index) => index + 1);
  expect([0.5, 0.95, 0.99, 1].map((share) => percentile(values, share))).toEqual([100, 190, 198, 200]);
  expect(percentile([7], 0.5)).toBe(7);
});
