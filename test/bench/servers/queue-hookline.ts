import { postgresInbox } from "../../../adapters/inbox/postgres.ts";
import { systemClock } from "../../../src/clock.ts";
import { expandEvents } from "../../../src/dispatch/expand.ts";
import { createHandlers } from "../../../src/dispatch/handlers.ts";
import type { NewDelivery } from "../../../src/inbox/port/delivery.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";
import { createReceiver } from "../../../src/index.ts";
import { eventsOf, parseDocument } from "../../../src/protocol/envelope.ts";
import type { Queue, QueueJob } from "../postgres/queue.ts";
import { SECRET } from "../signing.ts";

const ONE_BY_ONE = { merge: false };

const handlers = createHandlers({ attempts: 1, retryForMs: 0, timeoutMs: 0 });
handlers.add(["email"], () => {}, ONE_BY_ONE);
handlers.seal();

// Stores by the port, a delivery for each job: requests and signatures are measured elsewhere. A process that only receives leaves making
// the jobs to the workers; one that works, too, stores them with the delivery.
export default async function openHookline(connection: string): Promise<Queue> {
  const receiver = createReceiver({ secret: SECRET, inbox: postgresInbox(connection), log: false });
  const inbox = postgresInbox(connection) as WorkingInbox;
  let opened: Promise<void> | undefined;
  let making: Promise<void> | undefined;
  const open = () =>
    (opened ??= inbox.open({
      name: "default",
      clock: systemClock,
      log: { error: console.error, warn: console.error, info() {}, debug() {} },
      dedupeWindowMs: 86_400_000,
    }));

  function toDelivery({ index, lane }: QueueJob): NewDelivery {
    const payloads = [{ id: lane, changeType: "updated", attributes: { threadId: String(index) } }];
    const body = Buffer.from(
      JSON.stringify({ subscription: 1001, accountId: 2002, resource: "/email/messages", payloads }),
    );
    const now = Date.now();
    const times = { receivedAt: now, sentAt: now };
    const delivery = { ...times, source: undefined, signedBy: "bench", signature: `v0=${index}`, headers: {}, body };
    if (making === undefined) return { delivery, events: undefined };
    const events = eventsOf(parseDocument(body), 0, payloads.length);
    return { delivery, events: expandEvents(events, handlers, { source: undefined, first: 0 }) };
  }

  async function join(): Promise<void> {
    await open();
    await inbox.work({ begin() {}, end() {}, wake() {}, lost() {} });
  }

  return {
    makeJobs: () => (making ??= join()),
    prepare: (jobs) => jobs.map(toDelivery),
    async insert(prepared) {
      await open();
      for (const result of await inbox.store(prepared as NewDelivery[])) {
        if (result instanceof Error) throw result;
        if (making !== undefined && !result.expanded) throw new Error("A delivery was stored without its job.");
      }
    },
    async work(handle) {
      receiver.on("email", ({ attributes }) => handle(Number(attributes?.["threadId"])), ONE_BY_ONE);
      await receiver.start();
    },
    async close() {
      await Promise.all([receiver.close(), opened?.then(() => inbox.close())]);
    },
  };
}
