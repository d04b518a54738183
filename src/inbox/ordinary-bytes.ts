/** No more than this is an ordinary delivery, bytes; and of a small limit its 64th part. */
const ORDINARY_BYTES = 16 * 1024;

/** The size of an ordinary delivery, bytes: where there is no room for it beneath a limit, there is none for a smaller one either. */
export function ordinaryBytes(limit: number): number {
  return Math.max(Math.min(ORDINARY_BYTES, limit / 64), 1);
}
