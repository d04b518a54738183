import type { Envelope, SingleEvent } from "../protocol/event-types.ts";
import type { Registration } from "./handlers.ts";
import { isChange } from "./calls/merged-event.ts";
import { recordOf, textOf } from "./lane-key.ts";

/**
 * Jobs with the same merge key merge: changes of one record for one handler, or with `.changes` all of one resource and account. The
 * source is part of it, because a merged call has one source.
 */
export function mergeKeyOf(
  event: SingleEvent,
  { key, merge, batches }: Pick<Registration, "key" | "merge" | "batches">,
  source: string | undefined,
): string | undefined {
  if (!merge || !(isChange(event) || (batches && event.type.endsWith(".signal")))) return undefined;
  const { accountId, resource } = event as Envelope;
  return batches
    ? textOf(key, source ?? "", accountId, resource)
    : textOf(key, source ?? "", accountId, resource, ...recordOf(event));
}
