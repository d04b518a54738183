import { assertOptions, hasOwnInbox, oneText, toSeen } from "../../../src/adapter.ts";
import {
  isHooklineError,
  UsageError,
  type Receiver,
  type SeenOptions,
  type StoredDelivery,
} from "../../../src/index.ts";

/** Options of what consumes a queue's messages. `seen` and what belongs to it are for `handle`: an inbox remembers by itself. */
export interface ConsumerOptions extends SeenOptions {
  /**
   * `accept` stores deliveries in the receiver's inbox, which handles them; `handle` runs the handlers while the queue waits.
   * @default "accept" where the receiver has an inbox that works, else "handle"
   */
  by?: "accept" | "handle" | undefined;
}

/** What becomes of a message. */
type Consumed =
  | { readonly to: "acknowledge" }
  /** `dead-letter`: no retry helps. */
  | { readonly to: "retry" | "dead-letter"; readonly error: unknown };

/** Consumes deliveries, whatever they are; one result each, in order. Never rejects. */
export type Consume = (
  deliveries: readonly unknown[],
  options?: {
    readonly signal?: AbortSignal | undefined;
    /** Rejects when nobody waits any longer: what has not ended by then is to be retried. */
    readonly over?: Promise<never> | undefined;
  },
) => Promise<readonly Consumed[]>;

/**
 * @param where the function that takes the options
 * @throws UsageError `option-invalid`, `accept-forwards`, `receiver-invalid`
 */
export function createConsume(where: string, receiver: Receiver, options: ConsumerOptions = {}): Consume {
  assertOptions(where, options, { by: true, seen: true, leaseMs: true, keepMs: true });
  const own = hasOwnInbox(receiver);
  const { by = own ? "accept" : "handle", ...once } = options;
  oneText(["accept", "handle"], { where, name: "by", value: by });
  if (by === "accept" && !own)
    throw new UsageError("accept-forwards", `${where} got by "accept" and a receiver that stores nothing itself.`, {
      fix: "Give its receiver an inbox that stores, such as `sqliteInbox` or `postgresInbox`, or leave `by` out.",
    });

  if (toSeen(once, where) !== undefined && by === "accept")
    throw new UsageError("option-invalid", `${where} got \`seen\` and stores deliveries, which needs none.`, {
      fix: 'Leave `seen` out; or give `by: "handle"`.',
    });

  return async (given, { signal, over } = {}) => {
    const deliveries = given as readonly StoredDelivery[];
    const inTime = <T>(work: Promise<T>): Promise<T> => (over === undefined ? work : Promise.race([work, over]));
    try {
      const results =
        by === "accept"
          ? await inTime(receiver.accept(deliveries))
          : await Promise.allSettled(deliveries.map((one) => inTime(receiver.handle(one, { ...once, signal }))));
      return results.map(toConsumed);
    } catch (error) {
      return deliveries.map(() => ({ to: "retry", error }));
    }
  };
}

function toConsumed(result: PromiseSettledResult<unknown>): Consumed {
  if (result.status === "fulfilled") return { to: "acknowledge" };
  const error: unknown = result.reason;
  const isForGood = isHooklineError(error, "signature-invalid") || isHooklineError(error, "delivery-invalid");
  return { to: isForGood ? "dead-letter" : "retry", error };
}
