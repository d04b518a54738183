// Making a receiver: what must be given, and what may be left out or given as undefined.
import {
  createReceiver,
  memoryInbox,
  type Clock,
  type Inbox,
  type Logger,
  type Receiver,
  type StorageKind,
} from "hookline";
import type { ReceiverOptions, Secret, SecretRequest, SecretSource } from "hookline";
import { pino } from "pino";
import type { Equal, Expect, Flat } from "./support.ts";

declare const chance: boolean;
const inbox = memoryInbox();

// Only a secret and an inbox must be given; a secret may be missing at import, as a variable of the environment may.
createReceiver({ secret: process.env["SIGNING_SECRET"], inbox });
createReceiver({ secret: undefined, inbox });

// Everything else may be undefined: `{ concurrency: many ? 30 : undefined }`.
export const everything: ReceiverOptions<"memory"> = {
  secret: process.env["SIGNING_SECRET"],
  inbox,
  name: chance ? "shop" : undefined,
  concurrency: chance ? 3 : undefined,
  attempts: chance ? 5 : undefined,
  retryForMs: chance ? 60_000 : undefined,
  timeoutMs: chance ? 0 : undefined,
  maxBodyBytes: chance ? 1_000 : undefined,
  maxInFlightBytes: chance ? 1_000 : undefined,
  bodyTimeoutMs: chance ? 1_000 : undefined,
  maxAgeSeconds: chance ? 300 : undefined,
  secretTimeoutMs: chance ? 100 : undefined,
  storeTimeoutMs: chance ? 100 : undefined,
  graceMs: chance ? 100 : undefined,
  maxStuck: chance ? 1 : undefined,
  gate: chance ? { timeoutMs: undefined, maxUnsubscribesPerHour: chance ? 1 : undefined } : undefined,
  dedupe: chance ? { windowSeconds: undefined } : undefined,
  scheme: undefined,
  log: chance ? false : undefined,
  logContent: chance ? true : undefined,
  clock: undefined,
};
createReceiver(everything);
createReceiver({ ...everything, gate: {}, dedupe: {} });
memoryInbox({ maxJobs: undefined, maxBytes: chance ? 1_000 : undefined });
memoryInbox({});
memoryInbox(undefined);

// What an inbox keeps is what its receiver keeps.
export const stored: "memory" = createReceiver({ secret: "s", inbox }).storage;
export function make<K extends StorageKind>(given: Inbox<K>): Receiver<K> {
  return createReceiver({ secret: "s", inbox: given });
}
export const withDefaults = (options: Omit<ReceiverOptions, "secret">): Receiver =>
  createReceiver({ secret: "s", concurrency: 4, ...options });

// Every form of a secret: a value, a named one, a list, and a look-up that finds any of them, at once or later.
export const secrets: readonly SecretSource[] = [
  "s",
  { name: "new", value: "s" },
  ["s", { name: "old", value: "t" }],
  ["s", "t"] as const,
  [],
  () => "s",
  () => ({ name: "new", value: "s" }),
  () => ["s", "t"],
  () => undefined,
  async () => "s",
  async () => ["s", { name: "old", value: "t" }],
  async () => undefined,
  async ({ source, path, query, header, platform }) => [
    source ?? path,
    query.get("a") ?? header("b") ?? String(platform),
  ],
];
for (const secret of secrets) createReceiver({ secret, inbox });
createReceiver({ secret: async (request) => (request.source === "a" ? "s" : undefined), inbox });
createReceiver({ secret: process.env["A"] ?? [], inbox });
export type Secrets = [
  Expect<Equal<Secret, string | { readonly name: string; readonly value: string }>>,
  Expect<
    Equal<
      Flat<SecretRequest>,
      {
        readonly path: string;
        readonly source?: string;
        readonly query: URLSearchParams;
        header: (name: string) => string | undefined;
        readonly platform?: unknown;
      }
    >
  >,
];

// A logger is a pino, a console, or four functions; a clock is two.
export const loggers: readonly Logger[] = [pino(), console, { debug() {}, info() {}, warn() {}, error() {} }];
for (const log of loggers) createReceiver({ ...everything, log });
class TestClock implements Clock {
  now(): number {
    return 0;
  }
  setTimer(run: () => void, ms: number): { clear(): void } {
    const timer = setTimeout(run, ms);
    return { clear: () => clearTimeout(timer) };
  }
}
createReceiver({ ...everything, clock: new TestClock() });
createReceiver({ ...everything, clock: { now: Date.now, setTimer: () => ({ clear() {} }) } });

// @ts-expect-error -- an inbox is a choice that one makes
createReceiver({ secret: "s" });
// @ts-expect-error -- so is leaving the secret out
createReceiver({ inbox });
// @ts-expect-error -- nothing at all
createReceiver();
// @ts-expect-error -- the inbox itself, not the function that makes it
createReceiver({ secret: "s", inbox: memoryInbox });
// @ts-expect-error -- a file's name is no inbox
createReceiver({ secret: "s", inbox: "inbox.db" });
// @ts-expect-error -- an object that keeps nothing
createReceiver({ secret: "s", inbox: {} });
// @ts-expect-error -- there is no such place
export type Nowhere = Inbox<"cloud">;
// @ts-expect-error -- null is no absence
createReceiver({ secret: null, inbox });
// @ts-expect-error -- a secret is a text
createReceiver({ secret: Buffer.from("s"), inbox });
// @ts-expect-error -- a secret that is an object has its name
createReceiver({ secret: { value: "s" }, inbox });
// @ts-expect-error -- a list may not have holes
createReceiver({ secret: ["s", process.env["OLD_SECRET"]], inbox });
// @ts-expect-error -- a look-up that finds nothing gives undefined
createReceiver({ secret: async () => null, inbox });
// @ts-expect-error -- a look-up gives secrets, not a verdict
createReceiver({ secret: () => true, inbox });
// @ts-expect-error -- an option that does not exist
createReceiver({ secret: "s", inbox, maxBodySize: 5 });
// @ts-expect-error -- an option without its unit
createReceiver({ secret: "s", inbox, timeout: 5 });
// @ts-expect-error -- a number as a text
createReceiver({ secret: "s", inbox, concurrency: "3" });
// @ts-expect-error -- a size as a text
memoryInbox({ maxBytes: "64mb" });
// @ts-expect-error -- an option of its gate, not the gate
createReceiver({ secret: "s", inbox, gate: () => undefined });
// @ts-expect-error -- a deadline stands in an object
createReceiver({ secret: "s", inbox, gate: 500 });
// @ts-expect-error -- only `false` is silence
createReceiver({ secret: "s", inbox, log: true });
// @ts-expect-error -- a level is set on the logger
createReceiver({ secret: "s", inbox, log: "debug" });
// @ts-expect-error -- Date has no timers
createReceiver({ secret: "s", inbox, clock: Date });
// @ts-expect-error -- a scheme is data, not a service's name
createReceiver({ secret: "s", inbox, scheme: "github" });
