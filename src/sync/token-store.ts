import { UsageError, type Receiver } from "../index.ts";
import { kindOf } from "../assert.ts";
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
      assertToken(token);
      if (token === undefined) tokens.delete(key);
      else tokens.set(key, token);
    },
  };
}

/**
 * Tokens in the file of the receiver's own inbox. Only the process that works can set them: elsewhere `set` rejects with a StorageError
 * `epoch-stale`.
 *
 * @throws UsageError `tokens-unavailable` where the inbox is not `sqliteInbox`
 * @example deltaSync(receiver, "email", { client, tokens: sqliteTokens(receiver), apply, remove });
 */
export function sqliteTokens(receiver: Receiver): TokenStore {
  return inboxTokens(receiver, { of: "sqliteTokens", inbox: "sqliteInbox", storage: "disk" });
}

/**
 * Tokens in the database of the receiver's own inbox, in its table `key_value`. Any process can set them, and all see them.
 *
 * @throws UsageError `tokens-unavailable` where the inbox is not `postgresInbox`
 * @example deltaSync(receiver, "email", { client, tokens: postgresTokens(receiver), apply, remove });
 */
export function postgresTokens(receiver: Receiver): TokenStore {
  return inboxTokens(receiver, { of: "postgresTokens", inbox: "postgresInbox", storage: "network" });
}

interface InboxTokens {
  /** The function that was called. */
  readonly of: string;
  readonly inbox: string;
  readonly storage: Receiver["storage"];
}

function inboxTokens(receiver: Receiver, { of, inbox, storage }: InboxTokens): TokenStore {
  const { keyValues, opened } = internalsOf(receiver);
  if (keyValues === undefined || receiver.storage !== storage)
    throw new UsageError("tokens-unavailable", `${of} got a receiver whose inbox is not \`${inbox}\`.`, {
      fix: "Take `sqliteTokens` with `sqliteInbox`, `postgresTokens` with `postgresInbox`. Otherwise give `tokens` an object with get and set over the database of your records, as docs/sync.md shows, or `memoryTokens()` in a test.",
    });
  return {
    async get(key) {
      await opened();
      return keyValues.get(PREFIX + key);
    },
    async set(key, token) {
      assertToken(token);
      await opened();
      await keyValues.set(PREFIX + key, token, accountIn(key));
    },
  };
}

/** @throws UsageError `tokens-invalid` */
function assertToken(token: unknown): void {
  if (token === undefined || typeof token === "string") return;
  throw new UsageError("tokens-invalid", `A token store got ${kindOf(token)}, expected a text or undefined.`, {
    fix: "Give `set` the text of the token: await a promise first.",
  });
}

const PREFIX = "sync ";

/** A key of a sync begins with its account. */
function accountIn(key: string): number | undefined {
  const [account = ""] = key.split(" ", 1);
  return /^\d+$/.test(account) ? Number(account) : undefined;
}
