import PQueue from "p-queue";
import { createCounters } from "../counters.ts";
import type { Handler, Middleware } from "../dispatch/handler.ts";
import { createHandlers } from "../dispatch/handlers.ts";
import { createDirectHandling } from "../dispatch/handle.ts";
import { createNews } from "../dispatch/news.ts";
import { ClosedError, StorageError, UsageError } from "../errors.ts";
import type { Closed, Receiver } from "./face.ts";
import { fromStored } from "../inbox/delivery.ts";
import { asWorking, asWriting } from "../inbox/halves.ts";
import type { Job } from "../inbox/job.ts";
import type { Keeps } from "../inbox/port.ts";
import { createObservers } from "../observers.ts";
import { resolveOptions, type ReceiverOptions } from "./options.ts";
import type { EventName } from "../protocol/events.ts";
import { createBrake } from "../receiver/brake.ts";
import type { Gate } from "../receiver/gate.ts";
import { createIntake } from "../receiver/intake.ts";
import { createKeeper } from "../receiver/keep.ts";
import { receive } from "../receiver/receiver.ts";
import { createReporter } from "../receiver/report.ts";
import { createSecretLookup } from "../receiver/ring.ts";
import { createThrottle } from "../receiver/throttle.ts";
import { createUnsubscriber } from "./unsubscriber.ts";
import { within } from "../within.ts";
import { createWork } from "./work.ts";

/**
 * Makes a receiver: register handlers, mount it, `start()` it.
 *
 * @throws UsageError `option-invalid`, `inbox-invalid`, `scheme-invalid`
 * @example
 * const receiver = createReceiver({ secret: process.env.SIGNING_SECRET, inbox: memoryInbox() });
 * receiver.on("email.created", (event) => console.log(event.id));
 * await receiver.start();
 */
