import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { nodeReceiver } from "../../../adapters/http/node.ts";
import type { EmulatedAccount, Fault } from "../../../src/emulator.ts";
import { FAULT_NAMES } from "../../../src/emulator/deliveries/faults.ts";
import { samplePayload } from "../../../src/emulator/deliveries/sample-payload.ts";
import { createHttpTransport, type Transport } from "../../../src/emulator/deliveries/transport.ts";
import { createEmulatedService, type EmulatedService } from "../../../src/emulator/emulated-service.ts";
import { createRandom, type Random } from "../../../src/emulator/random.ts";
import { createReceiver, memoryInbox, type Receiver } from "../../../src/index.ts";
import { createLedger, judge, type Ledger } from "./ledger.ts";
import { handleBadly } from "./handlers.ts";

/** What a world did, and which rules did not hold in it. */
export interface Outcome {
  readonly seed: number;
  readonly attempts: number;
  readonly broken: readonly string[];
}

const SECRET = "whsec_simulation";
const DAY_MS = 86_400_000;

/**
 * Lives through the world of a seed: an emulator, a receiver that shares its clock, and handlers that fail.
 *
 * @param overSockets by HTTP instead of by a call in this process
 */
export async function runSeed(seed: number, overSockets = false): Promise<Outcome> {
  const random = createRandom(seed);
  const ledger = createLedger();
  // The clock is the service's, so the receiver comes after it.
  const end: { receiver?: Receiver } = {};
  const timestamp = random.next() < 0.5 ? "kept" : "renewed";
  const inner = overSockets ? createHttpTransport({ allowRemote: false }) : inProcess(end);
  const service = createEmulatedService(
    { seed, secret: SECRET, clock: "virtual", redelivery: { timestamp, headOfLine: random.next() < 0.3 } },
    { transport: ledger.watch(inner) },
  );
  const { clock } = service;
  // Marks for each minute of virtual time would take most of the test's.
  const limits = { concurrency: 1 + Math.floor(random.next() * 8), gaps: false as const };
  const receiver = createReceiver({ secret: SECRET, inbox: memoryInbox(), clock, log: false, ...limits });
  end.receiver = receiver;
  handleBadly(receiver, { random, ledger, clock });
  await receiver.start();
  const server = createServer(nodeReceiver(receiver));
  if (overSockets) await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = overSockets ? `http://127.0.0.1:${(server.address() as AddressInfo).port}/` : "http://127.0.0.1/";

  const subscriptions = await liveThrough(service, { random, url });
  await heal(service, ledger);
  const broken = judge(ledger, { service, subscriptions });
  const { attempts } = service;
  await service.close();
  await receiver.close({ drainMs: 0 });
  server.close();
  server.closeAllConnections();
  return { seed, attempts, broken };
}

/** Calls the receiver, as a mount does. */
function inProcess(end: { readonly receiver?: Receiver }): Transport {
  return {
    async send({ url, headers, body, signal }) {
      const gone = new Promise<never>((_, reject) =>
        signal?.addEventListener("abort", () => reject(signal.reason as Error)),
      );
      const reply = end.receiver?.receive({ method: "POST", url, headers, body });
      return Promise.race([reply ?? gone, gone]);
    },
    close() {},
  };
}

const RESOURCES = [
  "/email/messages",
  "/contacts",
  "/calendars/primary/events",
  "/tasklists/default/tasks",
  "/email/tracking",
  "/booking/31",
];

const FAULTS: readonly (Fault | undefined)[] = [
  undefined,
  undefined,
  ...FAULT_NAMES,
  { entries: 5 },
  { delayMs: 7_000 },
  { clockSkewSeconds: 3_600 },
];

/** @returns the subscriptions that were made, but for those that a call deleted */
async function liveThrough(
  service: EmulatedService,
  { random, url }: { readonly random: Random; readonly url: string },
): Promise<ReadonlySet<number>> {
  const one = <T>(list: readonly T[]): T => list[Math.floor(random.next() * list.length)] as T;
  const accounts: EmulatedAccount[] = [await service.account(), await service.account()];
  const subscriptions = new Set<number>();
  const records: { readonly account: EmulatedAccount; readonly resource: string; readonly id: string }[] = [];

  /** Each resource of an account at most once: two subscriptions to one would share its lanes. */
  for (const account of accounts)
    for (const resource of RESOURCES)
      if (random.next() < 0.5)
        subscriptions.add((await service.subscribe(account.accountId, { resource, notificationUrl: url })).id);

  const deeds: readonly (() => unknown)[] = [
    async () => {
      const account = one(accounts);
      const [resource, record] = await one([
        async () => ["/email/messages", await account.receiveMail()] as const,
        async () => ["/contacts", await account.addContact()] as const,
        async () => ["/calendars/primary/events", await account.addEvent()] as const,
        async () => ["/tasklists/default/tasks", await account.addTask()] as const,
      ])();
      records.push({ account, resource, id: record.id });
    },
    () => touch((account, resource, id) => account.update(resource, id)),
    () => touch((account, resource, id) => account.update(resource, id)),
    () => touch((account, resource, id) => account.remove(resource, id), true),
    () => emit((resource) => [samplePayload(resource, service)]),
    () => emit((resource) => [samplePayload(resource, service), samplePayload(resource, service)]),
    () => emit(() => []),
    () => fault(one(FAULTS)),
    () => fault([one(FAULTS), one(FAULTS), one(FAULTS)]),
    () => one(accounts).expireCredentials(),
    () => one(accounts).restoreCredentials(),
    () => service.advance(Math.floor(random.next() ** 4 * 3_600_000)),
    () => service.advance(Math.floor(random.next() * 5_000)),
    () => random.next() < 0.05 && remove(),
  ];

  async function touch(
    change: (account: EmulatedAccount, resource: string, id: string) => Promise<void>,
    isLast = false,
  ): Promise<void> {
    const record = one(records);
    if (record === undefined) return;
    await change(record.account, record.resource, record.id);
    if (isLast) records.splice(records.indexOf(record), 1);
  }

  async function emit(payloads: (resource: string) => readonly object[]): Promise<void> {
    const subscription = one([...service.subscriptions.values()]);
    if (subscription !== undefined) await service.emit(subscription.id, payloads(subscription.resource));
  }

  function fault(faults: Fault | undefined | readonly (Fault | undefined)[]): void {
    const subscription = one([...service.subscriptions.values()]);
    if (subscription !== undefined) service.fault(subscription.id, faults);
  }

  function remove(): void {
    const subscription = one([...service.subscriptions.values()]);
    if (subscription === undefined) return;
    subscriptions.delete(subscription.id);
    service.unsubscribe(subscription);
  }

  const steps = 10 + Math.floor(random.next() * 40);
  for (let step = 0; step < steps; step += 1) await one(deeds)();
  return subscriptions;
}

/** All faults end, handlers work again, and time passes: longer than any retry. */
async function heal(service: EmulatedService, ledger: Ledger): Promise<void> {
  for (const { id } of service.subscriptions.values()) service.fault(id, undefined);
  ledger.isHealed = true;
  await service.advance(2 * DAY_MS);
}
