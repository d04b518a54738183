import type { Inbox, StorageKind } from "hookline";
import type { Worker, WorkingInbox } from "../../src/inbox/port/inbox.ts";

/** Calls that can be held: `work` before the worker lock is requested, `worked` after it. */
type Verb = "open" | "work" | "worked" | "store" | "close";

/** An inbox whose calls fail or wait on command, and whose worker lock another process takes and frees on command. */
export interface ControllableInbox<K extends StorageKind> {
  readonly inbox: Inbox<K>;
  /** A held call continues, and later ones pass. */
  release(verb: Verb): void;
  /** A held call fails, and so do later ones. */
  fail(verb: Verb): void;
  hold(verb: Verb): void;
  /** Another process takes the worker lock. */
  takeWorkerLock(): void;
  freeWorkerLock(): void;
}

/** @param own an inbox with the writing half, or both */
export function controllableInbox<K extends StorageKind>(own: Inbox<K>): ControllableInbox<K> {
  const verbs = own as WorkingInbox<K>;
  const commands = new Map<Verb, "fail" | "hold">();
  const waiting = new Map<Verb, (error?: Error) => void>();
  let worker: Worker | undefined;
  let hasBegun = false;
  let isTaken = false;

  const refusal = (verb: Verb): Error => new Error(`no ${verb}`);

  async function pass(verb: Verb): Promise<void> {
    if (commands.get(verb) === "fail") throw refusal(verb);
    if (commands.get(verb) !== "hold") return;
    await new Promise<void>((resolve, reject) => {
      waiting.set(verb, (error) => (error === undefined ? resolve() : reject(error)));
    });
  }

  function goOn(verb: Verb, error?: Error): void {
    waiting.get(verb)?.(error);
    waiting.delete(verb);
  }

  async function work(given: Worker): Promise<void> {
    await pass("work");
    worker = given;
    await verbs.work({
      ...given,
      begin() {
        hasBegun = true;
        if (!isTaken) given.begin();
      },
    });
    await pass("worked");
  }

  const inbox: WorkingInbox<K> = {
    ...verbs,
    async open(host) {
      await pass("open");
      await verbs.open(host);
    },
    async store(deliveries) {
      await pass("store");
      return verbs.store(deliveries);
    },
    async close() {
      await pass("close");
      await verbs.close();
    },
    ...("work" in own ? { work, leave: async () => {} } : {}),
  };
  return {
    inbox,
    release(verb) {
      commands.delete(verb);
      goOn(verb);
    },
    fail(verb) {
      commands.set(verb, "fail");
      goOn(verb, refusal(verb));
    },
    hold: (verb) => void commands.set(verb, "hold"),
    takeWorkerLock() {
      isTaken = true;
      if (hasBegun) worker?.end();
    },
    freeWorkerLock() {
      isTaken = false;
      if (hasBegun) worker?.begin();
    },
  };
}
