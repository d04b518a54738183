import { setTimeout as sleep } from "node:timers/promises";
import { toFailure } from "../answers/request-failure.ts";
import { CommandError, EXIT } from "../command.ts";
import { toPlain } from "../terminal/escape-terminal.ts";
import { RUN_PARAMETER } from "./pass-through.ts";
import type { Children } from "./children.ts";

interface TunnelOptions {
  /** A command line; `{port}` in it is where this program listens. */
  readonly command: string;
  readonly port: number;
  readonly run: string;
  readonly children: Children;
  readonly signal: AbortSignal;
  /** Called with each origin that leads here. */
  readonly onOrigin: (origin: string) => void;
}

/** How long a tunnel may take until its URL leads here. */
const LEAD_LIMIT_MS = 30_000;
const ASK_AGAIN_MS = 500;
/** A tunnel also prints links to its documentation: those have a path. */
const ORIGIN = /https:\/\/[\w.-]+(?::\d+)?(?=\/?(?:[^\w.:/-]|$))/g;
const SHOWN_LINES = 5;

/**
 * Runs a tunnel's command, and watches what it prints for URLs. Never resolves.
 *
 * @throws CommandError `tunnel-silent` where none leads here in time, `tunnel-ended` where it ends later
 */
export async function followTunnel({ command, port, run, children, signal, onOrigin }: TunnelOptions): Promise<never> {
  const origins = new Set<string>();
  const last: string[] = [];
  const { promise: leads, resolve: found } = Promise.withResolvers<undefined>();
  async function attempt(origin: string): Promise<void> {
    const begin = performance.now();
    while ((await askRun(origin, run)) !== undefined) {
      if (signal.aborted || performance.now() - begin > LEAD_LIMIT_MS) return;
      await sleep(ASK_AGAIN_MS);
    }
    found(undefined);
    onOrigin(origin);
  }
  const ended = children.start(command.replaceAll("{port}", String(port)), (line) => {
    last.push(toPlain(line));
    if (last.length > SHOWN_LINES) last.shift();
    for (const [origin] of line.matchAll(ORIGIN)) if (origins.size < origins.add(origin).size) void attempt(origin);
  });
  const exit = ended.then((code) => `it ended with ${code}`);
  const late = sleep(LEAD_LIMIT_MS, `no URL of it led here in ${LEAD_LIMIT_MS / 1_000} s`, { signal });
  const silent = await Promise.race([leads, exit, late]);
  const what =
    silent === undefined ? `tunnel-ended: ${command}: ${await exit}` : `tunnel-silent: ${command}: ${silent}`;
  throw new CommandError(EXIT.failed, `${what}. It printed:\n${last.join("\n") || "nothing"}`);
}

const ASK_LIMIT_MS = 5_000;
/** It listens, and does not answer. */
export const NO_ANSWER = "no answer";

/**
 * Asks a URL whether it leads to a run. The app does not see it.
 *
 * @returns what came instead
 */
export async function askRun(url: string, run: string): Promise<string | undefined> {
  const target = new URL(url);
  target.searchParams.set(RUN_PARAMETER, run);
  const signal = AbortSignal.timeout(ASK_LIMIT_MS);
  try {
    const response = await fetch(target, { redirect: "manual", signal });
    return (await response.text()) === run ? undefined : `status ${response.status}`;
  } catch (error) {
    return signal.aborted ? NO_ANSWER : toFailure(error, url).code;
  }
}
