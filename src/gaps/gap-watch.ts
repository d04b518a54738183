import type { Clock, Timer } from "../clock.ts";
import type { DispatchDeps } from "../dispatch/dispatch-deps.ts";
import type { Handlers } from "../dispatch/handlers.ts";
import { noticeOf } from "../inbox/errored-subscriptions.ts";
import type { Gap, GapCount, Gaps, SubscribedResource } from "../inbox/port/gaps.ts";
import type { DeliveryOutcomes } from "../ingest/types.ts";
import type { Logger } from "../logger.ts";
import type { Envelope } from "../protocol/event-types.ts";
import { ownSignalOf } from "../protocol/own-signal-body.ts";
import { withTimeout } from "../timeout.ts";
import type { Problem } from "../receiver/health/problem-catalog.ts";
import type { ReceiverState } from "../receiver/lifecycle.ts";
import { createCatchUp } from "./catch-up.ts";
import { failingProblems, gapProblems, LISTED_FAMILIES } from "./gap-problems.ts";
import { createGapWriter } from "./gap-writer.ts";
import { createGoneSubscriptions } from "./gone-subscriptions.ts";
import { createKnownResources, isSubscribable, toSubscribed, type KnownResource } from "./known-resources.ts";
import { createRefusalWindows } from "./refusal-windows.ts";
import { createUnusualSilence } from "./unusual-silence.ts";

/** Notes where something may have been missed, and has it fetched. */
export interface GapWatch extends DeliveryOutcomes {
  /** The receiver's state changed. */
  changed(state: ReceiverState): void;
  readonly expanding: DispatchDeps["expanding"];
  /** Another module knows that deliveries of it come. */
  seen(resource: Envelope, source: string | undefined): void;
  /** Records gaps that another module knows of. Never rejects: what cannot be written now is written later. */
  record(gaps: readonly Omit<Gap, "family">[]): Promise<void>;
  /** A subscription is not wanted, or does not exist, any more. Without a source: in every source. */
  forget(subscription: number, source: string | undefined): void;
  /** All of an account was erased: no gap may bring it back. */
  forgetAccount(accountId: number): void;
  /** A delivery was answered 422: its subscription, of exactly this source, is deleted. Called at each one. */
  unwanted(subscription: number, source: string | undefined): void;
  /** What a subscription was for, as far as it is known. Never rejects. */
  resourcesOf(subscription: number, source: string | undefined): Promise<readonly SubscribedResource[]>;
  problems(): readonly Problem[];
}

/** The option `gaps` of a receiver, with its defaults. */
export interface GapLimits {
  readonly afterMs: number;
  readonly perSecond: number;
  readonly silence: boolean;
}

/** An outage of less than ten minutes is no gap: the service redelivers. */
export const DEFAULT_GAP_LIMITS: GapLimits = { afterMs: 600_000, perSecond: 5, silence: false };

export interface GapWatchOptions extends GapLimits {
  readonly gaps: Gaps;
  /** Whether the next delivery can be stored. */
  readonly isReady: () => boolean;
  readonly handlers: Pick<Handlers, "routes" | "some">;
  /** Stores a signal for the `.changes` handlers. Resolves when durable. */
  readonly signal: (gap: Gap) => Promise<unknown>;
  /** So many gaps begin; the time without any process is one. */
  readonly found: (count: number) => void;
  readonly clock: Clock;
  /** Throttled. */
  readonly log: Logger;
}

/** The inbox is told so often that a process is alive, and a gap is looked for, milliseconds; more often where `afterMs` is short. */
const MARK_EVERY_MS = 60_000;
/** The commit of a lifecycle notice waits so long until its gap is recorded, milliseconds. */
const WRITE_MS = 2_000;
/** The inbox is told again that a resource was seen, milliseconds. */
const SEEN_EVERY_MS = 24 * 60 * 60 * 1_000;

