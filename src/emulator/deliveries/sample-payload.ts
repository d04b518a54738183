import type { Clock } from "../../clock.ts";
import { resourceOf } from "../../protocol/resources.ts";

/** A made-up entry of a delivery of this resource, each time about another record. @see protocol 6.2 */
export function samplePayload(
  resource: string,
  { clock, requestId }: { readonly clock: Clock; readonly requestId: () => string },
): object {
  const found = resourceOf(resource);
  const uuid = requestId();
  const number = Number.parseInt(uuid.slice(0, 8), 16);
  if (found?.resource.family === "tracking")
    return {
      id: number,
      createdAt: new Date(clock.now()).toISOString(),
      eventType: "open",
      trackingId: 88,
      context: "deal-9",
      trackingCode: uuid,
      location: "Utrecht, NL",
      userAgent: "Mozilla/5.0",
      remoteAddr: "192.0.2.1",
    };
  if (found?.resource.family === "booking")
    return { bookingId: found.ids.bookingId ?? 1, calendarId: "primary", eventId: `e-${uuid.slice(0, 8)}` };
  return { id: `r-${uuid.slice(0, 8)}`, changeType: "updated" };
}
