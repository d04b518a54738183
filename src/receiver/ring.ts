import type { Clock } from "../clock.ts";
import { isHooklineError, UsageError } from "../errors.ts";
import { toKeys, type Secret } from "../protocol/keys.ts";
import { SECRET_FIX, type Key } from "../protocol/signature.ts";
import { within } from "../within.ts";
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
 * finds is kept for 60 s per `source` of the mount; on a mount without one it is asked for every request.
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

const CACHED_MS = 60_000;
/** A source may come from the URL, so that a stranger can make up as many as he likes. */
const MOST_CACHED = 1_000;

export function createSecretLookup(
  secret: SecretSource | undefined,
  { clock, deadlineMs }: { readonly clock: Clock; readonly deadlineMs: number },
): SecretLookup {
  return typeof secret === "function" ? lookedUp(secret, { clock, deadlineMs }) : given(secret);
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
        throw new UsageError("secret-missing", "createReceiver has no signing secret.", { cause, fix: SECRET_FIX });
      }
    },
  };
}

function lookedUp(
  find: Extract<SecretSource, (request: SecretRequest) => unknown>,
  { clock, deadlineMs }: { readonly clock: Clock; readonly deadlineMs: number },
): SecretLookup {
  const cache = new Map<string, { readonly keys: readonly Key[]; readonly foundAt: number }>();

  function ask(source: string | undefined, request: SecretRequest): Promise<readonly Key[] | Refused> {
    return within(deadlineMs, found(source, request), { clock, late: new Refused("secret-lookup-late") });
  }

  /** A late one still fills the cache: the redelivery finds it there. */
  async function found(source: string | undefined, request: SecretRequest): Promise<readonly Key[] | Refused> {
    try {
      const secrets = (await find(request)) ?? undefined; // a database says null for what it has not
      if (secrets === undefined || (Array.isArray(secrets) && secrets.length === 0))
        return new Refused("secret-unknown");
      const keys = toKeys(secrets);
      if (source !== undefined) remember(source, keys);
      return keys;
    } catch (error) {
      return new Refused(isHooklineError(error, "secret-missing") ? "secret-missing" : "secret-lookup-failed", error);
    }
  }

  function remember(source: string, keys: readonly Key[]): void {
    cache.delete(source);
    const [oldest] = cache.keys();
    if (cache.size >= MOST_CACHED && oldest !== undefined) cache.delete(oldest);
    cache.set(source, { keys, foundAt: clock.now() });
  }

  return {
    keys(source, request) {
      const cached = source === undefined ? undefined : cache.get(source);
      const age = cached === undefined ? CACHED_MS : clock.now() - cached.foundAt;
      if (cached !== undefined && age >= 0 && age < CACHED_MS) return cached.keys;
      return ask(source, request());
    },
    assert() {},
  };
}
