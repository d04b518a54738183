import type { Clock } from "../../clock.ts";
import { StorageError } from "../../errors.ts";
import type { SubscribedResource } from "../../inbox/port/gaps.ts";
import { Refused } from "../../ingest/responses.ts";
import type { DeliveryStore } from "../../ingest/store.ts";
import type { Admitted } from "../../ingest/types.ts";
import { parseDocument } from "../../protocol/envelope.ts";
import { gapSignalBody } from "../../protocol/gap-signal.ts";

/**
 * Stores a delivery of the receiver's own: from there on it is a signal like one of the service, with the order, the merging and the retries
 * of the resource's lane. Resolves when durable.
 */
export function createGapSignals({
  store,
  clock,
}: {
  readonly store: DeliveryStore["store"];
  readonly clock: Pick<Clock, "now">;
}) {
  return async (resource: SubscribedResource): Promise<void> => {
    const body = gapSignalBody(resource);
    const now = clock.now();
    const delivery = {
      receivedAt: now,
      sentAt: now,
      source: resource.source,
      signedBy: "hookline",
      signature: crypto.randomUUID(),
      headers: {},
      body,
    };
    const document = parseDocument(body);
    // It was not received, so no step of a request has made it.
    const result = await store({ delivery, document: () => document, isOwn: true } as unknown as Admitted);
    if (result instanceof Refused)
      throw new StorageError(result.code, "A signal could not be stored.", { cause: result.cause });
  };
}
