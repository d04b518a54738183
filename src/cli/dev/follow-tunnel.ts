import { setTimeout as sleep } from "node:timers/promises";
import { CommandError, EXIT } from "../command.ts";
import { toPlain } from "../terminal/escape-terminal.ts";
import { RUN_PARAMETER } from "./pass-through.ts";
import type { Start } from "./start-child.ts";

interface TunnelOptions {
  /** A command line; `{port}` in it is where this program listens. */
  readonly command: string;
  readonly port: number;
  readonly run: string;
  readonly start: Start;
  readonly signal: AbortSignal;
  /** Called with each origin that leads here and is not the one before. */
  readonly onOrigin: (origin: string) => void;
  readonly note: (text: string) => void;
}

/** How long a tunnel may take until its URL leads here. */
const LEAD_LIMIT_MS = 30_000;
const ASK_AGAIN_MS = 500;
const RESTART_MS = 1_000;
/** A tunnel also prints links to its documentation: those have a path. */
const ORIGIN = /https:\/\/[\w.-]+(?::\d+)?(?=\/?(?:[^\w.:/-]|$))/g;
const MAX_ORIGINS = 20;
const SHOWN_LINES = 5;

/**
 * Runs a tunnel's command, and again whenever it ends. Resolves at the stop, when it has ended.
 *
 * @throws CommandError `tunnel-silent` where the first run has no URL that leads here in time
 */
export async function followTunnel(options: TunnelOptions): Promise<void> {
  const { command, port, run, start, signal, onOrigin, note } = options;
  let current: string | undefined;
  for (let isFirst = true; !signal.aborted; isFirst = false) {
    const ended = new AbortController();
    const over = AbortSignal.any([signal, ended.signal]);
    const origins = new Set<string>();
    const last: string[] = [];
    const { promise: leads, resolve: found } = Promise.withResolvers<true>();
    const attempt = async (origin: string): Promise<void> => {
      if ((await waitUntilLeads(new URL(origin), run, over)) !== undefined || over.aborted) return;
      found(true);
      if (origin === current) return;
      current = origin;
      onOrigin(origin);
    };
    const child = start(command.replaceAll("{port}", String(port)), (line) => {
      last.push(toPlain(line));
      if (last.length > SHOWN_LINES) last.shift();
      for (const [origin] of line.matchAll(ORIGIN)) {
        if (!origins.has(origin) && origins.size < MAX_ORIGINS) void attempt(origin);
        origins.add(origin);
      }
    });
    const exit = child.exited.then((code) => `it ended with ${code}`);
    const late = sleep(LEAD_LIMIT_MS, `no URL of it led here in ${LEAD_LIMIT_MS / 1_000} s`, { signal: over });
    const stopped = aborted(signal);
    const result = await Promise.race([leads, exit, late.catch(() => undefined), stopped]);
    const why = result === true ? await Promise.race([exit, stopped]) : result;
    ended.abort();
    await child.stop();
    if (signal.aborted) return;
    if (isFirst && result !== true) {
      const printed = last.length === 0 ? " It printed nothing." : ` It printed:\n${last.join("\n")}`;
      throw new CommandError(EXIT.failed, `tunnel-silent: ${command}: ${why}.${printed}`);
    }
    note(`The tunnel is started again: ${why}.`);
    await sleep(RESTART_MS, undefined, { signal }).catch(() => {});
  }
}

/**
 * Asks a URL until it leads to the run, for at most 30 s.
 *
 * @returns what came instead
 */
export async function waitUntilLeads(url: URL, run: string, signal: AbortSignal): Promise<string | undefined> {
  const begin = performance.now();
  for (;;) {
    const got = await askRun(url, run, signal);
    if (got === undefined || signal.aborted || performance.now() - begin > LEAD_LIMIT_MS) return got;
    await sleep(ASK_AGAIN_MS, undefined, { signal }).catch(() => {});
  }
}

const ASK_LIMIT_MS = 5_000;

/**
 * Asks a URL whether it leads to a run. The app does not see it.
 *
 * @returns what came instead
 */
export async function askRun(url: URL, run: string, signal: AbortSignal): Promise<string | undefined> {
  const target = new URL(url);
  target.searchParams.set(RUN_PARAMETER, run);
  const timeout = AbortSignal.timeout(ASK_LIMIT_MS);
  try {
    const response = await fetch(target, { redirect: "manual", signal: AbortSignal.any([signal, timeout]) });
    return (await response.text()) === run ? undefined : `status ${response.status}`;
  } catch (error) {
    if (timeout.aborted) return NO_ANSWER;
    const { cause, message } = error as { readonly cause?: { readonly code?: string }; readonly message: string };
    return cause?.code ?? message;
  }
}

/** It listens, and does not answer. */
export const NO_ANSWER = "no answer";

/** Resolves when it is, or was. */
export function aborted(signal: AbortSignal): Promise<undefined> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve(undefined);
    else signal.addEventListener("abort", () => resolve(undefined), { once: true });
  });
}
