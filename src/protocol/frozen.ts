import type { UnknownEvent } from "./events.ts";

/** Freezes what was made from JSON, as deep as it goes: one object is then safe with all who read it. */
export function freezeDeep<T extends object>(value: T): T {
  // Not Object.values: its list costs as much as all the rest. JSON inherits nothing.
  for (const key in value) {
    const inner = value[key];
    if (typeof inner === "object" && inner !== null) freezeDeep(inner);
  }
  return Object.freeze(value);
}

/**
 * An event that was not understood, frozen. Its `json`, which may be of any size and depth, is not: each time that it is read, it is
 * another copy.
 *
 * @param json what was parsed; `undefined` where nothing was
 */
export function unknownEvent(fields: Omit<UnknownEvent, "type" | "json">, json?: unknown): UnknownEvent {
  if (json === undefined) return Object.freeze({ ...fields, type: "unknown" });
  const event: UnknownEvent = {
    ...fields,
    type: "unknown",
    get json() {
      return structuredClone(json);
    },
  };
  // console.log is to show what is in it, not that there is a getter.
  return Object.freeze(Object.defineProperty(event, INSPECT, { value: () => ({ ...event }) }));
}

const INSPECT = Symbol.for("nodejs.util.inspect.custom");