export function createGapWatch(options: GapWatchOptions): GapWatch {
  const { gaps, isReady, handlers, afterMs, perSecond, silence, signal, found, clock, log } = options;
  const known = createKnownResources();
  const refusals = createRefusalWindows(afterMs);
  const silences = silence ? createUnusualSilence() : undefined;
  const writer = createGapWriter(gaps, { clock, log, found });
  const gone = createGoneSubscriptions();
  const markEveryMs = Math.min(MARK_EVERY_MS, afterMs / 2);
  let state: ReceiverState = "idle";
  let timer: Timer | undefined;
  let isMarking = false;
  let counts: readonly GapCount[] = [];
  let isCounting = false;
  let isStale = false;

  const handled = (): readonly string[] =>
    LISTED_FAMILIES.filter((family) => handlers.routes(`${family}.signal`).some(({ batches }) => batches));
  const catchUp = createCatchUp({
    gaps,
    perSecond,
    mayRun: () => state === "working",
    families: handled,
    signal,
    clock,
    log,
  });

  function failed(error: unknown): void {
    if (isOpen(state)) log.warn({ err: error, code: "gaps-failed" }, "the inbox cannot be asked what may be missing");
  }

  /** Many that ask at once are one more look. */
  async function count(): Promise<void> {
    isStale = true;
    if (isCounting) return;
    isCounting = true;
    while (isStale) {
      isStale = false;
      try {
        counts = await gaps.count();
      } catch (error) {
        failed(error);
      }
    }
    isCounting = false;
  }

  async function forget(subscription: number, source: string | undefined): Promise<void> {
    silences?.forget(subscription, source);
    refusals.forget(subscription, source);
    known.forget(subscription, source);
    try {
      await gaps.forget(subscription, source);
    } catch (error) {
      failed(error);
    }
    await count();
  }

  async function resourcesOf(subscription: number, source: string | undefined): Promise<readonly SubscribedResource[]> {
    try {
      return await gaps.resourcesOf(subscription, source);
    } catch (error) {
      failed(error);
      return [];
    }
  }

  /** Without a source nothing is forgotten where another source has the same number: of these alone an inbox cannot forget it. */
  async function forgetExactly(subscription: number, source: string | undefined): Promise<void> {
    const all = source === undefined ? await resourcesOf(subscription, undefined) : [];
    if (all.every((one) => one.source === source)) await forget(subscription, source);
  }

  async function look(): Promise<void> {
    if (isMarking) return;
    isMarking = true;
    try {
      // Who cannot store might as well not be there: once it can, the last mark is old.
      if (!isReady()) return;
      const now = clock.now();
      const since = await gaps.mark({ at: now, afterMs });
      if (since !== undefined) {
        found(1);
        log.warn(
          { code: "gap-down", from: new Date(since), until: new Date(now) },
          "no process received for a while: `.changes` handlers fetch what changed",
        );
      }
      writer.add([...refusals.overdue(now), ...(silences?.found(now) ?? [])]);
      await writer.flush();
    } catch (error) {
      failed(error);
    } finally {
      isMarking = false;
    }
    await countAndCatchUp();
  }

  /** A process that only opens the inbox, such as a script that replays jobs, says nothing of whether deliveries were received. */
  function beginMarks(): void {
    if (timer === undefined && isOpen(state)) lookAgain();
  }

  function lookAgain(): void {
    void look();
    timer = clock.setTimer(lookAgain, markEveryMs);
    timer.unref?.();
  }

  async function countAndCatchUp(): Promise<void> {
    await count();
    catchUp.wake();
  }

  function see(envelope: Envelope, source: string | undefined): KnownResource {
    const now = clock.now();
    gone.isBack(envelope.subscription);
    const seen = known.find(envelope, source);
    if (now - seen.toldAt >= SEEN_EVERY_MS) {
      seen.toldAt = now;
      writer.seen(seen.resource);
      void writer.flush();
    }
    return seen;
  }

  /** Before a commit, which must not wait for ever: what is not written by then is written later. */
  async function inTime(writing: Promise<void>): Promise<void> {
    const late = await withTimeout(
      WRITE_MS,
      writing.then(() => false),
      { clock, late: true },
    );
    if (late) log.warn({ code: "gaps-failed", timeoutMs: WRITE_MS }, "the inbox does not answer what may be missing");
  }

  async function record(added: readonly Gap[]): Promise<void> {
    writer.add(added);
    await writer.flush();
    await countAndCatchUp();
  }

  return {
    changed(next) {
      state = next;
      if (STARTED.has(next)) beginMarks();
      if (next === "working") catchUp.wake();
      if (next !== "closing") return;
      timer?.clear();
      catchUp.stop();
    },
    expanding(events, { source, sentAt, receivedAt }) {
      const event = events[0]?.event;
      if (event === undefined || !hasEnvelope(event) || !isSubscribable(event)) return undefined;
      if (ownSignalOf(event) !== undefined) return undefined;
      const seen = see(event, source);
      const { resource } = seen;
      silences?.heard(resource, receivedAt);
      const notice = noticeOf(event);
      if (notice === undefined) return undefined;
      const told = `${sentAt} ${notice.error}`;
      if (seen.notice === told) return inTime(writer.flush());
      seen.notice = told;
      const until = notice.error === undefined ? sentAt : undefined;
      writer.add([{ ...resource, cause: "errored", from: sentAt, until }]);
      // Before the notice is stored: after a crash in between, it comes again.
      return inTime(writer.flush()).then(() => void countAndCatchUp());
    },
    refused({ delivery, document }) {
      const { envelope } = document();
      if (envelope !== undefined && isSubscribable(envelope)) refusals.refused(envelope, delivery.source, clock.now());
    },
    stored({ delivery, document }) {
      beginMarks();
      if (refusals.isEmpty) return;
      const { envelope } = document();
      const gap = envelope && refusals.stored(envelope, delivery.source, clock.now());
      if (gap !== undefined) void record([gap]);
    },
    seen: (resource, source) => void see(resource, source),
    async record(added) {
      for (const { subscription } of added) gone.isBack(subscription);
      await record(
        added.map(({ cause, from, until, ...one }) => ({ ...toSubscribed(one, one.source), cause, from, until })),
      );
    },
    forget: (subscription, source) => void forget(subscription, source),
    forgetAccount(accountId) {
      for (const one of [silences, refusals, known]) one?.forgetAccount(accountId);
    },
    unwanted(subscription, source) {
      if (gone.add(subscription, source)) void forgetExactly(subscription, source);
    },
    resourcesOf,
    problems: () => [
      ...failingProblems(catchUp.failing()),
      ...gapProblems(counts, handlers.some() ? handled() : undefined),
    ],
  };
}

/** Where nothing is watched. */
export const NO_GAP_WATCH: GapWatch = {
  changed() {},
  expanding: () => undefined,
  refused() {},
  stored() {},
  seen() {},
  async record() {},
  forget() {},
  forgetAccount() {},
  unwanted() {},
  resourcesOf: async () => [],
  problems: () => [],
};

const STARTED: ReadonlySet<ReceiverState> = new Set(["starting", "standby", "working"]);

function isOpen(state: ReceiverState): boolean {
  return state === "receiving" || STARTED.has(state);
}

function hasEnvelope(event: Partial<Envelope>): event is Envelope {
  return event.subscription !== undefined && event.accountId !== undefined && event.resource !== undefined;
}
