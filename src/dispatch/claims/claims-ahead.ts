import { createFifo, type Fifo } from "../../inbox/collections/fifo.ts";
import type { Claim } from "../../inbox/port/claims.ts";
import { accountOf } from "../calls/job-view.ts";

/** Claims that have not started: accounts take turns here as well, or a prefetch of one would go before all others. */
export interface ClaimsAhead extends Pick<Fifo<Claim>, "push" | "shift" | "filter" | "size"> {
  [Symbol.iterator](): Iterator<Claim>;
}

export function createClaimsAhead(fairness: "account" | "none"): ClaimsAhead {
  const accounts = new Map<number | undefined, AccountClaims>();
  /** The one whose turn it is is first. Each has a claim. */
  const turns = createFifo<AccountClaims>();
  let size = 0;

  return {
    push(claim) {
      const account = fairness === "none" ? undefined : turnOf(claim);
      let turn = accounts.get(account);
      if (turn === undefined) {
        turn = { account, claims: createFifo() };
        accounts.set(account, turn);
        turns.push(turn);
      }
      turn.claims.push(claim);
      size += 1;
    },
    shift() {
      const turn = turns.peek();
      if (turn === undefined) return undefined;
      size -= 1;
      const claim = turn.claims.shift();
      if (turn.claims.size > 0 && turns.size === 1) return claim; // no other account waits
      turns.shift();
      if (turn.claims.size > 0) turns.push(turn);
      else accounts.delete(turn.account);
      return claim;
    },
    filter(wanted) {
      size = 0;
      for (const { account, claims } of turns) {
        claims.filter(wanted);
        size += claims.size;
        if (claims.size === 0) accounts.delete(account);
      }
      turns.filter(({ claims }) => claims.size > 0);
    },
    get size() {
      return size;
    },
    *[Symbol.iterator]() {
      for (const { claims } of turns) yield* claims;
    },
  };
}

interface AccountClaims {
  readonly account: number | undefined;
  readonly claims: Fifo<Claim>;
}

/** What an inbox gives may be damaged: a claim that cannot be read ends where it starts. */
function turnOf({ jobs: [job] }: Claim): number | undefined {
  try {
    return accountOf(job);
  } catch {
    return undefined;
  }
}
