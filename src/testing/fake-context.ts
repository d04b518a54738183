import type { Context } from "../dispatch/context.ts";

/**
 * A context for a test that calls a handler itself: a first attempt that never aborts, with a silent log.
 *
 * @param fields what your test is about
 * @returns `unsubscribed` holds the reasons given to `ctx.unsubscribe`
 * @example
 * const ctx = fakeContext({ attempt: 3, lastAttempt: true });
 */
export function fakeContext(fields: Partial<Context> = {}): Context & { readonly unsubscribed: readonly string[] } {
  const unsubscribed: string[] = [];
  const at = new Date("2026-01-02T03:04:05Z");
  return {
    signal: new AbortController().signal,
    attempt: 1,
    lastAttempt: false,
    merged: 1,
    receivedAt: at,
    sentAt: at,
    jobId: "1",
    idempotencyKey: "default:sample:0",
    delivery: async () => ({
      id: "1",
      receivedAt: at.toISOString(),
      sentAt: at.toISOString(),
      signedBy: "default",
      headers: {},
      bodyBase64: "",
    }),
    log: { debug: nothing, info: nothing, warn: nothing, error: nothing },
    state: {},
    unsubscribe: async (reason) => {
      unsubscribed.push(reason);
    },
    ...fields,
    unsubscribed,
  };
}

function nothing(): void {}
