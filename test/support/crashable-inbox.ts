import type { Inbox, StorageKind } from "hookline";
import { crashMemoryInbox } from "./crash-memory-inbox.ts";

/** An inbox as seen by a process that may crash. */
export interface CrashableInbox<K extends StorageKind> {
  /** For one process alone. */
  readonly inbox: Inbox<K>;
  /** Crashes the process: none of its calls resolves any more, and the next process may open the inbox. */
  crash(): void;
}

/** @param store the inbox that survives the process */
export function crashableInbox<K extends StorageKind>(store: Inbox<K>): CrashableInbox<K> {
  let dead = false;

  async function whileAlive(result: Promise<unknown>): Promise<unknown> {
    try {
      const settled = await result;
      if (!dead) return settled;
    } catch (error) {
      if (!dead) throw error;
    }
    return new Promise(() => {});
  }

  function crashablePart<T extends object>(part: T): T {
    return new Proxy(part, {
      get(target, name) {
        const value: unknown = Reflect.get(target, name);
        if (typeof value === "object" && value !== null && (name === "jobs" || name === "tombstones"))
          return crashablePart(value);
        if (typeof value !== "function") return value;
        return (...given: unknown[]): unknown => {
          if (dead && !SYNCHRONOUS.has(name)) return new Promise(() => {});
          const result: unknown = Reflect.apply(value, target, given);
          return result instanceof Promise ? whileAlive(result) : result;
        };
      },
    });
  }

  return {
    inbox: crashablePart(store),
    crash() {
      dead = true;
      if (store.storage === "memory") crashMemoryInbox(store);
    },
  };
}

const SYNCHRONOUS: ReadonlySet<string | symbol> = new Set(["ready", "stats", "find"]);
