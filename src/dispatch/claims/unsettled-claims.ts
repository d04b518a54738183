import type { Claim } from "../../inbox/port/claims.ts";

/**
 * Claims whose calls have ended, and whose outcome is not in the inbox yet: it refuses it, or the application's transaction is open. Such a
 * claim keeps its lane, and nothing that others wait for.
 */
export interface UnsettledClaims {
  /** @param free gives back all but the lane; returns what is to be called when the claim is settled */
  add(claim: Claim, free: (claim: Claim) => () => void): void;
  settled(claim: Claim): void;
  /** Of all of them. */
  readonly jobs: number;
}

export function createUnsettledClaims(): UnsettledClaims {
  const claims = new Map<Claim, () => void>();
  let jobs = 0;

  return {
    add(claim, free) {
      if (claims.has(claim)) return;
      claims.set(claim, free(claim));
      jobs += claim.jobs.length;
    },
    settled(claim) {
      const end = claims.get(claim);
      if (end === undefined) return;
      claims.delete(claim);
      jobs -= claim.jobs.length;
      end();
    },
    get jobs() {
      return jobs;
    },
  };
}
