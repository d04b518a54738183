import {
  createReceiver,
  type AnyEvent,
  type Context,
  type EventName,
  type HandlerOptions,
  type Inbox,
  type Logger,
  type Receiver,
} from "hookline";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import { crashableInbox } from "../support/crashable-inbox.ts";
import type { FakeClock } from "../support/fake-clock.ts";
import { laneText, type Plan, type Spec } from "./handler-plans.ts";
import type { LifeFacts, Limits } from "./ledger.ts";

/** One process: from its start to its close or death. */
export interface Life extends LifeFacts {
  readonly receiver: Receiver;
  alive: boolean;
  closing: boolean;
  /** `start()` resolved. */
  started: boolean;
  /** The inbox is free for another. */
  shut: boolean;
  /** Some of its claims were erased: their ends are told to nobody. */
  erased: boolean;
  /** Codes of what was logged as an error. */
  readonly errors: Set<string>;
  die(): void;
}

export interface LifeOptions {
  readonly number: number;
  readonly plan: Plan;
  readonly inbox: Inbox;
  readonly clock: FakeClock;
  readonly limits: Limits;
  readonly handle: (life: Life, spec: Spec, given: { event: AnyEvent; ctx: Context }) => unknown;
  readonly onDead: (jobId: string) => unknown;
}

export const SECRET = "a secret of the simulation";

export function createLife({ number, plan, inbox, clock, limits, handle, onDead }: LifeOptions): Life {
  const process = crashableInbox(inbox);
  const errors = new Set<string>();
  const verbs = process.inbox as WorkingInbox;
  const own: WorkingInbox = {
    ...verbs,
    // What comes after its end is no longer of this process, though a successor has opened the store again.
    store: async (deliveries) => {
      if (life.shut) throw new Error("closed");
      return verbs.store(deliveries);
    },
    close: async () => {
      await verbs.close();
      life.shut = true;
    },
  };
  const receiver = createReceiver({
    secret: SECRET,
    inbox: own,
    // The rules know what has arrived, not what the receiver would make itself after the jumps of this clock.
    gaps: false,
    ...limits,
    clock: {
      now: clock.now,
      // Its timers die with it.
      setTimer: (run, ms) => clock.setTimer(() => (life.alive ? run() : undefined), ms),
    },
    log: errorsOnly(errors),
  });
  const life: Life = {
    number,
    plan,
    receiver,
    alive: true,
    closing: false,
    started: false,
    shut: false,
    settleFailed: false,
    erased: false,
    errors,
    die() {
      life.alive = false;
      process.crash();
    },
  };
  for (const spec of plan) {
    const { names, ...options } = spec;
    receiver.on(names as EventName[], (event, ctx) => handle(life, spec, { event, ctx }), {
      ...options,
      lane: toLane(spec),
    });
  }
  receiver.onDead(({ id }) => (life.alive ? onDead(id) : undefined));
  return life;
}

function toLane(spec: Spec): HandlerOptions<AnyEvent>["lane"] {
  const { lane } = spec;
  if (lane !== "by-id" && lane !== "broken") return lane;
  return (event) => {
    const id = "changes" in event ? event.changes[0]?.id : "id" in event ? String(event.id) : undefined;
    if (lane === "broken" && id === "r1") throw new Error("no lane");
    return laneText(spec, id);
  };
}

function errorsOnly(errors: Set<string>): Logger {
  const nothing = (): void => {};
  return {
    debug: nothing,
    info: nothing,
    warn: nothing,
    error: (facts, message) => void errors.add((facts as { code?: string }).code ?? message ?? ""),
  };
}
