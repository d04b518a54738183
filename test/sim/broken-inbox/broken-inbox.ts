import { memoryInbox } from "hookline";
import type { Claimed, ClaimLimits } from "../../../src/inbox/port/claims.ts";
import type { WorkingInbox } from "../../../src/inbox/port/inbox.ts";

const VERBS = ["store", "unexpanded", "expand", "claim", "settle"] as const;
const FAULTS = ["fails for ever", "fails for one row", "hangs", "answers late"] as const;

/** One of the twenty ways in which an inbox can be broken. */
export interface Way {
  readonly verb: (typeof VERBS)[number];
  readonly fault: (typeof FAULTS)[number];
}

export const WAYS: readonly Way[] = VERBS.flatMap((verb) => FAULTS.map((fault) => ({ verb, fault })));

/** Nothing with this text in it is taken, where one row fails. */
export const BAD = "the bad one";

export interface BrokenInbox {
  readonly inbox: WorkingInbox<"memory">;
  break(): void;
  mend(): void;
}

export interface BrokenInboxOptions extends Way {
  readonly wait: (ms: number) => Promise<void>;
  readonly lateMs: number;
}

/** An inbox in memory of which one verb is broken on command. What fails changes nothing. */
export function brokenInbox({ verb, fault, wait, lateMs }: BrokenInboxOptions): BrokenInbox {
  const own = memoryInbox() as WorkingInbox<"memory">;
  let isBroken = false;
  const failure = new Error(`no ${verb}`);

  function through<A extends readonly unknown[], R>(
    name: Way["verb"],
    call: (...given: A) => Promise<R>,
    hasBad: (...given: A) => boolean,
  ): (...given: A) => Promise<R> {
    return async (...given) => {
      if (!isBroken || name !== verb) return call(...given);
      if (fault === "fails for ever") throw failure;
      if (fault === "hangs") return new Promise(() => {});
      if (fault === "answers late") await wait(lateMs);
      else if (hasBad(...given)) throw failure;
      return call(...given);
    };
  }

  const isBad = ({ body }: { readonly body: Uint8Array }): boolean => Buffer.from(body).includes(BAD);

  /** Takes nothing where one of what it would take is bad. */
  async function claimGood(limits: ClaimLimits): Promise<Claimed> {
    const found = await own.claim(limits);
    if (!isBroken || verb !== "claim" || fault !== "fails for one row") return found;
    if (!found.claims.some(({ jobs }) => jobs.some(({ delivery }) => isBad(delivery)))) return found;
    await own.settle(found.claims.map((claim) => ({ claim, outcomes: claim.jobs.map(() => ({ to: "release" })) })));
    throw failure;
  }

  /** A page with a bad delivery cannot be read. */
  async function readGood(max: number) {
    const page = await own.unexpanded(max);
    if (
      isBroken &&
      verb === "unexpanded" &&
      fault === "fails for one row" &&
      page.some(({ delivery }) => isBad(delivery))
    )
      throw failure;
    return page;
  }

  return {
    inbox: {
      ...own,
      store: through("store", own.store, (all) => all.some(({ delivery }) => isBad(delivery))),
      unexpanded: through("unexpanded", readGood, () => false),
      expand: through("expand", own.expand, (all) =>
        all.some(({ events }) => events.some(({ jobs, event }) => JSON.stringify([event, jobs]).includes(BAD))),
      ),
      claim: through("claim", claimGood, () => false),
      settle: through("settle", own.settle, (all) =>
        all.some(
          ({ claim, outcomes }) =>
            outcomes.some(({ to }) => to !== "dead") && claim.jobs.some(({ delivery }) => isBad(delivery)),
        ),
      ),
    },
    break: () => void (isBroken = true),
    mend: () => void (isBroken = false),
  };
}
