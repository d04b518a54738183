import {
  createReceiver,
  memoryInbox,
  type AnyEvent,
  type Context,
  type Inbox,
  type Receiver,
  type ReceiverOptions,
  type Reply,
} from "hookline";
import { expect, onTestFinished } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { deferred, turns } from "./event-loop.ts";
import { fakeClock, type FakeClock } from "./fake-clock.ts";
import { logRecorder, type LogRecorder } from "./log-recorder.ts";
import { bodyOf, change, signedRequest } from "./make-delivery.ts";

const SECRET = "a signing secret";

export interface RigOptions extends Omit<Partial<ReceiverOptions>, "inbox" | "clock" | "log"> {
  readonly inbox?: Inbox<"memory">;
  readonly clock?: FakeClock;
}

/** A receiver with a fake clock and without sockets. */
export interface Rig {
  readonly receiver: Receiver<"memory">;
  readonly inbox: WorkingInbox<"memory">;
  readonly clock: FakeClock;
  readonly log: LogRecorder;
  /** Delivers a body, and expects it to be acknowledged. */
  send(body?: string, how?: { readonly source?: string; readonly at?: Date }): Promise<void>;
  /** Delivers a body, and returns the answer. */
  offer(body?: string, how?: { readonly source?: string; readonly at?: Date }): Promise<Reply>;
  /** Runs pending work, then lets time pass, then runs the consequences. */
  pass(ms?: number): Promise<void>;
}

/** Ends with the test. */
export function rig({ inbox = memoryInbox(), clock = fakeClock(), ...options }: RigOptions = {}): Rig {
  const log = logRecorder();
  const receiver = createReceiver({ secret: SECRET, inbox, clock, log: log.logger, ...options });
  onTestFinished(() => void receiver.close({ drainMs: 0 }));

  async function offer(
    body = bodyOf(),
    { source, at = clock.date() }: Parameters<Rig["offer"]>[1] = {},
  ): Promise<Reply> {
    return receiver.receive(signedRequest(body, { secret: SECRET, at, source }));
  }

  return {
    receiver,
    inbox: inbox as WorkingInbox<"memory">,
    clock,
    log,
    offer,
    async send(...given) {
      expect(await offer(...given)).toMatchObject({ status: 200 });
    },
    async pass(ms = 0) {
      await turns();
      await clock.advance(ms);
      await turns();
    },
  };
}

/** A delivery of changes of e-mails with these ids. */
export function emails(...ids: readonly string[]): string {
  return bodyOf({ payloads: ids.map((id) => change(id)) });
}

/** A handler call that the test ends. */
interface HeldCall {
  readonly event: AnyEvent;
  readonly ctx: Context;
  end(): void;
  fail(error?: unknown): void;
}

/** A handler whose calls wait until the test ends them. */
export function heldHandler() {
  const calls: HeldCall[] = [];
  const handler = (event: AnyEvent, ctx: Context): Promise<void> => {
    const { promise, resolve, reject } = deferred();
    calls.push({ event, ctx, end: resolve, fail: (error = new Error("no")) => reject(error) });
    return promise;
  };
  return { calls, handler, last: () => calls.at(-1) as HeldCall };
}

/** The record that an event is about. */
export function idOf(event: AnyEvent): string {
  return String((event as { readonly id?: unknown }).id);
}

/** A handler that records the ids of its events, and then calls `then`. */
export function recordingHandler(then: (event: AnyEvent, ctx: Context) => unknown = () => {}) {
  const seen: string[] = [];
  const handler = (event: AnyEvent, ctx: Context): unknown => {
    seen.push(idOf(event));
    return then(event, ctx);
  };
  return { seen, handler };
}

/** A handler that records ids and always fails. */
export function failingHandler(error: unknown = new Error("no")) {
  return recordingHandler(() => {
    throw error;
  });
}
