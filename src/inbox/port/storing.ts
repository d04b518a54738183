import type { SingleEvent } from "../../protocol/events.ts";
import type { Delivery } from "./delivery.ts";

/** A delivery to keep, with its events if this process works. */
export interface NewDelivery {
  readonly delivery: Delivery;
  /** Undefined: keep it unexpanded. */
  readonly events: readonly NewEvent[] | undefined;
}

/** One event of a delivery with a job for each of its consumers. */
export interface NewEvent {
  /** Its place in the delivery, from 0. */
  readonly entry: number;
  /** May be held for the run to come; an inbox that does not hold it gives the delivery at the claim. */
  readonly event: SingleEvent;
  /** An event with this key that was seen within the window makes no job, unless its content differs. */
  readonly unique: { readonly key: string; readonly content: string } | undefined;
  readonly jobs: readonly NewJob[];
}

/** A job to make: for one consumer, or for none. */
export interface NewJob {
  /** `skipped` and `unhandled` have no consumer and hold no lane. */
  readonly state: "waiting" | "skipped" | "unhandled";
  readonly consumer: string | undefined;
  /** Undefined: nothing keeps it waiting but itself. */
  readonly lane: string | undefined;
  /** Undefined: never merged. */
  readonly mergeKey: string | undefined;
}

export interface StoreResult extends Expanded {
  readonly id: string;
  /** False: it waits for `expand`. */
  readonly expanded: boolean;
}

/** What became of the events, by their index in the array that was given. */
export interface Expanded {
  /** Seen before with the same content: no job was made. */
  readonly duplicates: readonly number[];
  /** Seen before with other content: jobs were made. */
  readonly conflicts: readonly number[];
}

/** A delivery that waits to be expanded, wholly or from an entry on. */
export interface Unexpanded {
  readonly id: string;
  readonly delivery: Delivery;
  /** The entry to go on with. */
  readonly cursor: number;
}

/** The next events of a delivery that was stored before. */
export interface Expansion {
  readonly id: string;
  readonly events: readonly NewEvent[];
  /** Where to go on next time; undefined when the delivery is wholly expanded. */
  readonly cursor: number | undefined;
}
