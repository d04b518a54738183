import type { EmulatedAccount } from "hookline/emulator";
import type { App } from "./app.ts";
import type { Count } from "./counts.ts";
import type { Journal } from "./journal.ts";
import type { Printer } from "./printer.ts";
import type { Service, Subscription } from "./service.ts";

/** Shared by the parts of the tour. */
export interface TourContext {
  readonly app: App;
  /** Of the app's route. */
  readonly url: string;
  readonly service: Service;
  readonly account: EmulatedAccount;
  /** Events in the app. */
  readonly journal: Journal;
  readonly printer: Printer;
  readonly secret: string;
  /** For files; deleted with the tour. */
  readonly folder: string;
  /** Results that a part counts itself, for the summary. */
  readonly counts: Count[];
  /** The app's subscriptions, by resource; the first part makes them. */
  readonly subscriptions: Map<string, Subscription>;
}

/** What is delivered. */
export type What = Parameters<Subscription["deliver"]>[0];

/** A change of one record, as an entry of a delivery. */
export function change(changeType: "created" | "updated" | "deleted", id: string): readonly object[] {
  return [{ id, changeType }];
}

/** The subscription to a resource. */
export function subscriptionTo({ subscriptions }: TourContext, resource: string): Subscription {
  const found = subscriptions.get(resource);
  if (found === undefined) throw new Error(`The tour has no subscription to ${resource}.`);
  return found;
}

/** Delivers, waits for the outcome, and prints both in one row. */
export async function show(tour: TourContext, resource: string, what: What): Promise<void> {
  const attempt = await subscriptionTo(tour, resource).deliver(what);
  tour.printer.row(labelOf(resource, what), attempt?.status, await tour.journal.next());
}

/** The label of a delivery in a row. */
export function labelOf(resource: string, what: What): readonly [resource: string, detail: string] {
  if ("type" in what) return [resource, what.type.split(".")[1] ?? what.type];
  const [first] = what as readonly {
    readonly changeType?: string;
    readonly id?: string;
    readonly eventType?: string;
    readonly eventId?: string;
  }[];
  if (first === undefined) return [resource, "no payloads"];
  if (first.changeType !== undefined) return [resource, `${first.changeType} ${first.id}`];
  return [resource, first.eventType ?? first.eventId ?? ""];
}
