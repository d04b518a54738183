import { Agent } from "node:http";
import { setTimeout as later } from "node:timers/promises";
import { onTestFinished } from "vitest";
import { send } from "../../support/http.ts";
import { signedHeaders } from "../../support/sign.ts";
import { anyDelivery, type TestDelivery } from "./deliveries.ts";

/** A sent delivery and its outcome. Both times are ticks of one logical clock. */
export interface Sent extends TestDelivery {
  /** Of the first try. */
  readonly sentAt: number;
  /** Of the first 200. */
  ackedAt?: number;
  tries: number;
}

/** Plays the service: redelivers until it gets a 200. */
export interface Service {
  readonly sent: readonly Sent[];
  /** Number of answers by status; 0 for no answer. */
  readonly answers: ReadonlyMap<number, number>;
  /** One try. @returns the status, or 0 */
  offer(delivery: TestDelivery | Sent, port?: number): Promise<number>;
  /** Retries until it gets a 200. */
  deliver(delivery: TestDelivery, port?: number): Promise<Sent>;
  /** Sends continuously over so many connections. */
  load(connections: number, options?: LoadOptions): void;
  /** Sends nothing new; resolves when every delivery is acknowledged. */
  finish(): Promise<void>;
  /** Sends nothing new and redelivers nothing. */
  abandon(): Promise<void>;
  /** Number of acknowledged deliveries. */
  acked(): number;
}

interface LoadOptions {
  readonly next?: () => TestDelivery;
  /** Longest pause between two requests of a connection. @default 10 */
  readonly pauseMs?: number;
  /** Total number of deliveries. @default no limit */
  readonly count?: number;
}

export interface ServiceOptions {
  readonly secret: string;
  /** Called before every try. */
  readonly port: () => number | undefined;
  readonly now?: () => number;
}

/** A suspended process never answers. */
const PATIENCE_MS = 10_000;

const BACKOFF_MS = { least: 20, most: 500 };

export function createService({ secret, port, now = Date.now }: ServiceOptions): Service {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  const sent: Sent[] = [];
  const byName = new Map<string, Sent>();
  const answers = new Map<number, number>();
  const again: { readonly delivery: Sent; readonly at: number }[] = [];
  const loops: Promise<void>[] = [];
  let tick = 0;
  let fresh = true;
  let retrying = true;
  onTestFinished(() => {
    fresh = false;
    retrying = false;
    agent.destroy();
  });

  function toSent(delivery: TestDelivery): Sent {
    let known = byName.get(delivery.name);
    if (known !== undefined) return known;
    known = { ...delivery, sentAt: (tick += 1), tries: 0 };
    byName.set(known.name, known);
    sent.push(known);
    return known;
  }

  async function offer(delivery: TestDelivery, to = port()): Promise<number> {
    const known = toSent(delivery);
    known.tries += 1;
    const headers = signedHeaders(known.body, { secret, at: new Date(now()) });
    const status = await (to === undefined
      ? Promise.resolve(0)
      : Promise.race([
          send(`http://127.0.0.1:${to}/hooks`, { headers, body: known.body, agent }).then(
            (answer) => answer.status,
            () => 0,
          ),
          later(PATIENCE_MS, 0, { ref: false }),
        ]));
    answers.set(status, (answers.get(status) ?? 0) + 1);
    if (status === 200) known.ackedAt ??= tick += 1;
    return status;
  }

  async function deliver(delivery: TestDelivery, to?: number): Promise<Sent> {
    const known = toSent(delivery);
    for (let wait = BACKOFF_MS.least; (await offer(known, to)) !== 200; wait = Math.min(wait * 2, BACKOFF_MS.most)) {
      if (!retrying) throw new Error(`${known.name} was not acknowledged.`);
      await later(wait);
    }
    return known;
  }

  async function connection({ next = anyDelivery, pauseMs = 10, count = Infinity }: LoadOptions): Promise<void> {
    for (let made = 0; retrying && (fresh || again.length > 0);) {
      const due = again.findIndex(({ at }) => at <= performance.now());
      const old = due === -1 ? undefined : again.splice(due, 1)[0]?.delivery;
      if (old === undefined && (!fresh || made >= count)) {
        if (fresh && again.length === 0) return;
        await later(5);
        continue;
      }
      if (old === undefined) made += 1;
      const delivery = old ?? toSent(next());
      if ((await offer(delivery)) !== 200) {
        const wait = Math.min(BACKOFF_MS.least * 2 ** delivery.tries, BACKOFF_MS.most);
        again.push({ delivery, at: performance.now() + wait });
      }
      await later(Math.random() * pauseMs);
    }
  }

  return {
    sent,
    answers,
    offer,
    deliver,
    load(connections, { count = Infinity, ...options } = {}) {
      for (let made = 0; made < connections; made += 1)
        loops.push(connection({ ...options, count: Math.ceil(count / connections) }));
    },
    async finish() {
      fresh = false;
      await Promise.all(loops.splice(0));
    },
    async abandon() {
      fresh = false;
      retrying = false;
      await Promise.all(loops.splice(0));
    },
    acked: () => sent.filter(({ ackedAt }) => ackedAt !== undefined).length,
  };
}
