/** Where a receiver stands between its making and its end. */
export type ReceiverState =
  /** Made; nobody has needed the inbox yet. */
  | "idle"
  /** The inbox is being opened. */
  | "opening"
  /** The inbox could not be opened: whoever needs it next tries again. */
  | "unavailable"
  /** The inbox is open, and this process does not work on it. */
  | "receiving"
  /** The inbox is asked for the worker's place. */
  | "starting"
  /** Another process works: this one takes over when it ends. */
  | "standby"
  | "working"
  /** `close` was called; the inbox stays open for the handlers that still run. */
  | "closing"
  /** The inbox was let go. */
  | "closed";

/** What happens to a receiver. */
export type ReceiverStep =
  | "open"
  | "opened"
  | "open-failed"
  | "start"
  | "begun"
  | "stood-by"
  | "ended"
  | "start-failed"
  | "close"
  | "closed";

/** Every way from one state to another: what is not here does not happen, or changes nothing. `docs/lifecycle.md` draws it. */
export const RECEIVER_STATES: Readonly<Record<ReceiverState, Readonly<Partial<Record<ReceiverStep, ReceiverState>>>>> =
  {
    idle: { open: "opening", close: "closing" },
    opening: { opened: "receiving", "open-failed": "unavailable", close: "closing" },
    unavailable: { open: "opening", close: "closing" },
    receiving: { start: "starting", close: "closing" },
    starting: { begun: "working", "stood-by": "standby", "start-failed": "receiving", close: "closing" },
    standby: { begun: "working", "start-failed": "receiving", close: "closing" },
    working: { ended: "standby", "start-failed": "receiving", close: "closing" },
    closing: { closed: "closed" },
    closed: {},
  };

/** The one place where a receiver's state changes. */
export interface ReceiverStates {
  readonly current: ReceiverState;
  /** `close` was called. */
  readonly isClosing: boolean;
  /** Takes a step. @returns whether there is such a way from here: if not, nothing changed */
  take(step: ReceiverStep): boolean;
}

export function createReceiverStates(): ReceiverStates {
  let current: ReceiverState = "idle";
  return {
    get current() {
      return current;
    },
    get isClosing() {
      return current === "closing" || current === "closed";
    },
    take(step) {
      const next = RECEIVER_STATES[current][step];
      if (next === undefined) return false;
      current = next;
      return true;
    },
  };
}
