import { assertBoolean, assertOptions, kindOf, UNSTORABLE, wholeNumber } from "../assert.ts";
import { LONGEST_TIMER_MS } from "../clock.ts";
import { UsageError } from "../errors.ts";
import type { HandledType } from "../inbox/port/jobs.ts";
import type { Logger } from "../logger.ts";
import { CHANGE_FAMILIES, EVENT_NAMES, familyOf, HANDLER_NAMES, isChangeFamily } from "../protocol/event-names.ts";
import type { AnyEvent, EventName } from "../protocol/event-types.ts";
import type { Context } from "./calls/context.ts";
import { defaultLane } from "./lane-key.ts";

/** Handles one event. What it returns is ignored; what it throws, or its rejection, is a failed attempt. */
export type Handler<E extends AnyEvent = AnyEvent> = (event: E, ctx: Context) => unknown;

/**
 * Runs around every handler, in the order of `use`. `next()` runs the rest and gives a promise of it: return or await it, so that a
 * failure of the handler fails the job. Without a call of `next` the handler does not run, and the job is done.
 */
export type Middleware = (event: AnyEvent, ctx: Context, next: () => Promise<void>) => unknown;

/** What may not overlap, and stays in order. @see docs/concepts/order-and-merging.md */
export type LaneOption<E> = "record" | "resource" | "account" | "none" | ((event: E) => string);

/** How one handler's jobs are run. */
export interface HandlerOptions<E> {
  /** The name of the consumer. Each consumer gets its own job, retries and lanes. @default "default" */
  consumer?: string | undefined;
  /** What may not overlap. @default "record"; "resource" for `.changes` */
  lane?: LaneOption<E> | undefined;
  /** Merge waiting changes of one record into one call; without a lane nothing is merged. @default true */
  merge?: boolean | undefined;
  /** Dead after this many failed attempts. @default no limit but `retryForMs` */
  attempts?: number | undefined;
  /** How long after its first attempt a job is retried, milliseconds. @default 86_400_000 */
  retryForMs?: number | undefined;
  /** One attempt's time until the signal aborts, milliseconds; 0 = none. @default 30_000 */
  timeoutMs?: number | undefined;
  /**
   * Most calls for one account at once, in this process. Handlers of one consumer count together, and the smallest number holds for all of them.
   * @default no limit
   */
  perAccount?: number | undefined;
}

/** Limits that a handler may set for itself and the receiver sets for all. */
export interface RunLimits {
  readonly attempts: number;
  readonly retryForMs: number;
  readonly timeoutMs: number;
}

/** A handler with its options. */
export interface Registration {
  /** All names of its `on`, joined: jobs of another handler never merge with its jobs. */
  readonly key: string;
  readonly consumer: string;
  readonly handler: Handler;
  readonly lane: LaneOption<AnyEvent>;
  readonly merge: boolean;
  /** `.changes`: takes all waiting changes of a resource in one call. */
  readonly batches: boolean;
  readonly limits: RunLimits;
  /** Infinity: no limit. */
  readonly perAccount: number;
  /** The `lane` function threw, or gave no text. */
  readonly warnOfLane: (error: unknown) => void;
}

/** The registered handlers. */
export interface Handlers {
  /** @throws UsageError `handler-unknown-name`, `handler-doubled`, `handler-invalid`, `handlers-sealed` */
  add(names: readonly EventName[], handler: Handler, options: HandlerOptions<never>): void;
  /** From here on `add` throws. */
  seal(): void;
  /** The most specific handler of each consumer for events of this type. */
  routes(type: string): readonly Registration[];
  /** The most specific handler of this consumer. */
  find(consumer: string, type: string): Registration | undefined;
  /** Every type of event that has a handler, once for each consumer that handles it. */
  handled(): readonly HandledType[];
  /** Most calls of this consumer for one account at once; Infinity: no limit. */
  perAccount(consumer: string): number;
  /** By name. */
  consumers(): readonly string[];
  /** Whether some consumer handles anything of the family. */
  knowsFamily(family: string): boolean;
  readonly sealed: boolean;
  /** Whether a handler was registered. */
  some(): boolean;
}

/** A consumer's handlers by name. */
type ByName = Map<string, Registration>;

export function createHandlers(defaults: RunLimits, log?: Pick<Logger, "warn">): Handlers {
  const consumers = new Map<string, ByName>();
  const routes = new Map<string, readonly Registration[]>();
  const perAccount = new Map<string, number>();
  let sealed = false;

  function routesOf(type: string): readonly Registration[] {
    let found = routes.get(type);
    if (found === undefined) {
      found = [...consumers.values()].flatMap((byName) => mostSpecific(byName, type) ?? []);
      if (sealed) routes.set(type, found);
    }
    return found;
  }

  return {
    add(names, handler, options) {
      if (sealed) {
        throw new UsageError("handlers-sealed", `${called(names)} came after the start.`, {
          fix: "Register every handler before `receiver.start()`, the first `receiver.handle()` and the first request of a function.",
        });
      }
      if (typeof handler !== "function") throw invalid(names, `got ${typeof handler} as handler, expected a function.`);
      if (names.length === 0) throw invalid(names, "got no name, expected at least one.");
      const single = toRegistration(options, { names, handler, batches: false, defaults, log });
      const batch = toRegistration(options, { names, handler, batches: true, defaults, log });
      const { consumer } = single;
      const byName: ByName = new Map(consumers.get(consumer));
      for (const name of names) {
        assertName(name);
        assertFree(byName, name, consumer);
        byName.set(name, isBatch(name) ? batch : single);
      }
      // Not earlier: an `on` that throws registers nothing.
      consumers.set(consumer, byName);
      perAccount.set(consumer, Math.min(single.perAccount, perAccount.get(consumer) ?? Infinity));
    },
    seal() {
      sealed = true;
    },
    routes: routesOf,
    handled: () =>
      // No event has the type of a batch.
      EVENT_NAMES.filter((name) => !isBatch(name)).flatMap((type) =>
        routesOf(type).map(({ consumer }) => ({ type, consumer })),
      ),
    perAccount: (consumer) => perAccount.get(consumer) ?? Infinity,
    consumers: () => [...consumers.keys()],
    some: () => consumers.size > 0,
    find(consumer, type) {
      const byName = consumers.get(consumer);
      return byName && mostSpecific(byName, type);
    },
    knowsFamily: (family) =>
      [...consumers.values()].some((byName) => [...byName.keys()].some((name) => familyOf(name) === family)),
    get sealed() {
      return sealed;
    },
  };
}

