import { randomUUID } from "node:crypto";
import { UsageError, type SeenStore } from "../../src/index.ts";

/** A client of `ioredis`. */
export interface IoRedisLike {
  /** The words of a command. */
  call(command: string, ...args: string[]): Promise<unknown>;
}

/** A client of `redis` (node-redis). */
export interface NodeRedisLike {
  /** The words of a command, as a list. */
  sendCommand(args: string[]): Promise<unknown>;
}

/** What is no claim's token. */
const DONE = "done";

/** Deletes a claim that is still the caller's. */
const GIVE_BACK = `if redis.call("GET", KEYS[1]) == ARGV[1] then return redis.call("DEL", KEYS[1]) end return 0`;

/**
 * Remembers handled events in Redis, or a server that speaks its language: a key for each, which expires by the server's clock. After a loss
 * of the server's memory an event may be handled again.
 *
 * @param client is connected, or connects by itself
 * @throws UsageError `option-invalid` for anything that is no client
 * @example lambdaReceiver(receiver, { answer: "after-handlers", timeoutMs: 20_000, seen: redisSeen(new Redis(url)) });
 */
export function redisSeen(client: IoRedisLike | NodeRedisLike): SeenStore {
  const send = toSend(client);
  /** Of the claims of this process. */
  const tokens = new Map<string, string>();
  /** Whose failure comes of two claims, where the lease of the first one ended, nobody can tell: neither is given back. */
  const note = (key: string, token: string): unknown => tokens.set(key, tokens.has(key) ? randomUUID() : token);
  return {
    async claim(key, leaseMs) {
      const token = randomUUID();
      if ((await send("SET", nameOf(key), token, "NX", "PX", String(leaseMs))) !== null) {
        note(key, token);
        return "mine";
      }
      const holder = String(await send("GET", nameOf(key)));
      if (holder === DONE) return "done";
      if (holder !== token) return "busy";
      // The client repeated the command, because it got no answer to the first one.
      note(key, token);
      return "mine";
    },
    async settle(key, how, keepMs) {
      const token = tokens.get(key);
      tokens.delete(key);
      if (how === "done") await send("SET", nameOf(key), DONE, "PX", String(keepMs));
      else if (token !== undefined) await send("EVAL", GIVE_BACK, "1", nameOf(key), token);
    },
  };
}

function nameOf(key: string): string {
  return `hookline:seen:${key}`;
}

function toSend(client: IoRedisLike | NodeRedisLike): (command: string, ...args: string[]) => Promise<unknown> {
  const given = client as Partial<Record<"call" | "sendCommand", unknown>> | null | undefined;
  // Of ioredis too, where it takes something else.
  if (typeof given?.call === "function" && "call" in client) return (command, ...args) => client.call(command, ...args);
  if (typeof given?.sendCommand === "function" && "sendCommand" in client) return (...args) => client.sendCommand(args);
  throw new UsageError("option-invalid", "redisSeen got no client of Redis.", {
    fix: "Give it `new Redis(url)` of ioredis, or `createClient({ url })` of redis.",
  });
}
