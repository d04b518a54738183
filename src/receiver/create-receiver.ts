import { assertFunction } from "../assert.ts";
import { createCounters } from "../stats.ts";
import { type Handler, type Middleware, createHandlers } from "../dispatch/handlers.ts";
import { createDirectHandling } from "../dispatch/direct-handling.ts";
import { createExpansionReporter, type ExpandedListener } from "../dispatch/reporter.ts";
import { UsageError } from "../errors.ts";
import type { Receiver } from "./receiver-types.ts";
import { fromStored } from "../inbox/port/delivery.ts";
import { toDrainMs } from "./drain-ms.ts";
import { createFreezeWarning } from "./serverless/freeze-warning.ts";
import { functionPlatform, keepsRequestsApart } from "./serverless/function-platform.ts";
import { createHealth } from "./health/health.ts";
import { asWorking, asWriting } from "../inbox/port/halves.ts";
import type { Job } from "../inbox/port/job.ts";
import type { StorageKind } from "../inbox/port/inbox.ts";
import { throttledLog } from "../logger.ts";
import { createObservers } from "../observers.ts";
import { setInternals } from "./internals.ts";
import { createJobs } from "./jobs/create-jobs.ts";
import { createKnownSubscriptions } from "./health/known-subscriptions.ts";
import { createLifecycle } from "./lifecycle.ts";
import { createOpening } from "./open-inbox.ts";
import { createReceiverStates } from "./receiver-states.ts";
import { whyNotReady } from "./health/receiving-problems.ts";
import { resolveOptions, type ReceiverOptions } from "./options.ts";
import type { EventName } from "../protocol/events.ts";
import { createUnsubscribeRateLimit } from "../ingest/unsubscribe-rate-limit.ts";
import type { Gate } from "../ingest/unsubscribe-gate.ts";
import { createInFlightBytes } from "../ingest/in-flight-bytes.ts";
import { createHandleFirst } from "../ingest/after-handlers.ts";
import { createDeliveryStore } from "../ingest/store.ts";
import { receive } from "../ingest/receive.ts";
import { createReporter } from "../ingest/reporter.ts";
import { createSecretLookup } from "../ingest/secret-lookup.ts";
import { toReason } from "../ingest/to-reason.ts";
import { createRecentRefusals } from "./health/recent-refusals.ts";
import { createStorageDoubt } from "./health/storage-doubt.ts";
import { toUnsubscribable } from "./unsubscribe-arguments.ts";
import { createUnsubscriber } from "./unsubscribe.ts";
import { watchedReporter } from "./health/watched-reporter.ts";
import { createWork } from "./worker.ts";

/**
 * Makes a receiver: register handlers, mount it, `start()` it.
 *
 * @throws UsageError `option-invalid`, `inbox-invalid`, `scheme-invalid`
 * @example
 * const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox: memoryInbox() });
 * receiver.on("email.created", (event) => console.log(event.id));
 * await receiver.start();
 */