export function createReceiver<K extends Keeps>(options: ReceiverOptions<K>): Receiver<K> {
  const resolved = resolveOptions(options);
  const { clock, log, concurrency, graceMs, maxStuck } = resolved;
  const inbox = asWriting(options.inbox);
  const counters = createCounters();
  const observers = createObservers(log);
  const handlers = createHandlers(resolved.limits);
  const middleware: Middleware[] = [];
  const onDead: ((job: Job) => unknown)[] = [];
  const reporter = createReporter({ counters, log, observers, throttle: createThrottle(clock) });
  const brake = createBrake(resolved.maxUnsubscribesPerHour, clock);
  const secrets = createSecretLookup(options.secret, { clock, deadlineMs: resolved.secretDeadlineMs });
  const unsubscriber = createUnsubscriber({ opened, tombstones: inbox.tombstones, brake, log, observers });
  const queue = new PQueue({ concurrency });
  const parts = {
    handlers,
    middleware,
    onDead,
    services: { log, unsubscribe: unsubscriber.byHandler },
    log,
    clock,
    random: Math.random,
    counters,
    observers,
    queue,
    concurrency,
    graceMs,
    maxStuck,
  };
  const news = createNews({ counters, observers, log, logContent: resolved.logContent });
  const work = createWork(asWorking(inbox), parts, news);
  const direct = createDirectHandling(parts, news);
  const keeper = createKeeper({
    inbox,
    deadlineMs: resolved.keepDeadlineMs,
    clock,
    expand: work.expand,
    kept: work.kept,
    committed: work.wake,
  });
  let gate: Gate | undefined;
  let opening: Promise<void> | undefined;
  let isOpen = false;
  let starting: Promise<void> | undefined;
  let closing: Promise<Closed> | undefined;

  const receiving = {
    ...resolved,
    intake: createIntake(resolved.maxInFlightBytes),
    secrets,
    closing: () => closing !== undefined,
    opened: openedInTime,
    tombstones: inbox.tombstones,
    gate: () => gate,
    brake,
    keeper,
    reporter,
  };

  /** Once; a failure is forgotten, so that the next delivery tries again. */
  function opened(): Promise<void> {
    opening ??= inbox.open({ name: resolved.name, clock, log, dedupeWindowMs: resolved.dedupeWindowMs }).then(
      () => {
        isOpen = true;
      },
      (error: unknown) => {
        opening = undefined;
        throw error;
      },
    );
    return opening;
  }

  /** A request does not wait longer for an inbox to open than for it to keep. */
  async function openedInTime(): Promise<void> {
    if (isOpen) return;
    const done = opened().then(() => true);
    if (await within(resolved.keepDeadlineMs, done, { clock, late: false })) return;
    throw new StorageError("storage-late", "The inbox is still opening.");
  }

  function assertOpen(): void {
    if (closing !== undefined)
      throw new ClosedError("closed", "The receiver is closed.", { fix: "Make a new one with `createReceiver`." });
  }

  async function start(): Promise<void> {
    assertOpen();
    work.assertPossible();
    secrets.assert();
    handlers.seal();
    await opened();
    assertOpen();
    await work.start();
    assertOpen();
  }

  /** What was missing may be there next time. */
  function forgetStart(error: unknown): never {
    starting = undefined;
    throw error;
  }

  async function close(drainMs: number): Promise<Closed> {
    const [worked, handled] = await Promise.all([work.stop(drainMs), direct.stop(drainMs), keeper.drained()]);
    if (opening !== undefined) {
      const end = work.ended().then(() => inbox.close());
      // A handler that outlives the close still settles: its inbox is closed after it.
      const closed = end.catch((error: unknown) =>
        log.error({ err: error, code: "inbox-close-failed" }, "the inbox did not close well"),
      );
      if (worked.stuck === 0) await closed;
    }
    return { done: worked.done + handled.done, released: worked.released, stuck: worked.stuck + handled.stuck };
  }

  const receiver: Receiver<K> = {
    keeps: inbox.keeps,
    on(name, handler, given = {}) {
      handlers.add((Array.isArray(name) ? name : [name]) as readonly EventName[], handler as Handler, given);
      return receiver;
    },
    use(one) {
      assertUnsealed(handlers.sealed, "use");
      middleware.push(one);
      return receiver;
    },
    onDead(listener) {
      onDead.push(listener);
      return receiver;
    },
    unsubscribeWhen(given) {
      if (gate !== undefined)
        throw new UsageError("gate-doubled", "unsubscribeWhen() was called twice.", {
          fix: "Decide everything in one gate.",
        });
      gate = given;
      return receiver;
    },
    unsubscribe: (subscription, reason, { source } = {}) => unsubscriber.put({ subscription, reason, source }),
    resubscribe: (subscription, { source } = {}) => unsubscriber.lift(subscription, source),
    start: () => (closing === undefined ? (starting ??= start().catch(forgetStart)) : start()),
    async idle() {
      await keeper.drained();
      await work.idle();
    },
    close: ({ drainMs = 10_000 } = {}) => (closing ??= close(drainMs)),
    stats: () => ({
      role: starting === undefined ? "receiving" : work.working() ? "working" : "standby",
      ...structuredClone(counters),
      secrets: reporter.secrets(),
    }),
    observe: (observer) => observers.add(observer),
    receive: (request) => receive(request, receiving),
    async handle(delivery, { signal } = {}) {
      assertOpen();
      handlers.seal();
      await direct.handle(fromStored(delivery, resolved.scheme.signature.lowerCaseHeader), signal);
    },
    async [Symbol.asyncDispose]() {
      await receiver.close();
    },
  };
  return receiver;
}

function assertUnsealed(sealed: boolean, verb: string): void {
  if (sealed)
    throw new UsageError("handlers-sealed", `${verb}() came after the start.`, {
      fix: `Call ${verb}() before \`receiver.start()\` or the first \`receiver.handle()\`.`,
    });
}
