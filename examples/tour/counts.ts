import type { App } from "./app.ts";
import type { Service } from "./service.ts";

/** One counter with its expected value. */
export interface Count {
  readonly what: string;
  readonly expected: number;
  readonly got: number;
}

/** Counters of the service and the receiver, with the expected values of this tour. */
export function countAll(service: Service, { receiver }: App): readonly Count[] {
  const stats = receiver.stats();
  const answers = [...service.answers.values()];
  return [
    { what: "sent", expected: 28, got: answers.reduce((sum, count) => sum + count, 0) },
    { what: "answered 200", expected: 26, got: service.answers.get(200) ?? 0 },
    { what: "answered 401", expected: 1, got: service.answers.get(401) ?? 0 },
    { what: "answered 422", expected: 1, got: service.answers.get(422) ?? 0 },
    { what: "tokens returned", expected: 1, got: service.tokensBack },
    { what: "events handled", expected: 24, got: stats.succeeded },
    { what: "retried", expected: 2, got: stats.retried },
    { what: "merged into another's call", expected: 2, got: stats.merged },
    { what: "duplicates", expected: 1, got: stats.duplicates },
    { what: "subscriptions deleted", expected: 1, got: service.deleted.size },
    { what: "dead", expected: 0, got: stats.dead },
  ];
}
