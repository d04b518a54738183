import type { Envelope } from "../protocol/event-types.ts";
import { mayHaveTombstones, reasonOfTombstone } from "./find-tombstone.ts";
import { Refused } from "./refusals.ts";
import { toRefused } from "./store.ts";
import type { Admitted, IngestDeps, Verified } from "./types.ts";
import { askGate, Decision } from "./unsubscribe-gate.ts";

/** Rows 11 and 12 of the table of answers: is the receiver open, and is the subscription wanted? Mostly without a promise. */
export function admit(
  verified: Verified,
  deps: IngestDeps,
): Admitted | Refused | Decision | Promise<Admitted | Refused | Decision> {
  if (deps.closing()) return new Refused("closing");
  const opening = deps.opened();
  if (opening === undefined) return whenOpen(verified, deps);
  return opening.then(
    () => whenOpen(verified, deps),
    // An inbox that does not open because of the close has not failed.
    (error: unknown) => (deps.closing() ? new Refused("closing", error) : toRefused(error)),
  );
}

function whenOpen(
  { delivery, document }: Verified,
  deps: IngestDeps,
): Admitted | Decision | Promise<Admitted | Refused | Decision> {
  const { tombstones, gate } = deps;
  const admitted = { delivery, document } as Admitted;
  if (!mayHaveTombstones(tombstones) && gate() === undefined) return admitted;
  const { envelope } = document();
  if (envelope === undefined) return admitted;
  const reason = reasonOfTombstone(envelope, delivery.source, deps);
  return reason === undefined ? ask(envelope, admitted, deps) : new Decision(delivery, reason);
}

async function ask(envelope: Envelope, admitted: Admitted, deps: IngestDeps): Promise<Admitted | Refused | Decision> {
  const decision = await askGate(envelope, admitted.delivery.source, deps);
  if (decision !== undefined) return decision;
  return deps.closing() ? new Refused("closing") : admitted; // it may have closed while the gate decided
}
