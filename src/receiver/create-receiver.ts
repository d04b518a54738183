import { logFailure } from "../dispatch/direct-errors.ts";
import { createDirectHandling } from "../dispatch/direct-handling.ts";
import { createHandlerCalls } from "../dispatch/calls/handler-calls.ts";
import type { Handler } from "../dispatch/handlers.ts";
import { createExpansionReporter, type ExpandedListener } from "../dispatch/job-reporter.ts";
import { fromStored } from "../inbox/port/delivery.ts";
import { createInboxWatch } from "../inbox/standstill-watch.ts";
import { toSeen } from "../inbox/port/seen-store.ts";
import { asWorking, asWriting, type StorageKind } from "../inbox/port/inbox.ts";
import { NO_SOURCE } from "../inbox/port/tombstones.ts";
import { createAccept, refuseAccept } from "../ingest/accept.ts";
import { createHandleThenAnswer } from "../ingest/after-handlers.ts";
import { createReporter } from "../ingest/answer-reporter.ts";
import { createInFlightBytes } from "../ingest/body-limits.ts";
import { createSecretLookup } from "../ingest/secret-lookup.ts";
import { createDeliveryStore } from "../ingest/store.ts";
import type { IngestDeps } from "../ingest/types.ts";
import { createUnsubscribeRateLimit } from "../ingest/unsubscribe-rate-limit.ts";
import { throttledLog } from "../logger.ts";
import { createObservers } from "../observe/observers.ts";
import type { EventName } from "../protocol/event-types.ts";
import { createCounters } from "../observe/counters.ts";
import { checkReady } from "./health/checks.ts";
import { createFlow, unsupported } from "./flow.ts";
import { createHealth } from "./health/health.ts";
import { createRecentRefusals, recordingOutcomes, recordingReporter } from "./health/recent-refusals.ts";
import { createSubscriptionErrors } from "./health/subscription-errors.ts";
import { createUnauthorizedAccounts } from "./health/unauthorized-accounts.ts";
import { createGapWatch, NO_GAP_WATCH, type GapWatch } from "../gaps/gap-watch.ts";
import { inTime } from "../gaps/in-time.ts";
import { receiveHeard, type HandshakeListener } from "./handshake-listeners.ts";
import { setInternals, type Internals } from "./internals.ts";
import { createJobs } from "./jobs/create-jobs.ts";
import { createJobPages } from "./jobs/job-pages.ts";
import { createLifecycle, createReceiverStates, toDrainMs } from "./lifecycle.ts";
import { createLists } from "./lists/create-lists.ts";
import { createOpening, openToWork } from "./open-inbox.ts";
import { resolveOptions, type ReceiverOptions } from "./options.ts";
import type { Receiver } from "./receiver-types.ts";
import { createRegistrations } from "./registrations.ts";
import { createFreezeWarning, functionPlatform, keepsRequestsApart } from "./serverless.ts";
import { createOwnSignals } from "./store-own-signal.ts";
import { createUnsubscriber } from "./unsubscribe.ts";
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
  const { name, clock, log, logContent, storeTimeoutMs, dedupeWindowMs } = resolved;
  const throttled = throttledLog(log, clock);
  const counters = createCounters();
  const observers = createObservers(throttled);
  const inbox = asWriting(options.inbox);
  const working = asWorking(inbox);
  const platform = functionPlatform(process.env, navigator.userAgent);
  const isolateRequests = keepsRequestsApart(platform);
  const freezeWarning = createFreezeWarning({ storage: inbox.storage, platform, log });
  /** Handlers before the answer cannot wait. */
  const hasFlow = working?.pauses !== undefined && platform === undefined;
  const states = createReceiverStates((state) => gaps.changed(state));
  const host = { name, clock, log: throttled, dedupeWindowMs };
  const opening = createOpening(inbox, host, { states, timeoutMs: storeTimeoutMs, clock });
  const secrets = createSecretLookup(options.secret, { clock, timeoutMs: resolved.secretTimeoutMs, isolateRequests });
  const inFlightBytes = createInFlightBytes(resolved.maxInFlightBytes);
  const rateLimit = createUnsubscribeRateLimit(resolved.maxUnsubscribesPerHour, clock, inbox);
  const subscriptions = createSubscriptionErrors(working, throttled);
  const accounts = createUnauthorizedAccounts({ jobs: () => working?.jobs, clock, log: throttled });

  const registrations = createRegistrations(resolved.limits, throttled);
  const { handlers, middleware, onDead } = registrations;
  const expandedListeners = new Set<ExpandedListener>();
  const handshakes = new Set<HandshakeListener>();
  const problemSources: Internals["problemSources"] = new Set();

  function unsubscribed(subscription: number, source: string | undefined): void {
    subscriptions.forget(subscription, source);
    gaps.forget(subscription, source);
    if (source === NO_SOURCE) unwanted(subscription, undefined);
  }

  /** Of exactly this source. */
  function unwanted(subscription: number, source: string | undefined): void {
    subscriptions.forgetExactly(subscription, source);
    gaps.unwanted(subscription, source);
  }

  const watch = createInboxWatch(clock);
  const unsubscriber = createUnsubscriber({
    opened: opening.opened,
    assertOpen: () => lifecycle.assertOpen(),
    tombstones: inbox.tombstones,
    rateLimit,
    watch,
    log,
    observers,
    unsubscribed,
    learn: subscriptions.learn,
    resourcesOf: (subscription, source) => gaps.resourcesOf(subscription, source),
    clock,
  });
  const handlerCalls = createHandlerCalls({ ...resolved, middleware, unjammed: () => work.wake() });
  const dispatchDeps = {
    handlers,
    handlerCalls,
    onDead,
    services: { log, unsubscribe: unsubscriber.byHandler },
    log,
    faultLog: throttled,
    clock,
    random: Math.random,
    counters,
    observers,
    expanding: ((events, delivery) => {
      accounts.expanding(events);
      return gaps.expanding(events, delivery);
    }) satisfies GapWatch["expanding"],
    handlerEnded: accounts.record,
    watch,
    concurrency: resolved.concurrency,
    fairness: resolved.fairness,
  };
  const expansionReporter = createExpansionReporter({
    counters,
    observers,
    log,
    logContent,
    listeners: expandedListeners,
    direct: subscriptions.record,
  });
  const work = createWork(working, dispatchDeps, expansionReporter);
  const direct = createDirectHandling(dispatchDeps, expansionReporter, {
    name,
    apart: isolateRequests,
    storage: inbox.storage,
  });
  const store = createDeliveryStore({
    inbox,
    watch,
    inFlightBytes,
    timeoutMs: storeTimeoutMs,
    clock,
    expand: work.expand,
    expanding: dispatchDeps.expanding,
    stored: work.stored,
    committed: work.wake,
    isolateRequests,
    instruments: observers.instruments,
  });
  const ownSignals = createOwnSignals(store.store, clock);
  const gaps: GapWatch =
    resolved.gaps === undefined || working?.gaps === undefined || platform !== undefined
      ? NO_GAP_WATCH
      : createGapWatch({
          ...resolved.gaps,
          gaps: inTime(working.gaps, watch),
          isReady: () => inbox.ready().ready,
          handlers,
          signal: (gap) => ownSignals.put(gap, { cause: "gap" }),
          found: (count) => observers.instruments.meter?.gaps(count),
          clock,
          log: throttled,
        });
  problemSources.add(gaps.problems);
  const lifecycle = createLifecycle({ ...dispatchDeps, states, inbox, opening, secrets, work, direct, store });
  const pages = createJobPages(clock);
  const open = openToWork(working, { opened: opening.opened, assertOpen: lifecycle.assertOpen });
  const readiness = { states, secrets, opening, inbox, inFlightBytes };
  const refusals = createRecentRefusals({ counters, clock, isReady: () => checkReady(readiness).length === 0 });
  const reporter = recordingReporter(createReporter({ counters, log: throttled, observers }), refusals, unwanted);
  const health = createHealth({
    ...readiness,
    working,
    prefetched: work.prefetched,
    delays: work.delays,
    watch,
    handlerCalls,
    startFailure: lifecycle.startFailure,
    rateLimit,
    refusals,
    subscriptions,
    accounts,
    unhandledNames: expansionReporter.unhandledNames,
    freezeWarning,
    problemSources,
    clock,
    log: throttled,
  });
  const ingestDeps: IngestDeps = {
    ...resolved,
    log: throttled,
    inFlightBytes,
    secrets,
    closing: () => states.isClosing,
    opened: opening.inTime,
    tombstones: inbox.tombstones,
    gate: registrations.gate,
    rateLimit,
    store(admitted) {
      freezeWarning.storesForLater();
      return store.store(admitted);
    },
    handleThenAnswer: createHandleThenAnswer({ handle: direct.handle, inFlightBytes, clock }),
    reporter,
    instruments: observers.instruments,
    outcomes: recordingOutcomes(gaps, refusals),
  };

  const accept = working === undefined ? refuseAccept : createAccept({ ...ingestDeps, counters, refusals });

  const receiver: Receiver<K> = {
    storage: inbox.storage,
    on(names, handler, given = {}) {
      if (given?.perAccount !== undefined && !hasFlow) throw unsupported("`perAccount`");
      registrations.on((Array.isArray(names) ? names : [names]) as readonly EventName[], handler as Handler, given);
      return receiver;
    },
    use(one) {
      registrations.use(one);
      return receiver;
    },
    onDead(listener) {
      registrations.onDeadLetter(listener);
      return receiver;
    },
    unsubscribeWhen(given) {
      registrations.unsubscribeWhen(given);
      return receiver;
    },
    unsubscribe: unsubscriber.unsubscribe,
    resubscribe: unsubscriber.resubscribe,
    start() {
      freezeWarning.storesForLater();
      return lifecycle.start();
    },
    async idle() {
      await store.drained();
      await work.idle();
    },
    async close(budget = {}) {
      const drainMs = toDrainMs(budget);
      pages.stop();
      return lifecycle.close(drainMs).finally(() => throttled.flush());
    },
    health,
    stats: () => ({
      role: lifecycle.role(),
      ...structuredClone(counters),
      expired: work.expired(),
      secrets: reporter.secrets(),
    }),
    observe: (observer) => observers.add(observer),
    jobs: createJobs({ open, storage: inbox.storage, pages, erased: [accounts.forget, gaps.forgetAccount], log }),
    flow: createFlow({ isSupported: hasFlow, open, handlers, watch, wake: work.wake, clock, log }),
    lists: createLists({ open, pages, subscriptions, watch, clock }),
    receive: receiveHeard(ingestDeps, handshakes),
    async handle(delivery, how = {}) {
      lifecycle.assertOpen();
      const given = { signal: how.signal, seen: toSeen(how, "handle"), isMessage: true };
      await logFailure(throttled, { delivery, ...given }, async () =>
        direct.handle(fromStored(delivery, resolved.scheme.signature.lowerCaseHeader, "handle"), given),
      );
    },
    accept,
    async [Symbol.asyncDispose]() {
      await receiver.close();
    },
  };
  setInternals(receiver, {
    clock: options.clock ?? clock,
    state: () => states.current,
    name,
    handlers,
    instruments: observers.instruments,
    inFlightBytes,
    inboxWorkers: () => working?.stats().workers,
    expandedListeners,
    handshakes,
    log: throttled,
    everyLine: log,
    opened: opening.opened,
    workUntilIdle: lifecycle.workUntilIdle,
    tombstones: inbox.tombstones,
    subscriptions,
    gaps,
    ownSignals,
    workers: working?.capabilities.workers,
    problemSources,
    pauses: working?.pauses,
    keyValues: working?.keyValues,
  });
  return receiver;
}
