/**
 * Who may still settle a claim: nobody but who has it `running`.
 *
 * `ahead`: its jobs are taken, and it has not begun. `running`: its handler runs, or will. `settling`: what becomes of its jobs is being
 * written. `lost`: it ended before its handler, for which its lane waits. `ended`: its lane is open.
 */
export type ClaimState = "ahead" | "running" | "settling" | "lost" | "ended";

/** A write that failed may not hold: the claim runs as before, and is settled again. */
const NEXT: { readonly [state in ClaimState]: readonly ClaimState[] } = {
  ahead: ["running", "ended"],
  running: ["settling", "lost"],
  settling: ["ended", "running", "lost"],
  lost: ["ended"],
  ended: [],
};

/** @throws Error where it cannot: two would settle one claim, or a lane would have two */
export function become(record: { state: ClaimState }, state: ClaimState): void {
  if (!NEXT[record.state].includes(state)) throw new Error(`A claim that is ${record.state} cannot become ${state}.`);
  record.state = state;
}
