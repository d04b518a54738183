import type { Context } from "../dispatch/calls/context.ts";

/**
 * Makes a context for a test that calls a handler itself: a first attempt that never aborts, with a silent log.
 *
 * @param fields those that matter to your test
 * @returns `unsubscribed` holds the reasons passed to `ctx.unsubscribe`
 * @example
 * const ctx = fakeContext({ attempt: 3, lastAttempt: true });
 */
export function fakeContext(fields: Partial<Context> = {}): Context & { readonly unsubscribed: readonly string[] } {
  const unsubscribed: string[] = [];
  const { receivedAt = new Date(AT), sentAt = new Date(AT), source } = fields;
  return {
    signal: new AbortController().signal,
    attempt: 1,
    lastAttempt: false,
    merged: 1,
    receivedAt,
    sentAt,
    jobId: "1",
    idempotencyKey: "default:sample:0",
    delivery: async () => ({
      id: "1",
      receivedAt: receivedAt.toISOString(),
      sentAt: sentAt.toISOString(),
      ...(source === undefined ? {} : { source }),
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

const AT = "2026-01-02T03:04:05Z";

function nothing(): void {}
