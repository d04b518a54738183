import type { Inbox } from "hookline";
import { StorageError } from "../../src/errors.ts";
import type { Delivery } from "../../src/inbox/port/delivery.ts";
import type { WorkingInbox } from "../../src/inbox/port/inbox.ts";
import type { Arrival } from "./arrivals.ts";
import type { Claiming } from "./claim-rules.ts";
import { atOnce, type InTurn } from "./in-turn.ts";
import type { LifeFacts } from "./ledger.ts";
import type { Keeping } from "./store-rules.ts";

/** What an inbox does wrong with one call of a verb: fails before it or after it, or takes its time. */
export type Fault = "before" | "after" | { readonly slowMs: number } | undefined;

export type FaultyVerb = "store" | "expand" | "unexpanded" | "claim" | "settle" | "unhandled" | "reopen";

export interface TapOptions {
  readonly keeping: Keeping;
  readonly claiming: Claiming;
  readonly arrivalOf: (delivery: Delivery) => Arrival;
  /** Who works on it. */
  readonly life: () => LifeFacts;
  /** Asked before each call. */
  readonly faultOf: (verb: FaultyVerb) => Fault;
  readonly wait: (ms: number) => Promise<void>;
  /** What verbs wait for before they begin: somebody changes jobs by hand. */
  readonly gate: () => Promise<void> | undefined;
  /** For a store that answers on several connections. @default all at once */
  readonly inTurn?: InTurn | undefined;
}

/** A store that tells the ledger what is written, and sometimes fails. */
export function tap(store: WorkingInbox, options: TapOptions): Inbox {
  const { keeping, claiming, life, faultOf, wait, arrivalOf, gate, inTurn = atOnce } = options;
  let wake = (): void => {};

  async function faulty<T>(
    verb: FaultyVerb,
    call: (own: LifeFacts) => Promise<T>,
    letIn: InTurn["alone"] = atOnce.alone,
  ): Promise<T> {
    const closed = gate();
    if (closed !== undefined) await closed;
    const own = life();
    const fault = faultOf(verb);
    if (fault === "before") throw failure(verb);
    if (typeof fault === "object") await wait(fault.slowMs);
    if (!own.alive) return new Promise(() => {});
    const result = await letIn(async () => {
      // Nobody waits for it any more.
      if (own.shut || !own.alive) throw failure(verb);
      return call(own);
    });
    if (fault !== "after") return result;
    wake(); // it reads back what it wrote
    throw failure(verb);
  }

  const verbs: WorkingInbox = {
    ...store,
    work(worker) {
      wake = worker.wake;
      return store.work(worker);
    },
    store: (deliveries) =>
      faulty(
        "store",
        async (own) => {
          const results = await store.store(deliveries);
          for (const [index, result] of results.entries()) {
            const given = deliveries[index];
            if (given === undefined || result instanceof Error) continue;
            const commit = { life: own, events: given.events, seen: result, id: result.id, expanded: result.expanded };
            keeping.stored(arrivalOf(given.delivery), commit);
          }
          return results;
        },
        inTurn.together,
      ),
    unexpanded: (max) => faulty("unexpanded", () => store.unexpanded(max)),
    expand: (expansions) =>
      faulty(
        "expand",
        async (own) => {
          const results = await store.expand(expansions);
          for (const [index, { id, events, cursor }] of expansions.entries()) {
            const seen = results[index];
            if (seen !== undefined) keeping.expanded(id, { life: own, events, seen, cursor });
          }
          return results;
        },
        inTurn.alone,
      ),
    claim: (limits) =>
      faulty("claim", async (own) => {
        const asked = claiming.asked(own, limits);
        const found = await store.claim(limits);
        await inTurn.told();
        // Nothing had to be written for it: the dead process never learnt of it.
        if (!own.alive) return new Promise(() => {});
        claiming.claimed(own, asked, found);
        return found;
      }),
    settle: (settlements) =>
      faulty("settle", async () => {
        const newest = claiming.newest();
        // On several connections each holds by itself: its lane may go on before the others of the call have ended.
        const parts = inTurn === atOnce ? [settlements] : settlements.map((one) => [one]);
        const answers = await Promise.all(
          parts.map(async (part) => {
            const results = await store.settle(part);
            for (const [index, settlement] of part.entries())
              claiming.settled(settlement, results[index] ?? false, newest);
            return results;
          }),
        );
        return answers.flat();
      }),
    jobs: {
      ...store.jobs,
      unhandled: (page) => faulty("unhandled", () => store.jobs.unhandled(page)),
      reopen: (replacements) =>
        faulty(
          "reopen",
          async (own) => {
            const found = await Promise.all(replacements.map(({ id }) => store.jobs.get(id)));
            await store.jobs.reopen(replacements);
            for (const [index, { jobs }] of replacements.entries()) {
              const job = found[index]?.job;
              if (job !== undefined) keeping.reopened(own, { job, consumers: jobs.map(({ consumer }) => consumer) });
            }
          },
          inTurn.alone,
        ),
    },
  };
  return verbs;
}

function failure(verb: FaultyVerb): StorageError {
  return new StorageError("storage-failed", `The simulated inbox failed to ${verb}.`);
}
