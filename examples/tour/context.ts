import type { App } from "./app.ts";
import type { Count } from "./counts.ts";
import { labelOf, type Delivery } from "./deliveries.ts";
import type { Journal } from "./journal.ts";
import type { Printer } from "./printer.ts";
import type { Service } from "./service.ts";

/** Shared by the parts of the tour. */
export interface TourContext {
  readonly app: App;
  readonly service: Service;
  /** Events in the app. */
  readonly journal: Journal;
  readonly printer: Printer;
  readonly secret: string;
  /** For files; deleted with the tour. */
  readonly folder: string;
  /** Results that a part counts itself, for the summary. */
  readonly counts: Count[];
}

/** Sends a delivery, waits for its outcome, and prints both in one row. */
export async function show({ service, journal, printer }: TourContext, delivery: Delivery): Promise<void> {
  const status = await service.deliver(delivery);
  printer.row(labelOf(delivery), status, await journal.next());
}
