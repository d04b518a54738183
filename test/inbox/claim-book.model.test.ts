import fc from "fast-check";
import { expect, test } from "vitest";
import type { JobOutcome } from "../../src/inbox/port/claims.ts";
import { LANES, PlainClaimBook } from "../support/plain-claim-book.ts";

const error = { name: "Error", message: "no", at: 0 };
const outcome = fc.oneof(
  { weight: 3, arbitrary: fc.constant("done" as const) },
  fc.constantFrom("dead" as const, "release" as const, "unhandled" as const),
  fc.nat(2_000),
);

function outcomeOf(kind: "done" | "dead" | "release" | "unhandled" | number, now: number): JobOutcome {
  if (typeof kind === "number") return { to: "retry", at: now + kind, delayMs: kind, counted: kind % 2 === 0, error };
  return kind === "dead" ? { to: kind, error } : { to: kind };
}

type Command = fc.Command<PlainClaimBook, object>;

/** A verb, with what it gets. */
function verb<A>(name: string, given: fc.Arbitrary<A>, run: (books: PlainClaimBook, given: A) => void) {
  return given.map((value): Command => ({
    check: () => true,
    run(books) {
      const before = books.snapshot();
      run(books, value);
      books.compare(before);
    },
    toString: () => `${name} ${JSON.stringify(value) ?? ""}`,
  }));
}

/** One of the claims that were ever taken, the last ones first, and whatever became of it. */
function picked(books: PlainClaimBook, place: number, ...states: readonly string[]) {
  const may = books.claims.filter(({ state }) => states.length === 0 || states.includes(state));
  return may.at(-1 - (place % Math.max(may.length, 1)));
}

type Picked = NonNullable<ReturnType<typeof picked>>;

/** A verb on a claim in one of these states; in any, where none is given. */
function onClaim(name: string, states: readonly string[], run: (books: PlainClaimBook, one: Picked) => void) {
  return verb(name, fc.nat(8), (books, place) => {
    const one = picked(books, place, ...states);
    if (one !== undefined) run(books, one);
  });
}

const plan = (states: readonly string[]): fc.Arbitrary<Command> =>
  verb("plan", fc.tuple(fc.nat(8), fc.array(outcome, { minLength: 1, maxLength: 4 })), (books, [place, kinds]) => {
    const one = picked(books, place, ...states);
    if (one === undefined) return;
    const outcomes = one.jobs.map((_, job) => kinds[job % kinds.length] ?? "done");
    // Where it says less than there are jobs, the others are released.
    const said = kinds.length === 4 ? outcomes.slice(0, 1) : outcomes;
    books.plan(
      one,
      said.map((kind) => outcomeOf(kind, books.now)),
    );
  });

const limits = fc.record({ max: fc.nat(4), mergeMax: fc.integer({ min: 1, max: 4 }) });

const COMMANDS: fc.Arbitrary<Command>[] = [
  ...repeated(
    5,
    verb(
      "append",
      fc.tuple(fc.constantFrom(...LANES, undefined), fc.constantFrom("x", "x", "y", undefined)),
      (books, [lane, key]) => books.append(lane, key),
    ),
  ),
  ...repeated(
    4,
    verb("take", limits, (books, given) => books.take(given)),
  ),
  verb("take suspects", limits, (books, given) => books.take({ ...given, suspects: true })),
  ...repeated(
    4,
    onClaim("begin", ["ahead"], (books, one) => books.begin(one)),
  ),
  onClaim("shorten to two", ["ahead"], (books, one) => books.shorten(one, 2)),
  onClaim("shorten to one", ["ahead"], (books, one) => books.shorten(one, 1)),
  onClaim("giveBack", ["ahead"], (books, one) => books.giveBack(one)),
  ...repeated(3, plan(["running"])),
  plan([]),
  ...repeated(
    2,
    onClaim("holds", ["settling"], (books, one) => books.holds(one)),
  ),
  onClaim("mayNotHold", ["settling"], (books, one) => books.mayNotHold(one)),
  onClaim("handlerEnded", ["lost"], (books, one) => books.handlerEnded(one)),
  onClaim("handlerEnded", [], (books, one) => books.handlerEnded(one)),
  verb("remove", fc.array(fc.nat(12), { minLength: 1, maxLength: 3 }), (books, places) =>
    books.remove(books.jobs.filter((_, place) => places.includes(place))),
  ),
  verb("revoke", fc.constant(undefined), (books) => books.revoke()),
  verb("nextTenure", fc.constant(undefined), (books) => books.nextTenure()),
  verb("revoke, nextTenure", fc.constant(undefined), (books) => {
    books.revoke();
    books.nextTenure();
  }),
  verb("orphan", fc.constant(undefined), (books) => books.orphan()),
  verb("pass", fc.nat(1_500), (books, ms) => void (books.now += ms)),
];

function repeated<T>(times: number, value: T): T[] {
  return Array.from({ length: times }, () => value);
}

/** Handlers end, writes hold, and all time passes: every job that is not gone runs, and is done. */
function endAll(books: PlainClaimBook): void {
  books.now += 1_000_000;
  for (let turn = 0; !books.isEmpty; turn += 1) {
    expect(turn).toBeLessThan(1_000);
    for (const suspects of [false, true]) books.take({ max: 3, mergeMax: 2, suspects });
    for (const one of books.claims) {
      if (one.state === "ahead") books.begin(one);
      if (one.state === "running")
        books.plan(
          one,
          one.jobs.map(() => ({ to: "done" })),
        );
      if (one.state === "settling") books.holds(one);
      if (one.state === "lost") books.handlerEnded(one);
    }
  }
  expect(books.book.take({ max: 10, mergeMax: 10 }, books.now)).toEqual([]);
  for (const lane of LANES) expect(books.book.isFree(lane)).toBe(true);
}

test("a claim book is what its plain specification is: one claim a lane, settled once, nothing lost, over many tenures", () => {
  fc.assert(
    fc.property(fc.commands(COMMANDS, { maxCommands: 80, size: "max" }), (commands) => {
      const books = new PlainClaimBook();
      fc.modelRun(() => ({ model: books, real: {} }), commands);
      endAll(books);
    }),
    { numRuns: 2_000 },
  );
});
