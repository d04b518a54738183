import { UsageError, type Receiver } from "../index.ts";
import { internalsOf } from "../receiver/internals.ts";

/** Where delta syncs store how far they are. Its texts are opaque, and up to a few KiB long. */
export interface TokenStore {
  /** Undefined where there is none. @param key names account, resource and chain (`updated` or `deleted`), and the consumer if it has a name */
  get(key: string): Promise<string | undefined>;
  /** Durable when it resolves. Undefined removes it. */
  set(key: string, token: string | undefined): Promise<void>;
}

/** Tokens in memory, for tests and for a copy that is in memory as well: after a restart everything is listed again. */
export function memoryTokens(): TokenStore {
  const tokens = new Map<string, string>();
  return {
    get: async (key) => tokens.get(key),
    async set(key, token) {
      if (token === undefined) tokens.delete(key);
      else tokens.set(key, token);
    },
  };
}

/**
 * Tokens in the file of the receiver's own inbox. Only the process that works can set them.
 *
 * @throws UsageError `tokens-unavailable` where the inbox is not `sqliteInbox`
 * @example deltaSync(receiver, "email", { client, tokens: sqliteTokens(receiver), apply, remove });
 */
export function sqliteTokens(receiver: Receiver): TokenStore {
  const { keyValues, opened } = internalsOf(receiver);
  if (keyValues === undefined)
    throw new UsageError("tokens-unavailable", "sqliteTokens got a receiver whose inbox is not `sqliteInbox`.", {
      fix: "Give `tokens` an object with get and set over the database of your records (docs/sync.md shows PostgreSQL), or `memoryTokens()` in a test.",
    });
  return {
    async get(key) {
      await opened();
      return keyValues.get(PREFIX + key);
    },
    async set(key, token) {
      await opened();
      await keyValues.set(PREFIX + key, token, accountIn(key));
    },
  };
}

const PREFIX = "sync ";

/** A key of a sync begins with its account. */
function accountIn(key: string): number | undefined {
  const [account = ""] = key.split(" ", 1);
  return /^\d+$/.test(account) ? Number(account) : undefined;
}
