import type { App } from "./app.ts";
import type { Count } from "./counts.ts";
import { labelOf, type Delivery } from "./deliveries.ts";
import type { Journal } from "./journal.ts";
import type { Printer } from "./printer.ts";
import type { Service } from "./service.ts";

/** All that the parts of the tour play with. */
export interface TourContext {
  readonly app: App;
  readonly service: Service;
  /** What happens in the app. */
  readonly journal: Journal;
  readonly printer: Printer;
  readonly secret: string;
  /** For files; it goes with the tour. */
  readonly folder: string;
  /** What a part counts by itself, for the end. */
  readonly counts: Count[];
}

/** Sends a delivery, waits for what comes of it, and tells both in one row. */
export async function show({ service, journal, printer }: TourContext, delivery: Delivery): Promise<void> {
  const status = await service.deliver(delivery);
  printer.row(labelOf(delivery), status, await journal.next());
}
