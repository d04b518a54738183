import type { Clock, Timer } from "../../clock.ts";
import type { RedeliveryOptions } from "../emulator-types.ts";
import type { Subscription } from "../subscriptions/subscription.ts";
import { signRequest } from "../wire/sign-request.ts";
import { kindOf, slowly, thenSilence, type Fault } from "./faults.ts";
import type { Answer, Attempt, Journal } from "./journal.ts";
import type { Transport } from "./transport.ts";

/** What the queue needs. */
export interface DeliveryQueueDeps {
  readonly clock: Clock;
  readonly transport: Transport;
  readonly journal: Journal;
  readonly secret: string;
  readonly redelivery: RedeliveryOptions | undefined;
  readonly deliveryTimeoutMs: number;
  /** Takes the answers of all requests that were sent together in the order of sending, so that two runs are the same. */
  readonly inOrder: boolean;
  /** A receiver answered 422. */
  readonly onUnsubscribed: (subscription: Subscription) => void;
}

/** A body on its way to a receiver. */
export interface Delivery {
  readonly id: number;
  readonly subscription: Subscription;
  readonly body: Buffer;
  /** Of the first attempt alone. */
  readonly fault: Fault | undefined;
  attempts: number;
  /** Of the first attempt. */
  headers?: Readonly<Record<string, string>>;
  nextAttemptAt?: number;
  timer?: Timer;
}

/** The law of redelivery: sends what is due, and decides by the answer. @see protocol 6.3, 8 */
export interface DeliveryQueue {
  add(subscription: Subscription, body: Buffer, fault: Fault | undefined): void;
  /** Drops what is on its way to a subscription that is gone. */
  drop(subscription: Subscription): void;
  /** True when no attempt is under way, or only such as wait for the clock, and nothing is due. */
  isAnswered(): boolean;
  /** Resolves then. */
  answered(): Promise<void>;
  /** True while a body is sent piece by piece. */
  isSlow(): boolean;
  /** Resolves when no attempt is under way at all. */
  settled(): Promise<void>;
  /** Ends the attempts that do not wait for the clock. */
  expire(reason: string): void;
  /** Drops everything. */
  clear(): void;
}

/** Subscriptions that are sent to at once; the others wait in their order. */
const MAX_IN_FLIGHT = 256;

interface Sent {
  readonly delivery: Delivery;
  readonly at: number;
  readonly begun: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly fault: Fault | undefined;
  /** A request of the past, whose answer decides nothing. */
  readonly isReplay: boolean;
  readonly abort: AbortController;
  waitsForClock: boolean;
  result?: { readonly answer: Answer } | { readonly failure: string };
}

