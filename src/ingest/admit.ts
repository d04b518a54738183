import { Decision } from "./unsubscribe-decision.ts";
import { askGate } from "./unsubscribe-gate.ts";
import type { ReceivingParts } from "./parts.ts";
import { toRefused } from "./store.ts";
import { Refused, type Admitted, type Verified } from "./steps.ts";

type Parts = Pick<
  ReceivingParts,
  "closing" | "opened" | "tombstones" | "gate" | "gateTimeoutMs" | "brake" | "clock" | "log"
>;

/** Rows 11 and 12 of the table of answers: whether the receiver takes deliveries, and wants this one. */
export async function admit(verified: Verified, parts: Parts): Promise<Admitted | Refused | Decision> {
  if (parts.closing()) return new Refused("closing");
  try {
    await parts.opened();
  } catch (error) {
    return toRefused(error);
  }
  const { delivery, document } = verified;
  if (parts.tombstones.isEmpty && parts.gate() === undefined) return { delivery, document } as Admitted;
  const { envelope } = document();
  if (envelope === undefined) return { delivery, document } as Admitted;
  const tombstone = parts.tombstones.find(envelope.subscription, delivery.source);
  if (tombstone !== undefined) return new Decision(tombstone, tombstone.reason);
  const decided = await askGate(envelope, delivery.source, parts);
  if (decided === undefined && parts.closing()) return new Refused("closing"); // meanwhile: nothing is stored any more
  return decided ?? ({ delivery, document } as Admitted);
}
