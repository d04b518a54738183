import { assertFunction } from "../assert.ts";
import { createHandlers, type Handlers, type Middleware } from "../dispatch/handlers.ts";
import { UsageError } from "../errors.ts";
import type { Job } from "../inbox/port/jobs.ts";
import type { Gate } from "../ingest/unsubscribe-gate.ts";

/** What an application registers before the start. */
export interface Registrations {
  readonly handlers: Handlers;
  readonly middleware: readonly Middleware[];
  readonly onDead: readonly ((job: Job) => unknown)[];
  /** Undefined where there is none. */
  gate(): Gate | undefined;
  readonly on: Handlers["add"];
  /** @throws UsageError `handlers-sealed` */
  use(one: Middleware): void;
  onDeadLetter(listener: (job: Job) => unknown): void;
  /** @throws UsageError `gate-doubled` */
  unsubscribeWhen(given: Gate): void;
}

export function createRegistrations(...given: Parameters<typeof createHandlers>): Registrations {
  const handlers = createHandlers(...given);
  const middleware: Middleware[] = [];
  const onDead: ((job: Job) => unknown)[] = [];
  let gate: Gate | undefined;

  return {
    handlers,
    middleware,
    onDead,
    gate: () => gate,
    on: handlers.add,
    use(one) {
      assertFunction("use()", one);
      if (handlers.sealed)
        throw new UsageError("handlers-sealed", "use() came after the start.", {
          fix: "Call use() before `receiver.start()`, the first `receiver.handle()` and the first request of a function.",
        });
      middleware.push(one);
    },
    onDeadLetter(listener) {
      assertFunction("onDead()", listener);
      onDead.push(listener);
    },
    unsubscribeWhen(one) {
      assertFunction("unsubscribeWhen()", one);
      if (gate !== undefined)
        throw new UsageError("gate-doubled", "unsubscribeWhen() was called twice.", {
          fix: "Decide everything in one gate.",
        });
      gate = one;
    },
  };
}
