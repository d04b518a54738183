import type { IdentifiedDelivery } from "../../inbox/port/delivery.ts";
import type { CallSpan, Tracer } from "../../observe/instruments.ts";
import type { SingleEvent } from "../../protocol/event-types.ts";
import type { Registration } from "../handlers.ts";
import { createContext, type CallFacts, type Context, type ContextServices } from "./context.ts";

/** What a handler without an inbox is called with, beside its event. */
export interface DirectContext {
  readonly ctx: Context;
  readonly controller: AbortController;
  readonly span: CallSpan | undefined;
}

interface DirectEvent {
  readonly delivery: IdentifiedDelivery;
  readonly event: SingleEvent;
  readonly entry: number;
  readonly registration: Pick<Registration, "consumer">;
}

/** @throws whatever is wrong with a delivery that is none */
export function createDirectContext(
  { delivery, event, entry, registration: { consumer } }: DirectEvent,
  services: ContextServices,
  tracer: Tracer | undefined,
): DirectContext {
  const controller = new AbortController();
  const jobId = `${delivery.id}.${entry}`;
  const facts: CallFacts = {
    signal: controller.signal,
    attempt: 1,
    lastAttempt: false,
    merged: 1,
    event,
    entry,
    jobId,
    deliveryId: delivery.id,
    consumer,
    replayOf: undefined,
    delivery,
  };
  const span = tracer?.call(facts, [{ id: jobId, delivery }], true);
  return { controller, span, ctx: createContext(facts, services, span?.logged) };
}
