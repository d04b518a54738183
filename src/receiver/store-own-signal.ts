import type { Clock } from "../clock.ts";
import { StorageError } from "../errors.ts";
import { Refused } from "../ingest/refusals.ts";
import type { DeliveryStore } from "../ingest/store.ts";
import type { Admitted } from "../ingest/types.ts";
import { parseDocument } from "../protocol/envelope.ts";
import type { Envelope } from "../protocol/event-types.ts";
import { ownSignalBody, type OwnSignal } from "../protocol/own-signal-body.ts";

/** Signals that the receiver makes itself: from the inbox on they have the order, the merging and the retries of any signal. */
export interface OwnSignals {
  /**
   * Resolves when durable, with its delivery.
   * @throws StorageError where it is not certain that it is
   */
  put(
    target: Envelope & { readonly source: string | undefined },
    signal: OwnSignal,
  ): Promise<{ readonly id: string; readonly receivedAt: number }>;
}

export function createOwnSignals(store: DeliveryStore["store"], clock: Pick<Clock, "now">): OwnSignals {
  return {
    async put(target, signal) {
      const body = ownSignalBody(target, signal);
      const now = clock.now();
      const delivery = {
        receivedAt: now,
        sentAt: now,
        source: target.source,
        signedBy: "hookline",
        signature: crypto.randomUUID(),
        headers: {},
        body,
      };
      const document = parseDocument(body);
      // It was not received, so no step of a request has made it.
      const result = await store({ delivery, document: () => document, isOwn: true } as unknown as Admitted);
      if (!(result instanceof Refused)) return { id: result.id, receivedAt: now };
      throw new StorageError(result.code, "A signal of the receiver's own could not be stored.", {
        cause: result.cause,
      });
    },
  };
}
