import { assertOptions, kindOf } from "../assert.ts";
import type { Clock } from "../clock.ts";
import type { Handlers } from "../dispatch/handlers.ts";
import { UsageError } from "../errors.ts";
import type { InboxWatch } from "../inbox/standstill-watch.ts";
import { listOf, toPause } from "../inbox/pauses.ts";
import type { WorkingInbox } from "../inbox/port/inbox.ts";
import type { Pause, Paused, Pauses } from "../inbox/port/pauses.ts";
import type { Logger } from "../logger.ts";
import type { Id } from "../protocol/event-types.ts";
import { cutText } from "../thrown.ts";

/** What is paused: a consumer, an account, or one account of a consumer. At least one of the two. */
export interface FlowTarget {
  consumer?: string | undefined;
  accountId?: Id | undefined;
}

/** A pause that holds now. */
export interface FlowPause {
  readonly consumer?: string;
  readonly accountId?: Id;
  readonly reason: string;
  readonly since: Date;
  /** Absent: until it is resumed. */
  readonly until?: Date;
  /** Jobs that wait, those that wait for a retry included. */
  readonly waiting: number;
}

/** Pauses and resumes handlers while deliveries are received as ever. */
export interface Flow {
  /**
   * Stored: holds in all processes on the inbox within 2 s, and after a restart. No further call of a stored job starts; what runs ends, and
   * what waits goes on merging. A pause of exactly the same is replaced.
   * @param options the reason is stored up to 1,000 characters; `until` is in the future
   * @throws UsageError `flow-invalid`; `flow-unsupported` where the inbox stores no pauses
   */
  pause(what: FlowTarget, options: { reason: string; until?: Date | undefined }): Promise<void>;
  /**
   * Ends the pause of exactly these.
   * @returns whether there was one
   * @throws UsageError `flow-invalid`, `flow-unsupported`
   */
  resume(what: FlowTarget): Promise<{ readonly resumed: boolean }>;
  /** Those that hold, the oldest first. Counts what waits: for a look, not for a loop. @throws UsageError `flow-unsupported` */
  paused(): Promise<readonly FlowPause[]>;
}

export interface FlowDeps {
  /** The inbox stores pauses, and follows them. */
  readonly isSupported: boolean;
  /** Opens the inbox. */
  readonly open: () => Promise<WorkingInbox>;
  readonly handlers: Pick<Handlers, "consumers">;
  readonly watch: Pick<InboxWatch, "limit">;
  /** What may start has changed. */
  readonly wake: () => void;
  readonly clock: Pick<Clock, "now">;
  readonly log: Logger;
}

/** `receiver.flow`. */
export function createFlow({ isSupported, open, handlers, watch, wake, clock, log }: FlowDeps): Flow {
  async function pausesOf(verb: string): Promise<Pauses> {
    if (!isSupported) throw unsupported(`flow.${verb}()`);
    return (await open()).pauses as Pauses;
  }

  return {
    async pause(what, options) {
      const paused = toPaused("pause", what);
      assertOptions("flow.pause()", options, { reason: true, until: true });
      const { reason, until } = options;
      if (typeof reason !== "string" || reason === "") throw invalid("pause", `${kindOf(reason)} as reason`, "a text");
      const now = clock.now();
      if (until !== undefined && !(until instanceof Date && until.getTime() > now))
        throw invalid("pause", `${String(until)} as \`until\``, "a Date in the future");
      const pauses = await pausesOf("pause");
      const { consumer } = paused;
      if (consumer !== undefined && !handlers.consumers().includes(consumer))
        log.warn(
          { code: "flow-consumer-unknown", consumer, known: handlers.consumers() },
          "no handler of this process has the consumer that is paused: the pause is stored, for others",
        );
      const pause: Pause = { ...paused, reason: cutText(reason, LONGEST_REASON), since: now, until: until?.getTime() };
      await watch.limit("pauses.put", () => pauses.put(pause));
      log.info({ code: "flow-paused", ...paused, until }, "receiver.flow.pause() paused jobs");
      wake();
    },
    async resume(what) {
      const paused = toPaused("resume", what);
      const pauses = await pausesOf("resume");
      const resumed = await watch.limit("pauses.remove", () => pauses.remove(paused));
      if (resumed) log.info({ code: "flow-resumed", ...paused }, "receiver.flow.resume() resumed jobs");
      wake();
      return { resumed };
    },
    async paused() {
      const pauses = await pausesOf("paused");
      const all = listOf(pauses).flatMap(toPause);
      const counts = await watch.limit("pauses.waiting", () => pauses.waiting(all));
      return all.map((one, index) => toFlowPause(one, counts[index] ?? 0)).toSorted((a, b) => +a.since - +b.since);
    },
  };
}

/** Characters. */
const LONGEST_REASON = 1_000;

function toFlowPause({ consumer, accountId, reason, since, until }: Pause, waiting: number): FlowPause {
  return {
    ...(consumer !== undefined && { consumer }),
    ...(accountId !== undefined && { accountId }),
    reason,
    since: new Date(since),
    ...(until !== undefined && { until: new Date(until) }),
    waiting,
  };
}

/** @throws UsageError `flow-invalid` */
function toPaused(verb: string, what: FlowTarget): Paused {
  if (typeof what !== "object" || what === null) throw invalid(verb, kindOf(what), "{ consumer } or { accountId }");
  const { consumer, accountId } = what;
  const other = Object.keys(what).find((name) => name !== "consumer" && name !== "accountId");
  if (other !== undefined) throw invalid(verb, `"${other}"`, "nothing but `consumer` and `accountId`");
  if (accountId !== undefined && !Number.isSafeInteger(accountId))
    throw invalid(verb, `${String(accountId)} as account`, "its number");
  if (consumer !== undefined && (typeof consumer !== "string" || consumer === ""))
    throw invalid(verb, `${kindOf(consumer)} as consumer`, "its name");
  if (consumer === undefined && accountId === undefined)
    throw invalid(
      verb,
      "neither a consumer nor an account",
      "at least one, so that nobody pauses everything by mistake",
    );
  return { consumer, accountId };
}

function invalid(verb: string, got: string, expected: string): UsageError {
  return new UsageError("flow-invalid", `flow.${verb}() got ${got}, expected ${expected}.`);
}

/** @param what that somebody asked for */
export function unsupported(what: string): UsageError {
  return new UsageError("flow-unsupported", `${what} needs an inbox that stores pauses and gives turns.`, {
    fix: "Pause the consumer of the queue behind `forwardInbox`, or let that consumer `accept` into a receiver with `sqliteInbox` or `postgresInbox`; handlers before the answer cannot wait. An inbox of your own needs `pauses`.",
  });
}
