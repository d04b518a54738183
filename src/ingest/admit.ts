import { Refused } from "./responses.ts";
import { toRefused } from "./store.ts";
import type { Admitted, IngestDeps, Verified } from "./types.ts";
import { askGate, Decision } from "./unsubscribe-gate.ts";

/** Rows 11 and 12 of the table of answers: is the receiver open, and is the subscription wanted? */
export async function admit(verified: Verified, deps: IngestDeps): Promise<Admitted | Refused | Decision> {
  const { closing, opened, tombstones, gate } = deps;
  if (closing()) return new Refused("closing");
  try {
    await opened();
  } catch (error) {
    return toRefused(error);
  }
  const { delivery, document } = verified;
  const admitted = { delivery, document } as Admitted;
  if (tombstones.isEmpty && gate() === undefined) return admitted;
  const { envelope } = document();
  if (envelope === undefined) return admitted;
  const tombstone = tombstones.find(envelope.subscription, delivery.source);
  if (tombstone !== undefined) return new Decision(tombstone, tombstone.reason);
  const decision = await askGate(envelope, delivery.source, deps);
  if (decision !== undefined) return decision;
  return closing() ? new Refused("closing") : admitted; // it may have closed while the gate decided
}
