import { memoryInbox } from "hookline";
import { mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { openThread } from "../../adapters/inbox/sqlite/thread/thread-client.ts";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { openInline } from "../adapters/inbox/inline-thread.ts";
import { crashSqliteInbox, mortalSqliteInbox } from "../adapters/inbox/mortal-sqlite-inbox.ts";
import { crashMemoryInbox } from "../support/crash-memory-inbox.ts";
import { fastTmpdir } from "../support/fast-tmpdir.ts";
import type { InTurn } from "./in-turn.ts";
import { onServer } from "./on-server.ts";
import { watched } from "./pending-calls.ts";

/** In memory; in a file, on the thread of the simulation or on one of its own; on a real server. */
export const STORES = ["memory", "sqlite", "sqlite-thread", "postgres"] as const;
export type StoreName = (typeof STORES)[number];

/** What outlives the processes of a world. */
export interface Store {
  /** What the process that is there has of it. */
  readonly inbox: WorkingInbox;
  /** Verbs under way that wait for a file or a server. */
  readonly pending: number;
  /** What was begun is told before a process can die: on a thread of its own nobody knows how it ended. */
  readonly isApart: boolean;
  /** Its answers come on several connections, in any order. */
  readonly inTurn?: InTurn;
  /** The process is gone, or left its place: another begins. */
  renew(): void;
  /** As `renew`, without a word to anybody. */
  crash(): void | Promise<void>;
  /** Its own timers run once: it looks at what others did, and counts anew. Undefined where it has none. */
  readonly look?: () => Promise<void>;
  /** Clears away. */
  end(): void | Promise<void>;
}

export async function openStore(name: StoreName): Promise<Store> {
  if (name === "postgres") return onServer();
  return name === "memory" ? inMemory() : inFile(name === "sqlite-thread");
}

function inMemory(): Store {
  const inbox = memoryInbox() as WorkingInbox<"memory">;
  return {
    inbox,
    pending: 0,
    isApart: false,
    renew() {},
    crash: () => crashMemoryInbox(inbox),
    end() {},
  };
}

function inFile(isApart: boolean): Store {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
  const file = join(folder, "inbox.db");
  // No world loses a job by its age: that would be another story.
  const openOwn = isApart ? openThread : openInline;
  // Nor does the system say how much room there is: its answer takes as many turns of the loop as it likes.
  const make = () => mortalSqliteInbox({ file, openThread: openOwn, freeBytesIn: async () => Infinity });
  let bare = make();
  let own = watched(bare);

  function renew(): void {
    bare = make();
    own = watched(bare);
  }

  return {
    get inbox() {
      return own.inbox;
    },
    get pending() {
      return own.pending();
    },
    isApart,
    renew,
    crash() {
      void crashSqliteInbox(bare);
      renew();
    },
    end() {
      void crashSqliteInbox(bare);
      rmSync(folder, { recursive: true });
    },
  };
}
