import type { Clock } from "../clock.ts";
import { HooklineError, isHooklineError, UsageError } from "../errors.ts";
import { catchRejection } from "../thrown.ts";
import { toKeys, type Secret, type Key } from "../protocol/secrets.ts";
import { withTimeout } from "../timeout.ts";
import { createSecretCache } from "./secret-cache.ts";
import { createSingleFlight } from "./single-flight.ts";
import { Refused } from "./steps.ts";

/** What a look-up of secrets is told of a request. */
export interface SecretRequest {
  readonly path: string;
  /** As the mount set it. */
  readonly source?: string;
  readonly query: URLSearchParams;
  /** A header by its name, in any case. */
  header(name: string): string | undefined;
  /** What the platform gives beside the request. */
  readonly platform?: unknown;
}

/**
 * One signing secret, several while they are being changed, or a look-up for several applications on one server. What a look-up
 * finds is stored for 60 s per `source` of the mount, that it finds nothing for 2 s, and requests of one source share it while it is
 * under way; on a mount without a source it is asked for every request.
 */
export type SecretSource =
  | Secret
  | readonly Secret[]
  | ((
      request: SecretRequest,
    ) => Secret | readonly Secret[] | undefined | Promise<Secret | readonly Secret[] | undefined>);

/** Finds the keys that a request may be signed with. */
export interface SecretLookup {
  /** At once where it can. */
  keys(
    source: string | undefined,
    request: () => SecretRequest,
  ): readonly Key[] | Refused | Promise<readonly Key[] | Refused>;
  /** @throws UsageError `secret-missing` when there is none, or an empty one */
  assert(): void;
}

/** Look-ups for sources that may be made up, at once: those that are in time, and all of them. */
const MOST_LOOKUPS = 1_000;
const MOST_WITH_LATE = 2_000;

interface LookupParts {
  readonly clock: Clock;
  readonly timeoutMs: number;
  /** A request may not wait for what another one began. */
  readonly apart: boolean;
}

export function createSecretLookup(secret: SecretSource | undefined, parts: LookupParts): SecretLookup {
  return typeof secret === "function" ? lookedUp(secret, parts) : given(secret);
}

/** A secret that is there, or is not: found out at the first use, because importing a program must not need it. */
function given(secret: Secret | readonly Secret[] | undefined): SecretLookup {
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
        throw asUsage(cause);
      }
    },
  };
}

/** The same, as what it is for who starts a receiver. */
function asUsage(cause: unknown): unknown {
  if (!isHooklineError(cause)) return cause;
  const { fix } = cause;
  // The message of an error has its fix at the end.
  const what = fix === undefined ? cause.message : cause.message.slice(0, -fix.length).trimEnd();
  return new UsageError("secret-missing", `createReceiver has no signing secret. ${what}`, { cause, fix });
}

type Find = Extract<SecretSource, (request: SecretRequest) => unknown>;
type Found = readonly Key[] | Refused;

function lookedUp(find: Find, { clock, timeoutMs, apart }: LookupParts): SecretLookup {
  const cache = createSecretCache(clock);
  const flights = createSingleFlight<Found>(timeoutMs, clock);

  /** A late one still fills the cache: the redelivery finds it there. */
  async function lookUp(source: string, request: SecretRequest): Promise<Found> {
    const tell = cache.begin(source);
    const found = await ask(find, request);
    if (!(found instanceof Refused)) tell(found);
    else if (found.code === "secret-unknown") tell(undefined);
    return found;
  }

  function begin(source: string | undefined, request: () => SecretRequest): Promise<Found> | Refused {
    if (source === undefined) return ask(find, request());
    if (apart) return lookUp(source, request());
    // No known source is turned away for those that a stranger makes up.
    const isFull = flights.size >= MOST_LOOKUPS || flights.size + flights.late >= MOST_WITH_LATE;
    if (isFull && !cache.knows(source) && !flights.has(source)) return TOO_MANY;
    return flights.run(source, () => lookUp(source, request()));
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

async function ask(find: Find, request: SecretRequest): Promise<Found> {
  try {
    const secrets = (await find(request)) ?? undefined; // a database says null for what it has not
    if (secrets === undefined || (Array.isArray(secrets) && secrets.length === 0)) return new Refused("secret-unknown");
    return toKeys(secrets);
  } catch (error) {
    catchRejection(error);
    return new Refused("secret-lookup-failed", error);
  }
}

const TOO_MANY = new Refused(
  "secret-lookup-failed",
  new HooklineError(
    "secret-lookup-failed",
    `${MOST_LOOKUPS} look-ups of secrets are under way, or ${MOST_WITH_LATE} with those that are late; no other is begun.`,
    {
      fix: "Make the look-up faster, let it give up by itself, or let the mount's `source` return undefined for what cannot be one of yours.",
    },
  ),
);
