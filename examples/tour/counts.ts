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
  const answered = (status: number): number =>
    service.attempts.filter(({ answer }) => answer?.status === status).length;
  return [
    { what: "tokens returned", expected: 8, got: service.handshakes },
    { what: "answered 200", expected: 30, got: answered(200) },
    { what: "answered 401", expected: 1, got: answered(401) },
    { what: "answered 422", expected: 1, got: answered(422) },
    { what: "events handled", expected: 25, got: stats.succeeded },
    { what: "retried", expected: 2, got: stats.retried },
    { what: "merged into another's call", expected: 2, got: stats.merged },
    { what: "duplicates", expected: 1, got: stats.duplicates },
    { what: "subscriptions deleted", expected: 1, got: service.deleted },
    { what: "dead", expected: 0, got: stats.dead },
  ];
}