export function createDeliveryQueue(deps: DeliveryQueueDeps): DeliveryQueue {
  const { clock, transport, journal, inOrder } = deps;
  const { timestamp = "kept", headOfLine = false, giveUpAfter = Infinity } = deps.redelivery ?? {};
  /** Subscriptions with a delivery that is due, and none under way: each is sent to once at a time. */
  const ready = new Set<Subscription>();
  /** In the order of sending. */
  const inFlight = new Set<Sent>();
  const waiters = new Set<{ readonly isDone: () => boolean; readonly resolve: () => void }>();
  let lastId = 0;

  const isAnswered = (): boolean => ready.size === 0 && [...inFlight].every(({ waitsForClock }) => waitsForClock);
  const isSettled = (): boolean => ready.size === 0 && inFlight.size === 0;

  function makeDue(delivery: Delivery): void {
    const { subscription } = delivery;
    subscription.due.push(delivery);
    if (!subscription.isSending) ready.add(subscription);
    sendDue();
  }

  function sendDue(): void {
    for (const subscription of ready) {
      if (inFlight.size >= MAX_IN_FLIGHT) break;
      ready.delete(subscription);
      const delivery = subscription.due.shift();
      if (delivery !== undefined) send(delivery);
    }
    for (const waiter of waiters) {
      if (!waiter.isDone()) continue;
      waiters.delete(waiter);
      waiter.resolve();
    }
  }

  function send(delivery: Delivery): void {
    const { subscription } = delivery;
    subscription.isSending = true;
    delivery.attempts += 1;
    const fault = (delivery.attempts === 1 ? delivery.fault : undefined) ?? subscription.fault;
    const renewed = timestamp === "renewed" || delivery.headers === undefined;
    const headers = renewed ? signed(delivery.body, fault) : (delivery.headers ?? {});
    // What was sent wrongly on purpose is not what is sent again.
    const isGenuine = !isForgery(fault);
    if (isGenuine) delivery.headers ??= headers;
    post({ delivery, headers, fault, isReplay: false });
    const { firstRequest } = subscription;
    if (fault === "replay" && firstRequest !== undefined)
      post({
        delivery: { ...delivery, body: firstRequest.body },
        headers: firstRequest.headers,
        fault,
        isReplay: true,
      });
    if (isGenuine) subscription.firstRequest ??= { headers, body: delivery.body };
  }

  function signed(body: Buffer, fault: Fault | undefined): Record<string, string> {
    const skewMs = typeof fault === "object" && "clockSkewSeconds" in fault ? fault.clockSkewSeconds * 1_000 : 0;
    const secret = fault === "wrong-signature" ? `not ${deps.secret}` : deps.secret;
    const at = new Date(clock.now() + skewMs);
    return { "Content-Type": "application/json; charset=utf-8", ...signRequest(body, { secret, at }) };
  }

  function post(request: Pick<Sent, "delivery" | "headers" | "fault" | "isReplay">): void {
    const abort = new AbortController();
    const sent: Sent = { ...request, abort, at: clock.now(), begun: performance.now(), waitsForClock: false };
    inFlight.add(sent);
    const { body, subscription } = request.delivery;
    const limit = deps.deliveryTimeoutMs;
    const timer = clock.setTimer(() => abort.abort(new Error(`no answer in ${limit / 1_000} s`)), limit);
    const pieces = request.fault === "slow-body" ? slowly : request.fault === "silence" ? thenSilence : undefined;
    const whole = pieces?.(body, (ms) => pause(sent, ms)) ?? body;
    void transport
      .send({ url: subscription.notificationUrl, headers: sent.headers, body: whole, signal: abort.signal })
      .then(
        (answer) => (sent.result = { answer }),
        (error: unknown) => (sent.result = { failure: error instanceof Error ? messageOf(error) : String(error) }),
      )
      .then(() => {
        timer.clear();
        sent.waitsForClock = false;
        takeAnswers();
      });
  }

  /** Of a body that takes time: the clock need not wait for such an attempt. */
  function pause(sent: Sent, ms: number): Promise<void> {
    const { signal } = sent.abort;
    return new Promise((resolve, reject) => {
      const goOn = (finish: () => void): void => {
        sent.waitsForClock = false;
        finish();
      };
      const timer = clock.setTimer(() => goOn(resolve), ms);
      signal.addEventListener("abort", () => {
        timer.clear();
        goOn(() => reject(signal.reason as Error));
      });
      sent.waitsForClock = true;
      takeAnswers();
    });
  }

  function takeAnswers(): void {
    if (!inOrder || ![...inFlight].some(isOpen)) for (const sent of inFlight) if (sent.result !== undefined) take(sent);
    sendDue();
  }

  /** Decides what becomes of a delivery. */
  function take(sent: Sent): void {
    if (!inFlight.delete(sent) || sent.result === undefined) return;
    const { delivery, fault, result } = sent;
    const { subscription } = delivery;
    const answer = "answer" in result ? result.answer : undefined;
    const isLost = fault === "lose-answer" && !sent.isReplay;
    const status = isLost ? undefined : answer?.status;
    const outcome = outcomeOf(sent, status);
    if (!sent.isReplay) {
      subscription.isSending = false;
      if (subscription.due.length > 0) ready.add(subscription);
    }
    if (outcome === "redelivery") wait(delivery);
    journal.add({
      subscription: subscription.id,
      delivery: delivery.id,
      attempt: delivery.attempts,
      at: new Date(sent.at),
      url: subscription.notificationUrl,
      headers: sent.headers,
      body: delivery.body.toString("utf8"),
      status,
      answer,
      failure: isLost ? "the answer was lost" : "failure" in result ? result.failure : undefined,
      fault: fault && kindOf(fault),
      outcome,
      nextAttemptAt: outcome === "redelivery" ? new Date(delivery.nextAttemptAt ?? 0) : undefined,
      durationMs: performance.now() - sent.begun,
    });
    if (outcome === "unsubscribed") deps.onUnsubscribed(subscription);
    else if (outcome === "acknowledged" || outcome === "given-up") end(delivery);
  }

  function outcomeOf({ delivery, isReplay }: Sent, status: number | undefined): Attempt["outcome"] {
    if (isReplay || delivery.subscription.isRemoved) return "ignored";
    if (status === 200) return "acknowledged";
    if (status === 422) return "unsubscribed";
    return delivery.attempts >= giveUpAfter ? "given-up" : "redelivery";
  }

  function wait(delivery: Delivery): void {
    const ms = redeliveryDelayMs(delivery.attempts);
    delivery.nextAttemptAt = clock.now() + ms;
    delivery.timer = clock.setTimer(() => {
      delete delivery.nextAttemptAt;
      makeDue(delivery);
    }, ms);
  }

  /** The next of a subscription whose deliveries wait for each other begins. */
  function end(delivery: Delivery): void {
    const { waiting } = delivery.subscription;
    waiting.delete(delivery);
    const [next] = waiting;
    if (headOfLine && next !== undefined) makeDue(next);
  }

  function when(isDone: () => boolean): Promise<void> {
    return isDone() ? Promise.resolve() : new Promise((resolve) => void waiters.add({ isDone, resolve }));
  }

  return {
    add(subscription, body, fault) {
      const delivery: Delivery = { id: (lastId += 1), subscription, body, fault, attempts: 0 };
      subscription.waiting.add(delivery);
      if (headOfLine && subscription.waiting.size > 1) return;
      makeDue(delivery);
    },
    drop(subscription) {
      ready.delete(subscription);
      forget(subscription);
    },
    isAnswered,
    answered: () => when(isAnswered),
    isSlow: () => inFlight.size > 0,
    settled: () => when(isSettled),
    expire(reason) {
      for (const { abort, result, waitsForClock } of inFlight)
        if (result === undefined && !waitsForClock) abort.abort(new Error(reason));
    },
    clear() {
      ready.clear();
      for (const sent of inFlight) {
        inFlight.delete(sent);
        sent.abort.abort(new Error("the emulator was reset"));
      }
      lastId = 0;
      sendDue();
    },
  };
}

function isOpen({ result, waitsForClock }: Sent): boolean {
  return result === undefined && !waitsForClock;
}

const FIRST_DELAY_MS = 1_000;
const LONGEST_DELAY_MS = 600_000;

/** Doubles from 1 s, and never exceeds 10 minutes. @see protocol 8 */
function redeliveryDelayMs(failedAttempts: number): number {
  return Math.min(FIRST_DELAY_MS * 2 ** (failedAttempts - 1), LONGEST_DELAY_MS);
}

function forget(subscription: Subscription): void {
  for (const delivery of subscription.waiting) delivery.timer?.clear();
  subscription.waiting.clear();
  subscription.due.length = 0;
}

/** Its headers are no request of the service. */
function isForgery(fault: Fault | undefined): boolean {
  return fault === "wrong-signature" || (typeof fault === "object" && "clockSkewSeconds" in fault);
}

/** Of an error with several causes, such as two addresses of a name, Node leaves the message empty. */
function messageOf(error: NodeJS.ErrnoException): string {
  return error.message === "" ? (error.code ?? error.name) : error.message;
}
