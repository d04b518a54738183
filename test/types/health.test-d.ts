// How a receiver stands, for probes and for a page of one's own.
import type { Health, Receiver } from "hookline";
import type { Equal, Expect, Flat } from "./support.ts";

declare const receiver: Receiver;

export type Standing = [
  Expect<Equal<ReturnType<Receiver["health"]>, Promise<Health>>>,
  Expect<Equal<Parameters<Receiver["health"]>, []>>,
  Expect<
    Equal<
      Flat<Health>,
      {
        readonly live: boolean;
        readonly ready: boolean;
        readonly problems: readonly { readonly code: string; readonly message: string; readonly fix?: string }[];
        readonly waiting: number;
        readonly oldestWaitingMs: number;
        readonly pausedWaiting?: number;
        readonly blockedLanes: number;
        readonly dead: number;
        readonly unhandled: number;
        readonly stuck: number;
        readonly freeDiskBytes?: number;
      }
    >
  >,
];

const { ready, problems } = await receiver.health();
export const status: number = ready ? 200 : 503;
export const lines: readonly string[] = problems.map(({ code, message, fix = "" }) => `${code}: ${message} ${fix}`);

/** Made by hand, for a test of what reads it; the disk may be left out. */
export const health: Health = {
  live: true,
  ready: true,
  problems: [{ code: "lag", message: "late" }],
  waiting: 0,
  oldestWaitingMs: 0,
  blockedLanes: 0,
  dead: 0,
  unhandled: 0,
  stuck: 0,
};

// @ts-expect-error -- it is asked, and answers later
export const live: boolean = receiver.health().live;
// @ts-expect-error -- a fix may be missing
export const fix: string | undefined = problems[0]?.fix.length;
// @ts-expect-error -- it is read
health.ready = false;
