/** A short span of time; below 10 ms with a decimal. */
export function milliseconds(ms: number): string {
  return `${ms < 10 ? ms.toFixed(1) : grouped(Math.round(ms))} ms`;
}

/** A longer one. */
export function duration(ms: number): string {
  return ms < 1_000 ? milliseconds(ms) : `${grouped(ms / 1_000)} s`;
}

/** How many in a second. */
export function perSecond(count: number, ms: number): string {
  const rate = ms > 0 ? (count / ms) * 1_000 : 0;
  return `${grouped(rate < 10 ? rate : Math.round(rate))} per second`;
}

/** A number with a comma between its thousands. */
export function grouped(count: number): string {
  return count.toLocaleString("en-US", { maximumFractionDigits: 1 });
}

/** The percentile of sorted values, by the nearest rank. */
export function percentile(sorted: readonly number[], share: number): number {
  return sorted[Math.max(Math.ceil(sorted.length * share) - 1, 0)] ?? Number.NaN;
}

/** A time as tables show it, to the minute, in UTC. */
export function minuteText(at: Date): string {
  return at.toISOString().slice(0, 16).replace("T", " ");
}

/** The same to the second. */
export function secondText(at: Date): string {
  return at.toISOString().slice(0, 19).replace("T", " ");
}

/** Bytes in the unit that reads best. */
export function sizeText(bytes: number): string {
  const mebibytes = bytes / 1024 ** 2;
  return mebibytes < 1_024 ? `${grouped(mebibytes)} MiB` : `${grouped(mebibytes / 1_024)} GiB`;
}
