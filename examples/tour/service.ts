import { createEmulator, type Attempt, type EmulatedAccount } from "hookline/emulator";

/** The service, played by the emulator: what it sends goes over a real socket, and is sent again until it is answered 200. */
export interface Service {
  /** Opens a mailbox. */
  account(): Promise<EmulatedAccount>;
  /** Subscribes a URL, which has to return a token first. */
  subscribe(account: EmulatedAccount, resource: string, url: string): Promise<Subscription>;
  /** All attempts to deliver so far. */
  readonly attempts: readonly Attempt[];
  readonly handshakes: number;
  /** Subscriptions that a 422 has deleted. */
  readonly deleted: number;
  close(): Promise<void>;
}

/** One resource of an account, delivered to one URL. */
export interface Subscription {
  readonly id: number;
  readonly resource: string;
  /** Delivers entries, or another body of an event. Resolves with the answer to the first attempt; undefined if the subscription is deleted. */
  deliver(what: Parameters<Awaited<ReturnType<typeof createEmulator>>["emit"]>[1]): Promise<Attempt | undefined>;
  /** The answer to the next attempt: a redelivery. */
  redelivery(): Promise<Attempt>;
  /** Something goes wrong with the next delivery: its answer is lost, or it is signed with another secret. */
  spoilNext(fault: "lose-answer" | "wrong-signature"): void;
}

export async function createService(secret: string): Promise<Service> {
  const attempts: Attempt[] = [];
  const listeners = new Set<(attempt: Attempt) => void>();
  const emulator = await createEmulator({
    secret,
    onAttempt(attempt) {
      attempts.push(attempt);
      for (const listener of listeners) listener(attempt);
    },
  });
  let handshakes = 0;

  /** Of one subscription. */
  function nextAttempt(id: number): Promise<Attempt> {
    return new Promise((resolve) => {
      const listener = (attempt: Attempt): void => {
        if (attempt.subscription !== id) return;
        listeners.delete(listener);
        resolve(attempt);
      };
      listeners.add(listener);
    });
  }

  return {
    attempts,
    get handshakes() {
      return handshakes;
    },
    get deleted() {
      return handshakes - emulator.subscriptions.length;
    },
    account: () => emulator.account(),
    close: () => emulator.close(),
    async subscribe(account, resource, url) {
      const id = await emulator.subscribe(account, resource, url);
      handshakes += 1;
      return {
        id,
        resource,
        async deliver(what) {
          if (!emulator.subscriptions.some((subscription) => subscription.id === id)) return undefined;
          const answer = nextAttempt(id);
          await emulator.emit(id, what);
          return answer;
        },
        redelivery: () => nextAttempt(id),
        spoilNext: (fault) => emulator.fault(id, [fault]),
      };
    },
  };
}
