/** The limits of a timestamp. */
export interface Freshness {
  /** The present time, milliseconds since the epoch. */
  readonly nowMs: number;
  /** How old a request may be, seconds. */
  readonly maxAgeSeconds: number;
}

/**
 * Seven days, in seconds. It is not known whether a redelivery keeps its first timestamp; if it does, a short window would refuse
 * a backlog for ever. @see protocol 8
 */
export const DEFAULT_MAX_AGE_SECONDS = 604_800;

/** How far a sender's clock may be ahead of ours, seconds. */
const MAX_FUTURE_SECONDS = 300;

/** The problem of a request that is too old, or from the future. */
export function ageProblem(
  sentAtMs: number,
  { nowMs, maxAgeSeconds }: Freshness,
): `timestamp-${"stale" | "future"}` | undefined {
  const ageMs = nowMs - sentAtMs;
  // In this form, a NaN is refused.
  if (!(ageMs <= maxAgeSeconds * 1000)) return "timestamp-stale";
  return ageMs < -MAX_FUTURE_SECONDS * 1000 ? "timestamp-future" : undefined;
}
