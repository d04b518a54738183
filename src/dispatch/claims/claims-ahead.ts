import { createFifo, type Fifo } from "../../inbox/collections/fifo.ts";
import type { Claim, ClaimedJob } from "../../inbox/port/claims.ts";
import { accountOf } from "../calls/job-view.ts";

/** Claims that have not started: accounts take turns here as well, or a prefetch of one would go before all others. */
export interface ClaimsAhead extends Pick<Fifo<Claim>, "push" | "shift" | "filter" | "size"> {
  /** Their bodies take so much memory that no more are to be claimed. */
  readonly isFull: boolean;
  [Symbol.iterator](): Iterator<Claim>;
}

/** Of bodies, in memory. */
const MAX_BYTES = 64 * 1024 * 1024;

export function createClaimsAhead(fairness: "account" | "none"): ClaimsAhead {
  const accounts = new Map<number | undefined, AccountClaims>();
  /** The one whose turn it is is first. Each has a claim. */
  const turns = createFifo<AccountClaims>();
  let size = 0;
  let bytes = 0;

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
      bytes += bytesOf(claim);
    },
    shift() {
      const turn = turns.peek();
      if (turn === undefined) return undefined;
      size -= 1;
      const claim = turn.claims.shift();
      if (claim !== undefined) bytes -= bytesOf(claim);
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
      bytes = 0;
      for (const { claims } of turns) for (const claim of claims) bytes += bytesOf(claim);
    },
    get isFull() {
      return bytes >= MAX_BYTES;
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

/** Jobs of one delivery share its body. */
function bytesOf({ jobs }: Claim): number {
  let bytes = 0;
  let last: unknown;
  for (const { delivery } of jobs as readonly Partial<ClaimedJob>[]) {
    if (delivery !== last) bytes += delivery?.body?.byteLength ?? 0;
    last = delivery;
  }
  return bytes;
}

/** What an inbox gives may be damaged: a claim that cannot be read ends where it starts. */
function turnOf({ jobs: [job] }: Claim): number | undefined {
  try {
    return accountOf(job);
  } catch {
    return undefined;
  }
}
