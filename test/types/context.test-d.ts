// What a handler gets beside its event, and what users' middleware adds to it.
import type { AnyEvent, Context, ContextState, Logger, Middleware, Receiver, StoredDelivery } from "hookline";
import type { Equal, Expect, Flat } from "./support.ts";

declare module "hookline" {
  interface ContextState {
    caseWorker?: string;
    begunAt?: Date;
  }
}

declare const receiver: Receiver;

export type Fields = Expect<
  Equal<
    Flat<Context>,
    {
      readonly signal: AbortSignal;
      readonly attempt: number;
      readonly lastAttempt: boolean;
      readonly merged: number;
      readonly receivedAt: Date;
      readonly sentAt: Date;
      readonly jobId: string;
      readonly replayOf?: string;
      readonly source?: string;
      readonly idempotencyKey: string;
      delivery: () => Promise<StoredDelivery>;
      readonly log: Logger;
      readonly state: ContextState;
      unsubscribe: (reason: string) => Promise<void>;
    }
  >
>;

// A state that is extended from outside is the same in middleware, in a handler and by its name.
export type ExtendedState = [
  Expect<Equal<Flat<ContextState>, { caseWorker?: string; begunAt?: Date }>>,
  Expect<Equal<Context["state"]["caseWorker"], string | undefined>>,
];
const assign: Middleware = async (event, ctx, next) => {
  ctx.state.caseWorker = `worker of ${event.accountId ?? "nobody"}`;
  await next();
};
receiver.use(assign).use((_event, ctx, next) => {
  ctx.state.begunAt = new Date();
  return next();
});
receiver.on("email", (event, { state }) => `${event.id} for ${state.caseWorker?.toUpperCase()}`);
export const state: ContextState = { caseWorker: "somebody" };

export type MiddlewareArguments = Expect<
  Equal<Parameters<Middleware>, [event: AnyEvent, ctx: Context, next: () => Promise<void>]>
>;
receiver.use((_event, _ctx, next) => next()); // handed on
receiver.use(async () => {}); // ends here: the handler does not run
receiver.use((event, _ctx, next) => (event.type === "unknown" ? undefined : next()));

receiver.on("booking", async (event, ctx) => {
  await fetch(`https://example.com/${event.bookingId}`, { signal: ctx.signal });
  const { bodyBase64 } = await ctx.delivery();
  ctx.log.warn({ length: bodyBase64.length }, "stored");
  if (ctx.lastAttempt && ctx.attempt > 3) await ctx.unsubscribe("nobody books here");
});

/** A context made by hand, for a test of one's own handler. */
export const made: Context = {
  signal: new AbortController().signal,
  attempt: 1,
  lastAttempt: false,
  merged: 1,
  receivedAt: new Date(),
  sentAt: new Date(),
  jobId: "1",
  idempotencyKey: "a",
  delivery: async () => ({ id: "1", receivedAt: "", sentAt: "", signedBy: "default", headers: {}, bodyBase64: "" }),
  log: console,
  state: {},
  unsubscribe: async () => {},
};

// @ts-expect-error -- a state that nobody declared
receiver.on("email", (_event, ctx) => ctx.state.user);
// @ts-expect-error -- declared as a text
receiver.use((_event, ctx) => (ctx.state.caseWorker = 7));
// @ts-expect-error -- a context is read, only its state is written
receiver.on("email", (_event, ctx) => (ctx.attempt = 1));
// @ts-expect-error -- the state is extended in place, never replaced
receiver.use((_event, ctx) => (ctx.state = {}));
// @ts-expect-error -- unsubscribing wants its reason
receiver.on("email", (_event, ctx) => ctx.unsubscribe());
// @ts-expect-error -- the delivery is read when asked, so it must be awaited
receiver.on("email", (_event, ctx) => ctx.delivery().bodyBase64);
// @ts-expect-error -- middleware meets every event, also those without an id
receiver.use((event) => event.id);
