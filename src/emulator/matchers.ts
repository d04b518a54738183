import type { Attempt } from "./deliveries/journal.ts";
import type { Emulator } from "./emulator-types.ts";

/** What an attempt must have. Fields that are left out match everything. */
export interface ExpectedDelivery {
  subscription?: number | undefined;
  status?: number | undefined;
  outcome?: Attempt["outcome"] | undefined;
  attempt?: number | undefined;
  /** Fields of the body, also of entries of `payloads`. */
  body?: object | undefined;
  /** How many such attempts. @default at least one */
  times?: number | undefined;
}

/** For vitest's types: `declare module "vitest" { interface Matchers<R, T> extends EmulatorMatchers<R> {} }`. */
export interface EmulatorMatchers<R = unknown> {
  /** The emulator's journal has an attempt like this. */
  toHaveDelivered(expected?: ExpectedDelivery): R;
}

/** What a matcher says. */
export interface MatcherResult {
  readonly pass: boolean;
  /** For a failure, of `.not` too. */
  readonly message: () => string;
}

/**
 * For `expect.extend` of vitest, and of other runners that take the same matchers.
 *
 * @example
 * expect.extend(emulatorMatchers);
 * expect(emulator).toHaveDelivered({ status: 200, body: { payloads: [{ changeType: "created" }] } });
 */
export const emulatorMatchers: {
  /** The emulator's journal has an attempt like this. */
  toHaveDelivered(emulator: Emulator, expected?: ExpectedDelivery): MatcherResult;
} = { toHaveDelivered };

function toHaveDelivered(emulator: Emulator, expected: ExpectedDelivery = {}): MatcherResult {
  const { times, body, ...fields } = expected;
  const found = emulator.journal.filter(
    (attempt) => contains(attempt, fields) && (body === undefined || contains(JSON.parse(attempt.body), body)),
  );
  const pass = times === undefined ? found.length > 0 : found.length === times;
  const wanted = pass ? "no" : (times ?? "an");
  const shown = (found.length > 0 ? found : emulator.journal).slice(-SHOWN).map(line).join("\n");
  return {
    pass,
    message: () =>
      `expected ${wanted} attempt like ${JSON.stringify(expected)}, got ${found.length} of ${emulator.attempts}:\n${shown}`,
  };
}

const SHOWN = 10;

function line({ subscription, attempt, status, outcome, failure, body }: Attempt): string {
  return `  ${subscription}, attempt ${attempt}: ${status ?? failure}, ${outcome}, ${body.slice(0, 200)}`;
}

/** Everything that is expected is there; there may be more. */
function contains(got: unknown, expected: unknown): boolean {
  if (expected === undefined) return true;
  if (typeof expected !== "object" || expected === null) return Object.is(got, expected);
  if (typeof got !== "object" || got === null) return false;
  if (Array.isArray(expected))
    return Array.isArray(got) && expected.every((entry) => got.some((one) => contains(one, entry)));
  return Object.entries(expected).every(([key, value]) => contains((got as Record<string, unknown>)[key], value));
}