export function createReceiver<K extends StorageKind>(options: ReceiverOptions<K>): Receiver<K> {
  const resolved = resolveOptions(options);
  const { clock, log, concurrency, graceMs, maxStuck } = resolved;
  const inbox = asWriting(options.inbox);
  const counters = createCounters();
  const throttled = throttledLog(log, clock);
  const observers = createObservers(throttled);
  const handlers = createHandlers(resolved.limits);
  const middleware: Middleware[] = [];
  const onDead: ((job: Job) => unknown)[] = [];
  const recent = createRecentRefusals(counters, clock);
  const working = asWorking(inbox);
  const subscriptions = createKnownSubscriptions(working, throttled);
  const doubt = createStorageDoubt(counters, clock);
  const reporter = watchedReporter(createReporter({ counters, log: throttled, observers }), {
    recent,
    subscriptions,
    unstored() {
      if (whyNotReady({ states, secrets, opening, inbox, intake }).length === 0) doubt.failed();
    },
  });
  const brake = createUnsubscribeRateLimit(resolved.maxUnsubscribesPerHour, clock);
  const platform = functionPlatform(process.env, navigator.userAgent);
  const apart = keepsRequestsApart(platform);
  const secrets = createSecretLookup(options.secret, { clock, timeoutMs: resolved.secretTimeoutMs, apart });
  const host = { name: resolved.name, clock, log: throttled, dedupeWindowMs: resolved.dedupeWindowMs };
  const states = createReceiverStates();
  const closing = (): boolean => states.isClosing;
  const opening = createOpening(inbox, host, { states, timeoutMs: resolved.storeTimeoutMs, clock });
  const unsubscriber = createUnsubscriber({
    opened: opening.opened,
    assertOpen: () => lifecycle.assertOpen(),
    tombstones: inbox.tombstones,
    brake,
    log,
    observers,
    unwanted: subscriptions.forget,
  });
  const parts = {
    handlers,
    middleware,
    onDead,
    services: { log, unsubscribe: unsubscriber.byHandler },
    log,
    faultLog: throttled,
    clock,
    random: Math.random,
    counters,
    observers,
    concurrency,
    graceMs,
    maxStuck,
  };
  const listeners = new Set<ExpandedListener>();
  const { logContent } = resolved;
  const news = createExpansionReporter({
    counters,
    observers,
    log,
    logContent,
    listeners,
    direct: subscriptions.arrived,
  });
  const work = createWork(working, parts, news);
  const direct = createDirectHandling(parts, news, { apart });
  const intake = createInFlightBytes(resolved.maxInFlightBytes);
  const keeper = createDeliveryStore({
    inbox,
    intake,
    timeoutMs: resolved.storeTimeoutMs,
    clock,
    expand: work.expand,
    stored: work.stored,
    committed: work.wake,
    apart,
  });
  const handleFirst = createHandleFirst({
    handle(delivery, signal) {
      handlers.seal();
      return direct.handle(delivery, signal);
    },
    intake,
    clock,
  });
  const freezing = createFreezeWarning({ storage: inbox.storage, platform, log });
  const lifecycle = createLifecycle({ states, inbox, opening, secrets, handlers, work, direct, keeper, clock, log });
  const hands = createJobs({
    inbox: working,
    opened: opening.opened,
    assertOpen: lifecycle.assertOpen,
    clock,
    log,
  });
  const health = createHealth({
    inbox,
    opening,
    states,
    secrets,
    working,
    work,
    startFailure: lifecycle.startFailure,
    brake,
    intake,
    recent,
    doubt,
    subscriptions,
    unhandledNames: news.unhandledNames,
    freezing,
    clock,
    log: throttled,
  });
  let gate: Gate | undefined;
  const receiving = {
    ...resolved,
    log: throttled,
    intake,
    secrets,
    closing,
    opened: opening.inTime,
    tombstones: inbox.tombstones,
    gate: () => gate,
    brake,
    keeper,
    handleFirst,
    keeping: freezing.saw,
    reporter,
  };

  const receiver: Receiver<K> = {
    storage: inbox.storage,
    on(name, handler, given = {}) {
      handlers.add((Array.isArray(name) ? name : [name]) as readonly EventName[], handler as Handler, given);
      return receiver;
    },
    use(one) {
      assertFunction("use()", one);
      assertUnsealed(handlers.sealed, "use");
      middleware.push(one);
      return receiver;
    },
    onDead(listener) {
      assertFunction("onDead()", listener);
      onDead.push(listener);
      return receiver;
    },
    unsubscribeWhen(given) {
      assertFunction("unsubscribeWhen()", given);
      if (gate !== undefined)
        throw new UsageError("gate-doubled", "unsubscribeWhen() was called twice.", {
          fix: "Decide everything in one gate.",
        });
      gate = given;
      return receiver;
    },
    async unsubscribe(given, reason, which = {}) {
      const wanted = toUnsubscribable("unsubscribe", given, which);
      await unsubscriber.put({ ...wanted, reason: toReason(reason) });
    },
    async resubscribe(given, which = {}) {
      const { subscription, source } = toUnsubscribable("resubscribe", given, which);
      await unsubscriber.lift(subscription, source);
    },
    start() {
      freezing.saw();
      return lifecycle.start();
    },
    async idle() {
      await keeper.drained();
      await work.idle();
    },
    async close(budget = {}) {
      const drainMs = toDrainMs(budget);
      hands.stop();
      return lifecycle.close(drainMs).finally(throttled.flush);
    },
    health,
    stats: () => ({
      role: lifecycle.role(),
      ...structuredClone(counters),
      secrets: reporter.secrets(),
    }),
    observe: (observer) => observers.add(observer),
    jobs: hands.jobs,
    receive: (request, answering) => receive(request, receiving, answering),
    async handle(delivery, { signal } = {}) {
      lifecycle.assertOpen();
      handlers.seal();
      await direct.handle(fromStored(delivery, resolved.scheme.signature.lowerCaseHeader), signal);
    },
    async [Symbol.asyncDispose]() {
      await receiver.close();
    },
  };
  setInternals(receiver, {
    clock: options.clock ?? clock,
    state: () => states.current,
    works: working !== undefined,
    handles: handlers.some,
    expandedListeners: listeners,
  });
  return receiver;
}

function assertUnsealed(sealed: boolean, verb: string): void {
  if (sealed)
    throw new UsageError("handlers-sealed", `${verb}() came after the start.`, {
      fix: `Call ${verb}() before \`receiver.start()\` or the first \`receiver.handle()\`.`,
    });
}
