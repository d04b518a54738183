import type { Change, ChangeType } from "../../protocol/change.ts";
import { familyOf, isChangeFamily } from "../../protocol/event-names.ts";
import type { AnyEvent, Envelope, SingleEvent } from "../../protocol/event-types.ts";
import { ownSignalOf } from "../../protocol/own-signal-body.ts";
import type { Registration } from "../handlers.ts";

type ChangeEvent = Extract<SingleEvent, { readonly changeType: ChangeType }>;

/**
 * The event of a call, of its jobs' events, oldest first: the newest one with the change that all of them amount to, or for a
 * `.changes` handler all of them as a list.
 */
export function mergeEvents(
  events: readonly [SingleEvent, ...SingleEvent[]],
  { batches }: Pick<Registration, "batches">,
): AnyEvent {
  const newest = events.at(-1) ?? events[0];
  if (batches) return toBatch(events, newest);
  if (events.length === 1 || !isChange(newest)) return newest;
  const changeType = mergedChange(events.filter(isChange));
  return Object.freeze({ ...newest, changeType, type: `${familyOf(newest.type)}.${changeType}` } as AnyEvent);
}

/** `deleted` if the last one is, else `created` if any is, else `updated`. */
function mergedChange(changes: readonly ChangeEvent[]): ChangeType {
  if (changes.at(-1)?.changeType === "deleted") return "deleted";
  return changes.some((change) => change.changeType === "created") ? "created" : "updated";
}

function toBatch(events: readonly SingleEvent[], newest: SingleEvent): AnyEvent {
  const { subscription, accountId, resource } = newest as Envelope;
  const idName = PATH_IDS.get(familyOf(newest.type));
  const changes: readonly Change[] = Object.freeze(events.filter(isChange).map((event) => toChange(event, idName)));
  return Object.freeze({
    subscription,
    accountId,
    resource,
    ...(idName !== undefined && { [idName]: (newest as object as Readonly<Record<string, unknown>>)[idName] }),
    type: `${familyOf(newest.type)}.changes`,
    changes,
    signalled: changes.length < events.length,
    ...(events.some((event) => ownSignalOf(event)?.cause === "gap") && { cause: "gap" }),
  } as unknown as AnyEvent);
}

/** The id in the path of a family's resource. */
const PATH_IDS: ReadonlyMap<string, string> = new Map([
  ["calendarEvent", "calendarId"],
  ["task", "taskListId"],
]);

/** The entry of the wire: without the fields that the batch has once for all. */
function toChange(event: ChangeEvent, idName: string | undefined): Change {
  const change: Record<string, unknown> = {};
  // Deleting fields from a copy would leave an object that is slow to freeze and to read.
  for (const name in event)
    if (!BATCH_FIELDS.has(name) && name !== idName) change[name] = event[name as keyof ChangeEvent];
  return Object.freeze(change) as unknown as Change;
}

const BATCH_FIELDS = new Set(["type", "subscription", "accountId", "resource"]);

/** By the type alone: an entry may have any other field of the wire, such as a tracking with a `changeType`. */
export function isChange(event: SingleEvent): event is ChangeEvent {
  return isChangeFamily(familyOf(event.type)) && !event.type.endsWith(".signal");
}
