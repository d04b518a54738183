import type { AnyEvent } from "./event-types.ts";

/**
 * The key that a duplicate shares with its first copy: the id of a tracking event, the page and the calendar event of a booking,
 * both per account. `undefined` for all other events, because two equal changes may be two edits.
 *
 * @see protocol 6.2
 */
export function dedupeKeyOf(event: AnyEvent): string | undefined {
  switch (event.type) {
    case "tracking.open":
    case "tracking.click":
    case "tracking.reply":
    case "tracking.replyBounce":
    case "tracking.initial":
      return `tracking:${event.accountId}:${event.id}`;
    case "booking":
      return `booking:${event.accountId}:${event.bookingId}:${escaped(event.eventId)}`;
    default:
      return undefined;
  }
}

/** Escapes the separator in a part; half a surrogate pair too, because as UTF-8 all halves become the same character. */
function escaped(text: string): string {
  return text.replaceAll(/[%:\p{Surrogate}]/gu, (character) => `%${character.charCodeAt(0).toString(16)}`);
}
