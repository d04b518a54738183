import type { Clock } from "../clock.ts";
import type { HandleFirst } from "./after-handlers.ts";
import type { Logger } from "../logger.ts";
import type { ResolvedScheme } from "../protocol/signature-scheme.ts";
import type { UnsubscribeRateLimit } from "./unsubscribe-rate-limit.ts";
import type { Gate } from "./unsubscribe-gate.ts";
import type { InFlightBytes } from "./in-flight-bytes.ts";
import type { DeliveryStore } from "./store.ts";
import type { Reporter } from "./reporter.ts";
import type { SecretLookup } from "./secret-lookup.ts";
import type { Tombstones } from "../inbox/port/subscriptions.ts";

/** What the steps of receiving work with. */
export interface ReceivingParts {
  readonly scheme: ResolvedScheme;
  readonly clock: Clock;
  /** Throttled: what is logged on the way of a request may be in every request. */
  readonly log: Logger;
  /** How old a request may be, seconds. */
  readonly maxAgeSeconds: number;
  readonly maxBodyBytes: number;
  readonly bodyTimeoutMs: number;
  readonly intake: InFlightBytes;
  readonly secrets: SecretLookup;
  /** No new deliveries: `receiver.close` was called. */
  readonly closing: () => boolean;
  /** Resolves when the inbox is open; rejects with why it is not. */
  readonly opened: () => Promise<void>;
  readonly tombstones: Tombstones;
  readonly gate: () => Gate | undefined;
  readonly gateTimeoutMs: number;
  readonly brake: UnsubscribeRateLimit;
  readonly keeper: DeliveryStore;
  readonly handleFirst: HandleFirst;
  /** A delivery is to be handled after its answer. */
  readonly keeping: () => void;
  readonly reporter: Reporter;
}
