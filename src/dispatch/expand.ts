import { createHash } from "node:crypto";
import type { NewEvent, NewJob } from "../inbox/port/storing.ts";
import type { SingleEvent } from "../protocol/events.ts";
import { familyOf, isChangeFamily } from "../protocol/event-names.ts";
import { dedupeKeyOf } from "../protocol/dedupe-key.ts";
import type { Handlers } from "./handlers.ts";
import { laneOf, mergeKeyOf } from "./lane-key.ts";

/** A delivery of more events is expanded in parts of this many, a part a commit. */
export const EXPAND_AT_ONCE = 1_000;

/** The events of a delivery with a job for each consumer that handles them; `first` is the place of the first one. */
export function expandEvents(
  events: readonly SingleEvent[],
  handlers: Handlers,
  origin: { readonly source: string | undefined; readonly first: number },
): NewEvent[] {
  return events.map((event, index) => ({
    entry: origin.first + index,
    event,
    unique: uniqueOf(event, origin.source),
    jobs: jobsOf(event, handlers, origin.source),
  }));
}

/** A job for each consumer; where there is none, one that says whether somebody passed it over or nobody knows it. */
export function jobsOf(event: SingleEvent, handlers: Handlers, source: string | undefined): readonly NewJob[] {
  const routes = handlers.routes(event.type);
  if (routes.length === 0) {
    const family = familyOf(event.type);
    return isChangeFamily(family) && !event.type.endsWith(".signal") && handlers.knowsFamily(family)
      ? SKIPPED
      : UNHANDLED;
  }
  return routes.map((route) => ({
    state: "waiting",
    consumer: route.consumer,
    lane: laneOf(event, route),
    mergeKey: mergeKeyOf(event, route, source),
  }));
}

const SKIPPED: readonly NewJob[] = [{ state: "skipped", consumer: undefined, lane: undefined, mergeKey: undefined }];
const UNHANDLED: readonly NewJob[] = [
  { state: "unhandled", consumer: undefined, lane: undefined, mergeKey: undefined },
];

/** Tracking and booking are told once. The subscription is left out of the content: two of them tell of one and the same event. */
function uniqueOf(event: SingleEvent, source: string | undefined): NewEvent["unique"] {
  const key = dedupeKeyOf(event);
  if (key === undefined) return undefined;
  const content = createHash("sha256")
    .update(JSON.stringify({ ...event, subscription: undefined }))
    .digest("base64url")
    .slice(0, 22);
  return { key: source === undefined ? key : `${source} ${key}`, content };
}
