import type { Inbox, StorageKind } from "hookline";
import type { Worker, WorkingInbox } from "../../src/inbox/port/inbox.ts";

/** Where an inbox can be held up: `worked` is after the place was asked for, and `work` before. */
type Verb = "open" | "work" | "worked" | "store" | "close";

/** An inbox that fails or waits where it is told to, and whose worker's place comes and goes on command. */
export interface ControllableInbox<K extends StorageKind> {
  readonly inbox: Inbox<K>;
  /** What waits there goes on. */
  release(verb: Verb): void;
  /** What waits there fails. */
  fail(verb: Verb): void;
  hold(verb: Verb): void;
  /** Another process has the worker's place. */
  takeWorkerLock(): void;
  freeWorkerLock(): void;
}

/** @param own with the writing half alone, or both */
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
    ...("work" in own ? { work } : {}),
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
