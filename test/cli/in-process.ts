import { EventEmitter } from "node:events";
import { PassThrough, Readable, type Writable } from "node:stream";
import { stripVTControlCharacters } from "node:util";
import { onTestFinished, vi } from "vitest";
import type { Io } from "../../src/cli/command.ts";
import { run } from "../../src/cli/run.ts";
import { until } from "../support/event-loop.ts";

export interface Run {
  /** Without colours. */
  out(): string;
  /** Without colours. */
  err(): string;
  readonly signals: EventEmitter;
  readonly exit: ReturnType<typeof vi.fn<Io["exit"]>>;
  readonly ended: Promise<number>;
  /** The URL that `serve` tells. */
  url(): Promise<string>;
}

export interface RunOptions {
  readonly env?: Io["env"] | undefined;
  /** Where relative paths begin. */
  readonly cwd?: string | undefined;
  /** Takes the lines instead. */
  readonly stdout?: Writable | undefined;
  /** What comes on stdin, which fails with an error. */
  readonly stdin?: string | Uint8Array | Error | undefined;
  /** As if stderr, and stdin, were a terminal. */
  readonly terminal?: boolean | undefined;
}

/** The program inside this process. What still runs at the test's end is asked to end. */
export function runCli(
  args: readonly string[],
  { env = {}, cwd, stdout = new PassThrough(), stdin = "", terminal }: RunOptions = {},
): Run {
  const stderr = Object.assign(new PassThrough(), { isTTY: terminal });
  const input = Object.assign(stdin instanceof Error ? failing(stdin) : Readable.from([stdin]), { isTTY: terminal });
  const signals = new EventEmitter();
  const exit = vi.fn<Io["exit"]>();
  const texts = { out: "", err: "" };
  stdout.on("data", (text: Buffer) => (texts.out += text.toString()));
  stderr.on("data", (text: Buffer) => (texts.err += text.toString()));
  const ended = run(args, { stdin: input, stdout, stderr, env, cwd, signals, exit });
  onTestFinished(async () => {
    signals.emit("SIGTERM", "SIGTERM");
    await ended;
  });
  const err = (): string => stripVTControlCharacters(texts.err);
  return {
    out: () => stripVTControlCharacters(texts.out),
    err,
    signals,
    exit,
    ended,
    async url() {
      const url = /http:\/\/[^\s"]+/;
      await until(() => url.test(err()));
      return url.exec(err())?.[0] ?? "";
    },
  };
}

function failing(error: Error): Readable {
  return new Readable({
    read() {
      this.destroy(error);
    },
  });
}