/** `email.created` before `email` before `*`; `.changes` takes its whole family; `unknown` is never part of `*`. */
function mostSpecific(byName: ByName, type: string): Registration | undefined {
  if (type === "unknown") return byName.get(type);
  const family = familyOf(type);
  const named = byName.get(type) ?? byName.get(`${family}.changes`);
  if (named !== undefined) return named;
  // A signal has no record: a handler of the family would read an id that is not there.
  return (type.endsWith(".signal") ? undefined : byName.get(family)) ?? byName.get("*");
}

interface Registering {
  readonly names: readonly EventName[];
  readonly handler: Handler;
  /** For the `.changes` among the names. */
  readonly batches: boolean;
  readonly defaults: RunLimits;
  readonly log: Pick<Logger, "warn"> | undefined;
}

function toRegistration(
  options: HandlerOptions<never>,
  { names, handler, batches, defaults, log }: Registering,
): Registration {
  const where = `on("${names.join('", "')}")`;
  assertOptions(where, options, ALLOWED);
  const { consumer = "default", lane = defaultLane(batches), merge = true } = options;
  assertBoolean(`${where}'s \`merge\``, merge);
  if (typeof lane !== "function" && !LANES.includes(lane)) {
    throw invalid(names, `got lane "${String(lane)}", expected ${LANES.join(", ")} or a function of the event.`);
  }
  if (typeof consumer !== "string" || consumer === "")
    throw invalid(names, `got ${kindOf(consumer)} for \`consumer\`, expected a name.`);
  if (UNSTORABLE.test(consumer))
    throw invalid(names, "got NUL or half of a surrogate pair in `consumer`, expected a name of whole characters.");
  const perAccount = options.perAccount ?? Infinity;
  if (options.perAccount !== undefined) wholeNumber({ where, name: "perAccount", value: perAccount, least: 1 });
  const limits = {
    attempts: options.attempts ?? defaults.attempts,
    retryForMs: options.retryForMs ?? defaults.retryForMs,
    timeoutMs: options.timeoutMs ?? defaults.timeoutMs,
  };
  return {
    key: names.join(","),
    consumer,
    handler,
    lane: lane as LaneOption<AnyEvent>,
    merge,
    batches,
    limits: assertLimits(limits, where),
    perAccount,
    warnOfLane: (err) =>
      log?.warn(
        { code: "lane-invalid", err, consumer, fix: "Let the function give a text that is not the same for all." },
        `the \`lane\` of ${where} gives no text: the jobs wait in the lanes of their records`,
      ),
  };
}

const ALLOWED: Readonly<Record<keyof HandlerOptions<never>, true>> = {
  consumer: true,
  lane: true,
  merge: true,
  attempts: true,
  retryForMs: true,
  timeoutMs: true,
  perAccount: true,
};

const LANES: readonly string[] = ["record", "resource", "account", "none"];

/** @throws UsageError `option-invalid` */
export function assertLimits(limits: RunLimits, where: string): RunLimits {
  const { attempts, retryForMs, timeoutMs } = limits;
  wholeNumber({ where, name: "attempts", value: attempts, least: 1, orInfinity: true });
  wholeNumber({ where, name: "retryForMs", value: retryForMs, least: 0, orInfinity: true });
  wholeNumber({ where, name: "timeoutMs", value: timeoutMs, least: 0, most: LONGEST_TIMER_MS });
  return limits;
}

function assertName(name: string): void {
  if ((HANDLER_NAMES as readonly string[]).includes(name)) return;
  throw new UsageError("handler-unknown-name", `on() got "${name}".`, {
    fix: `Allowed are: ${HANDLER_NAMES.join(", ")}.`,
  });
}

function assertFree(byName: ByName, name: string, consumer: string): void {
  if (byName.has(name)) {
    throw new UsageError("handler-doubled", `on("${name}") has a handler of consumer "${consumer}" already.`, {
      fix: `One handler per event and consumer: on("${name}", handler, { consumer: "other" }) gets jobs of its own.`,
    });
  }
  const family = familyOf(name);
  if (!isChangeFamily(family)) return;
  const others = [...byName.keys()].filter((other) => familyOf(other) === family);
  const batch = isBatch(name) ? others[0] : others.find(isBatch);
  if (batch === undefined) return;
  throw new UsageError(
    "handler-doubled",
    `on("${name}") conflicts with on("${batch}") of consumer "${consumer}": \`.changes\` takes the whole of "${family}".`,
    {
      fix: `Give one of them another consumer: on("${name}", handler, { consumer: "other" }). Families with \`.changes\`: ${CHANGE_FAMILIES.join(", ")}.`,
    },
  );
}

function isBatch(name: string): boolean {
  return name.endsWith(".changes");
}

function invalid(names: readonly string[], what: string): UsageError {
  return new UsageError("handler-invalid", `${called(names)} ${what}`);
}

function called(names: readonly string[]): string {
  return `on(${names.map((name) => `"${String(name)}"`).join(", ")})`;
}
