import { describeThrown } from "../thrown.ts";

/**
 * What to do about a handler that wrote to its event; undefined for any other failure. An engine does not say what was written to, so
 * that a frozen object of the handler's own gets this fix too.
 */
export function fixOfFrozenWrite(thrown: unknown): string | undefined {
  const { name, message } = describeThrown(thrown);
  return name === "TypeError" && WRITE.test(message) ? FIX : undefined;
}

/** V8's words, and JavaScriptCore's for Bun. */
const WRITE = /read.?only property|delete property|redefine property|not extensible/i;

const FIX =
  "If it is the event that the handler writes to: events are frozen and shared, so copy it first, `structuredClone(event)`.";
