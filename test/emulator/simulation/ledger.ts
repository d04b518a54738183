import type { Answer } from "../../../src/emulator/deliveries/journal.ts";
import type { Transport } from "../../../src/emulator/deliveries/transport.ts";
import type { EmulatedService } from "../../../src/emulator/emulated-service.ts";
import type { AnyEvent } from "../../../src/index.ts";

/** What went over the wire, and what became of it. */
export interface Ledger {
  /** Looks at each request and its answer. */
  watch(transport: Transport): Transport;
  /** A job was handled, or is dead. */
  ended(event: AnyEvent): void;
  duplicates: number;
  /** By a handler's decision. */
  readonly unsubscribed: Set<number>;
  isHealed: boolean;
  /** Entries of requests that were answered 200, by what must be in order. */
  readonly accepted: ReadonlyMap<string, readonly string[]>;
  readonly handled: ReadonlyMap<string, readonly string[]>;
  readonly refusedBy422: ReadonlySet<number>;
}

interface Body {
  readonly subscription: number;
  readonly resource: string;
  readonly payloads?: readonly Readonly<Record<string, unknown>>[];
  readonly lifecycleEvent?: string;
}

export function createLedger(): Ledger {
  const accepted = new Map<string, string[]>();
  const handled = new Map<string, string[]>();
  const refusedBy422 = new Set<number>();

  return {
    duplicates: 0,
    isHealed: false,
    unsubscribed: new Set(),
    accepted,
    handled,
    refusedBy422,
    watch: (transport) => ({
      async send(request) {
        const pieces: Uint8Array[] = [];
        const { body } = request;
        const copied = body instanceof Uint8Array ? (pieces.push(body), body) : copy(body, pieces);
        const answer: Answer = await transport.send({ ...request, body: copied });
        const text = Buffer.concat(pieces).toString();
        if (answer.status === 422) refusedBy422.add((JSON.parse(text) as Body).subscription);
        if (answer.status === 200 && text !== "")
          for (const [lane, what] of entriesOf(JSON.parse(text) as Body)) add(accepted, lane, what);
        return answer;
      },
      close: () => transport.close(),
    }),
    ended(event) {
      const { subscription = 0, resource = "" } = event;
      const entry = event.type === "unknown" ? (event.json as Record<string, unknown>) : { ...event };
      const lifecycleEvent = event.type.startsWith("lifecycle.") ? event.type.slice(10) : undefined;
      if (lifecycleEvent !== undefined) return add(handled, ...toEntry({ subscription, resource }, { lifecycleEvent }));
      if (event.type.endsWith(".signal")) return add(handled, ...toEntry({ subscription, resource }, {}));
      add(handled, ...toEntry({ subscription, resource }, entry));
    },
  };
}

async function* copy(body: AsyncIterable<Uint8Array>, pieces: Uint8Array[]): AsyncGenerator<Uint8Array> {
  for await (const piece of body) {
    pieces.push(piece);
    yield piece;
  }
}

function add(map: Map<string, string[]>, lane: string, what: string): void {
  const list = map.get(lane);
  if (list === undefined) map.set(lane, [what]);
  else list.push(what);
}

function entriesOf(body: Body): readonly (readonly [lane: string, what: string])[] {
  const { payloads = [], lifecycleEvent } = body;
  if (lifecycleEvent !== undefined) return [toEntry(body, { lifecycleEvent })];
  return payloads.length === 0 ? [toEntry(body, {})] : payloads.map((entry) => toEntry(body, entry));
}

/** The record, whose entries must be handled in order, and what happened to it. */
function toEntry(
  { subscription, resource }: Pick<Body, "subscription" | "resource">,
  given: Readonly<Record<string, unknown>>,
): readonly [lane: string, what: string] {
  const { id, eventId, changeType, eventType, lifecycleEvent } = given as Readonly<Record<string, string | undefined>>;
  // What nobody knows is handled, but in no order with the rest.
  const isUnknown = changeType === "archived" || eventType === "forward";
  const record = isUnknown ? "unknown" : (id ?? eventId ?? lifecycleEvent ?? "signal");
  return [`${subscription} ${resource} ${record}`, changeType ?? eventType ?? "it"];
}

/** Which rules did not hold, once nothing is left to do. */
export function judge(
  ledger: Ledger,
  {
    service,
    subscriptions,
  }: {
    readonly service: EmulatedService;
    /** Those that no call deleted. */
    readonly subscriptions: ReadonlySet<number>;
  },
): readonly string[] {
  const broken: string[] = [];
  const count = (map: ReadonlyMap<string, readonly string[]>): number =>
    [...map.values()].reduce((sum, list) => sum + list.length, 0);
  const [accepted, handled] = [count(ledger.accepted), count(ledger.handled)];
  if (accepted !== handled + ledger.duplicates)
    broken.push(`${accepted} events were acknowledged, ${handled} handled or dead, ${ledger.duplicates} duplicates`);
  for (const [lane, list] of ledger.handled) {
    const sent = ledger.accepted.get(lane);
    if (sent === undefined) broken.push(`${lane} was handled, and never sent`);
    // Of events that are deduplicated one comes for several.
    else if (!/tracking|booking/.test(lane) && list.join() !== sent.join())
      broken.push(`${lane} was acknowledged as ${sent.join()}, and handled as ${list.join()}`);
  }
  for (const id of ledger.refusedBy422)
    if (!ledger.unsubscribed.has(id)) broken.push(`subscription ${id} was answered 422 without a decision`);
  for (const id of subscriptions)
    if (!service.subscriptions.has(id) && !ledger.unsubscribed.has(id))
      broken.push(`subscription ${id} is gone without a decision`);
  for (const { id, waiting } of service.subscriptions.values())
    if (waiting.size > 0)
      broken.push(`${waiting.size} deliveries of subscription ${id} are not acknowledged in two days`);
  return broken;
}
