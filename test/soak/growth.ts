/** A measurement after some deliveries. */
export interface Point {
  readonly deliveries: number;
  readonly waiting: number;
  readonly fileBytes: number;
  readonly walBytes: number;
  /** Used, after a collection. */
  readonly heapBytes: number;
  /** The same of the commit thread. */
  readonly threadHeapBytes: number;
  readonly rssBytes: number;
}

/** Allowed growth over the last half: a share of the mean, and at least so many bytes. */
const BOUNDS = {
  // It holds the deliveries of some seconds, and grows when retention is late on a busy machine.
  fileBytes: { share: 0.4, bytes: 4 * 1024 * 1024 },
  walBytes: { share: 0.1, bytes: 64 * 1024 * 1024 },
  // What is in flight and waits counts, too.
  heapBytes: { share: 0.1, bytes: 8 * 1024 * 1024 },
  threadHeapBytes: { share: 0.1, bytes: 2 * 1024 * 1024 },
  // V8 collects late while there is memory: it varies by tens of MiB.
  rssBytes: { share: 0.1, bytes: 96 * 1024 * 1024 },
} as const;

/** One sentence for each value that grows over the last half of the points. */
export function growthIn(points: readonly Point[]): string[] {
  const half = points.slice(Math.floor(points.length / 2));
  return Object.entries(BOUNDS).flatMap(([name, { share, bytes }]) => {
    const values = half.map((point) => point[name as keyof typeof BOUNDS]);
    const growth = slope(values) * (values.length - 1);
    const bound = Math.max(bytes, mean(values) * share);
    if (growth <= bound) return [];
    return `${name} grew by ${toMib(growth)} MiB over the last half, at most ${toMib(bound)} is flat.`;
  });
}

export const HEADS = ["deliveries", "waiting", "file MiB", "wal MiB", "heap MiB", "thread MiB", "rss MiB"];

/** A row of the table. */
export function toCells(point: Point): string[] {
  const { deliveries, waiting, fileBytes, walBytes, heapBytes, threadHeapBytes, rssBytes } = point;
  const sizes = [fileBytes, walBytes, heapBytes, threadHeapBytes, rssBytes].map(toMib);
  return [String(deliveries), String(waiting), ...sizes];
}

function toMib(bytes: number): string {
  return (bytes / 1024 / 1024).toFixed(1);
}

function mean(values: readonly number[]): number {
  return values.reduce((sum, value) => sum + value, 0) / values.length;
}

/** Growth per point, by least squares. */
function slope(values: readonly number[]): number {
  const [middle, level] = [(values.length - 1) / 2, mean(values)];
  let [over, under] = [0, 0];
  for (const [index, value] of values.entries()) {
    over += (index - middle) * (value - level);
    under += (index - middle) ** 2;
  }
  return over / under;
}
