import type { Clock } from "../clock.ts";
import { HooklineError, isHooklineError, UsageError } from "../errors.ts";
import { toKeys, type Key, type Secret } from "../protocol/signature/secrets.ts";
import { catchRejection } from "../thrown.ts";
import { withTimeout } from "../timeout.ts";
import { Refused } from "./refusals.ts";
import { createSecretCache } from "./secret-cache.ts";

/** The part of a request that a look-up of secrets gets. */
export interface SecretRequest {
  readonly path: string;
  /** As the mount set it. */
  readonly source?: string;
  readonly query: URLSearchParams;
  /** A header by its name, in any case. */
  header(name: string): string | undefined;
  /** What the platform passes beside the request. */
  readonly platform?: unknown;
}

/**
 * One signing secret, several during a rotation, or a look-up for several applications on one server. The result of a look-up
 * is cached per `source` of the mount: secrets for 60 s, their absence for 2 s; requests of one source share the look-up under way.
 * On a mount without a source it is called for every request.
 */
export type SecretSource =
  | Secret
  | readonly Secret[]
  | ((
      request: SecretRequest,
    ) => Secret | readonly Secret[] | undefined | Promise<Secret | readonly Secret[] | undefined>);

/** Time of a look-up by function, milliseconds. */
export const DEFAULT_SECRET_TIMEOUT_MS = 2_000;

/** Finds the keys that a request may be signed with. */
export interface SecretLookup {
  /** Without a promise where the keys are known. */
  keys(source: string | undefined, request: () => SecretRequest): Found | Promise<Found>;
  /** @throws UsageError `secret-missing` when there is none, or an empty one */
  assert(): void;
}

type Found = readonly Key[] | Refused;

interface LookupOptions {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** No request may wait for I/O that another request began. */
  readonly isolateRequests: boolean;
}

export function createSecretLookup(secret: SecretSource | undefined, options: LookupOptions): SecretLookup {
  return typeof secret === "function" ? createFunctionLookup(secret, options) : createFixedLookup(secret);
}

/** A secret that is missing is found out at the first use, because importing a program must not need it. */
function createFixedLookup(secret: Secret | readonly Secret[] | undefined): SecretLookup {
  let keys: readonly Key[] | undefined;
  return {
    keys() {
      try {
        return (keys ??= toKeys(secret));
      } catch (error) {
        return new Refused("secret-missing", error);
      }
    },
    assert() {
      try {
        keys ??= toKeys(secret);
      } catch (cause) {
        throw toUsageError(cause);
      }
    },
  };
}

function toUsageError(cause: unknown): unknown {
  if (!isHooklineError(cause)) return cause;
  const { fix } = cause;
  // The message of an error has its fix at the end.
  const message = fix === undefined ? cause.message : cause.message.slice(0, -fix.length).trimEnd();
  return new UsageError("secret-missing", `createReceiver has no signing secret. ${message}`, { cause, fix });
}

type Find = Extract<SecretSource, (request: SecretRequest) => unknown>;

function createFunctionLookup(find: Find, { clock, timeoutMs, isolateRequests }: LookupOptions): SecretLookup {
  const cache = createSecretCache(clock);
  const shared = createSharedLookups(timeoutMs, clock);

  /** A late one still fills the cache: the redelivery finds it there. */
  async function lookUp(source: string, request: SecretRequest): Promise<Found> {
    const fill = cache.begin(source);
    const found = await call(find, request);
    if (!(found instanceof Refused)) fill(found);
    else if (found.code === "secret-unknown") fill(undefined);
    return found;
  }

  function begin(source: string | undefined, request: () => SecretRequest): Promise<Found> | Refused {
    if (source === undefined) return call(find, request());
    if (isolateRequests) return lookUp(source, request());
    // Invented sources must not keep known ones from being looked up.
    if (shared.isFull() && !cache.knows(source) && !shared.has(source)) return TOO_MANY;
    return shared.run(source, () => lookUp(source, request()));
  }

  return {
    keys(source, request) {
      const known = source === undefined ? undefined : cache.find(source);
      if (known !== undefined) return known === "none" ? new Refused("secret-unknown") : known;
      const begun = begin(source, request);
      return begun instanceof Refused
        ? begun
        : withTimeout(timeoutMs, begun, { clock, late: new Refused("secret-lookup-late") });
    },
    assert() {},
  };
}

/** Calls the user's function. Never rejects. */
async function call(find: Find, request: SecretRequest): Promise<Found> {
  try {
    const secrets = (await find(request)) ?? undefined; // a database gives null for a missing row
    if (secrets === undefined || (Array.isArray(secrets) && secrets.length === 0)) return new Refused("secret-unknown");
    return toKeys(secrets);
  } catch (error) {
    catchRejection(error);
    return new Refused("secret-lookup-failed", error);
  }
}

/** Look-ups under way at once: without those past `timeoutMs`, and with them. The limit is for sources that a client may invent. */
const MAX_LOOKUPS = 1_000;
const MAX_LOOKUPS_WITH_LATE = 2_000;

/** A late look-up is counted no longer than this, in case it never ends. */
const COUNT_LATE_MS = 60_000;

/**
 * One look-up of a source at a time: requests that come meanwhile share it. A late one is shared no more, so that one which hangs
 * does not hold up all requests after it.
 */
function createSharedLookups(timeoutMs: number, clock: Clock) {
  const inTime = new Map<string, Promise<Found>>();
  const late = new Set<Promise<Found>>();

  async function watch(source: string, lookup: Promise<Found>): Promise<void> {
    const ended = await withTimeout(
      timeoutMs,
      lookup.then(() => true),
      { clock, late: false },
    );
    inTime.delete(source);
    if (ended) return;
    late.add(lookup);
    const timer = clock.setTimer(() => late.delete(lookup), COUNT_LATE_MS);
    timer.unref?.();
    await lookup;
    timer.clear();
    late.delete(lookup);
  }

  return {
    isFull: (): boolean => inTime.size >= MAX_LOOKUPS || inTime.size + late.size >= MAX_LOOKUPS_WITH_LATE,
    has: (source: string): boolean => inTime.has(source),
    /** @param lookUp never rejects */
    run(source: string, lookUp: () => Promise<Found>): Promise<Found> {
      const joined = inTime.get(source);
      if (joined !== undefined) return joined;
      const lookup = lookUp();
      inTime.set(source, lookup);
      void watch(source, lookup);
      return lookup;
    },
  };
}

const TOO_MANY = new Refused(
  "secret-lookup-failed",
  new HooklineError(
    "secret-lookup-failed",
    `${MAX_LOOKUPS} look-ups of secrets are under way, or ${MAX_LOOKUPS_WITH_LATE} with those that are late; no other is begun.`,
    {
      fix: "Make the look-up faster, let it give up by itself, or let the mount's `source` return undefined for what cannot be one of yours.",
    },
  ),
);
