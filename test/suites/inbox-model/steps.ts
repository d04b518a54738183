import fc, { type Arbitrary } from "fast-check";

/** One entry of a delivery to store. */
export interface EntryToStore {
  readonly lane: "a" | "b" | "c" | undefined;
  readonly merge: "x" | "y" | undefined;
  readonly jobs: "one" | "two" | "skipped" | "unhandled";
  /** Key and content of an event that is told once. */
  readonly unique: readonly [string, string] | undefined;
}

/** What becomes of a job, `over` is dead of its window; a number is the delay of a retry, an odd one is not counted. */
export type OutcomeToGive = "done" | "dead" | "over" | "release" | "unhandled" | number;

/** What is done to an inbox and to its plain specification alike. */
export type Step =
  | { readonly do: "store"; readonly deliveries: readonly DeliveryToStore[] }
  | { readonly do: "expand"; readonly max: number; readonly part: boolean }
  | {
      readonly do: "claim";
      readonly max: number;
      readonly mergeMax: number;
      readonly slots?: number;
      readonly suspects: boolean;
    }
  /** Claims by their place among all that were ever had, those that stand first: late ones too, and the same one twice. */
  | { readonly do: "settle"; readonly claims: readonly number[]; readonly outcomes: readonly OutcomeToGive[] }
  | { readonly do: "replay" | "drop" | "reopen"; readonly jobs: readonly number[] }
  | { readonly do: "replay all" | "drop all"; readonly states: readonly ("dead" | "unhandled")[] }
  | { readonly do: "erase"; readonly account: number }
  | { readonly do: "pass" | "jump"; readonly ms: number }
  | { readonly do: "die" | "restart" | "let a month pass" }
  | { readonly do: "put" | "lift"; readonly subscription: number; readonly source: string | undefined }
  | { readonly do: "pause" | "resume"; readonly what: { readonly consumer?: string; readonly accountId?: number } };

/** A delivery to store. */
export interface DeliveryToStore {
  readonly account: number;
  /** By a process that works. */
  readonly expanded: boolean;
  readonly entries: readonly EntryToStore[];
}

/** Walks of at most so many steps. */
export function walksOf(length: number): Arbitrary<readonly Step[]> {
  const account = fc.constantFrom(1, 1, 1, 2);
  const few = fc.array(fc.nat(7), { minLength: 1, maxLength: 3 });
  const states = fc.subarray(["dead", "unhandled"] as const, { minLength: 1 });
  const stone = { subscription: fc.constantFrom(5, 55), source: fc.constantFrom(undefined, "crm", "shop") };
  const what = fc.constantFrom(
    { consumer: "default" },
    { accountId: 1 },
    { accountId: 2 },
    { consumer: "default", accountId: 1 },
  );
  const unique = fc.constantFrom<EntryToStore["unique"]>(["k", "1"], ["k", "2"], ["l", "1"]);
  const entry: Arbitrary<EntryToStore> = fc.record({
    lane: fc.constantFrom("a" as const, "a" as const, "a" as const, "b" as const, "c" as const, undefined),
    merge: fc.constantFrom("x" as const, "x" as const, "x" as const, "x" as const, "y" as const, undefined),
    jobs: fc.constantFrom(
      "one" as const,
      "one" as const,
      "one" as const,
      "two" as const,
      "skipped" as const,
      "unhandled" as const,
    ),
    unique: fc.oneof({ weight: 5, arbitrary: fc.constant(undefined) }, { weight: 1, arbitrary: unique }),
  });
  const delivery: Arbitrary<DeliveryToStore> = fc.record({
    account,
    expanded: fc.integer({ min: 0, max: 15 }).map((n) => n > 0),
    entries: fc.array(entry, { minLength: 1, maxLength: 4 }),
  });
  const outcome: Arbitrary<OutcomeToGive> = fc.oneof(
    fc.constantFrom(
      "done" as const,
      "dead" as const,
      "over" as const,
      "over" as const,
      "release" as const,
      "unhandled" as const,
    ),
    fc.constantFrom(0, 1, 500, 999, 3_000),
  );
  const limits = { max: fc.integer({ min: 0, max: 4 }), mergeMax: fc.integer({ min: 1, max: 4 }), slots: fc.nat(3) };

  const step: Arbitrary<Step> = fc.oneof(
    weighted(16, { do: fc.constant("store" as const), deliveries: fc.array(delivery, { minLength: 1, maxLength: 3 }) }),
    weighted(12, { do: fc.constant("expand" as const), max: fc.integer({ min: 1, max: 4 }), part: fc.boolean() }),
    weighted(24, { do: fc.constant("claim" as const), ...limits, suspects: fc.constantFrom(false, false, true) }),
    weighted(24, {
      do: fc.constant("settle" as const),
      claims: fc.array(fc.nat(3), { minLength: 1, maxLength: 3 }),
      outcomes: fc.array(outcome, { minLength: 4, maxLength: 4 }),
    }),
    weighted(10, { do: fc.constantFrom("replay" as const, "drop" as const, "reopen" as const), jobs: few }),
    weighted(4, { do: fc.constantFrom("replay all" as const, "replay all" as const, "drop all" as const), states }),
    weighted(1, { do: fc.constant("erase" as const), account }),
    weighted(6, { do: fc.constant("pass" as const), ms: fc.nat(3_000) }),
    weighted(3, { do: fc.constant("jump" as const), ms: fc.integer({ min: -6_000, max: 6_000 }) }),
    weighted(8, { do: fc.constant("die" as const) }),
    weighted(2, {
      do: fc.constantFrom("restart" as const, "restart" as const, "restart" as const, "let a month pass" as const),
    }),
    weighted(6, { do: fc.constantFrom("pause" as const, "resume" as const, "resume" as const), what }),
    weighted(3, { do: fc.constantFrom("put" as const, "put" as const, "lift" as const), ...stone }),
  );
  return fc.array(step, { maxLength: length, size: "max" });

  function weighted<T extends Step>(weight: number, model: { [K in keyof T]: Arbitrary<T[K]> }) {
    return { weight, arbitrary: fc.record(model) as unknown as Arbitrary<Step> };
  }
}
