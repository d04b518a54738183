import { kindOf } from "../assert.ts";
import { NO_SOURCE, type Tombstones } from "../inbox/port/tombstones.ts";
import type { Envelope } from "../protocol/event-types.ts";
import { catchRejection } from "../thrown.ts";
import type { IngestDeps } from "./types.ts";

/** Where an inbox of somebody else's cannot say whether it has any, it is asked for the one. */
export function mayHaveTombstones(tombstones: Pick<Tombstones, "isEmpty">): boolean {
  try {
    return !tombstones.isEmpty;
  } catch (error) {
    catchRejection(error);
    return true;
  }
}

/**
 * The reason of the tombstone that stands for a delivery. Undefined where there is none, and where what the inbox gives is none of this
 * subscription and source: an inbox of anyone's making must not delete a subscription by accident.
 */
export function reasonOfTombstone(
  { subscription }: Envelope,
  given: string | undefined,
  { tombstones, log }: Pick<IngestDeps, "tombstones" | "log">,
): string | undefined {
  const source = given ?? NO_SOURCE;
  let got: unknown;
  try {
    got = tombstones.find(subscription, source);
    if (got === undefined) return undefined;
    const reason = reasonIn(got, subscription, source);
    if (reason !== undefined) return reason;
  } catch (err) {
    catchRejection(err);
    log.error(
      { code: "tombstone-failed", subscription, source, err, fix: FIX },
      "the inbox cannot look up a tombstone: the delivery is stored",
    );
    return undefined;
  }
  catchRejection(got);
  log.error(
    { code: "tombstone-answer", subscription, source, got: kindOf(got), fix: FIX },
    "the inbox's answer is no tombstone of this subscription and source: the delivery is stored",
  );
  return undefined;
}

const FIX =
  "Let `tombstones.find(subscription, source)` of the inbox return the tombstone of that subscription and source, or of every source, or undefined; at once, not `async`.";

function reasonIn(got: unknown, subscription: number, source: string): string | undefined {
  if (typeof got !== "object" || got === null) return undefined;
  const one = got as { readonly subscription?: unknown; readonly source?: unknown; readonly reason?: unknown };
  const { reason } = one;
  const isOfBoth = one.subscription === subscription && (one.source === undefined || one.source === source);
  return isOfBoth && typeof reason === "string" ? reason : undefined;
}
