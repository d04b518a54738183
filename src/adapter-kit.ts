// `hookline/adapter`: what mounts and inboxes stand on, and the suite, which no mount of ours is to load.
export * from "./adapter.ts";

// The suite for authors of mounts: the table of answers as tests.
export { checkHttpAdapter, type HttpCase } from "./testing/check-http-adapter.ts";
export { createProbedReceiver } from "./testing/http-suite/probed-receiver.ts";
export type {
  HttpLacks,
  HttpPlatform,
  HttpSubject,
  ProbedApp,
  ProbedOptions,
  ServedApp,
} from "./testing/http-subject.ts";
