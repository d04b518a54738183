const STEPS = [
  ["day", 86_400_000],
  ["hour", 3_600_000],
  ["minute", 60_000],
] as const;

/** How long ago, in one unit; `in ...` for what is still to come. */
export function agoText(ms: number): string {
  const span = Math.abs(ms);
  const [unit, size] = STEPS.find(([, step]) => span >= step) ?? ["second", 1_000];
  const count = Math.floor(span / size);
  const text = `${count.toLocaleString("en-US")} ${unit}${count === 1 ? "" : "s"}`;
  return ms < 0 ? `${text} from now` : `${text} ago`;
}
