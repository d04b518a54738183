import { createFifo, type Fifo } from "../inbox/collections/fifo.ts";
import type { Claim } from "../inbox/port/claims.ts";
import { accountOf } from "./calls/job-view.ts";

/** Claims that have not started: accounts take turns here as well, or a prefetch of one would go before all others. */
export interface ClaimsAhead extends Pick<Fifo<Claim>, "push" | "shift" | "filter" | "size"> {
  [Symbol.iterator](): Iterator<Claim>;
}

export function createClaimsAhead(fairness: "account" | "none"): ClaimsAhead {
  /** By account; the one whose turn it is is first. */
  const turns = new Map<number | undefined, Fifo<Claim>>();
  let size = 0;

  return {
    push(claim) {
      const account = fairness === "none" ? undefined : turnOf(claim);
      const claims = turns.get(account) ?? createFifo<Claim>();
      claims.push(claim);
      turns.set(account, claims);
      size += 1;
    },
    shift() {
      for (const [account, claims] of turns) {
        const claim = claims.shift();
        size -= 1;
        if (turns.size > 1 || claims.size === 0) turns.delete(account);
        if (claims.size > 0) turns.set(account, claims);
        return claim;
      }
      return undefined;
    },
    filter(wanted) {
      for (const [account, claims] of turns) {
        size -= claims.size;
        claims.filter(wanted);
        size += claims.size;
        if (claims.size === 0) turns.delete(account);
      }
    },
    get size() {
      return size;
    },
    *[Symbol.iterator]() {
      for (const claims of turns.values()) yield* claims;
    },
  };
}

/** What an inbox gives may be damaged: a claim that cannot be read ends where it starts. */
function turnOf({ jobs: [job] }: Claim): number | undefined {
  try {
    return accountOf(job);
  } catch {
    return undefined;
  }
}
