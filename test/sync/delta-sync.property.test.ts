import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { createEmulator, type Emulator } from "hookline/emulator";
import type { SyncFamily } from "hookline/sync";
import { createWorld, TOKEN_LIFE_MS, type Change, type Incident } from "./world.ts";

/** What a user does: changes of the mailbox, a sync in which something goes wrong, time, a restart. */
type Step =
  | { readonly step: "changes"; readonly changes: readonly Change[] }
  | { readonly step: "sync"; readonly incidents: readonly Incident[] }
  | { readonly step: "expire" | "crash" | "lose-tokens" };

const change: fc.Arbitrary<Change> = fc.record({
  change: fc.constantFrom("add", "add", "update", "remove", "out", "in"),
  nth: fc.nat(20),
});
const incident: fc.Arbitrary<Incident> = fc.oneof(
  { weight: 8, arbitrary: fc.constant(undefined) },
  { weight: 4, arbitrary: change },
  {
    weight: 4,
    arbitrary: fc.constantFrom<Incident>("fail", "half", "crash", "lose-answer", "refuse-page", "refuse", "expire"),
  },
);
const step: fc.Arbitrary<Step> = fc.oneof(
  { weight: 4, arbitrary: fc.array(change, { maxLength: 6 }).map((changes): Step => ({ step: "changes", changes })) },
  {
    weight: 6,
    arbitrary: fc.array(incident, { maxLength: 24 }).map((incidents): Step => ({ step: "sync", incidents })),
  },
  { weight: 2, arbitrary: fc.constantFrom<Step>({ step: "expire" }, { step: "expire" }, { step: "crash" }) },
);
const steps = fc.array(step, { minLength: 2, maxLength: 14 });

/** Some pages. */
const FIRST_RECORDS = 5;
/** At the end nothing goes wrong any more; a walk may have to begin anew once. */
const LAST_SYNCS = 2;

describe.each<SyncFamily>(["email", "calendarEvent", "contact", "task"])("the copy of %s", (family) => {
  let emulator: Emulator;
  beforeAll(async () => {
    emulator = await createEmulator({
      clock: "virtual",
      pageSize: 2,
      deltaSync: { tokenLifeMs: TOKEN_LIFE_MS },
    });
  });
  afterAll(() => emulator.close());

  async function play(played: readonly Step[], hasKnown: boolean) {
    const world = await createWorld(emulator, { family, hasKnown });
    for (let nth = 0; nth < FIRST_RECORDS; nth += 1) await world.change({ change: "add", nth });
    for (const one of played) {
      if (one.step === "changes") for (const each of one.changes) await world.change(each);
      else if (one.step === "sync") await world.sync(one.incidents);
      else if (one.step === "expire") await world.expire();
      else if (one.step === "crash") await world.crash();
      else world.tokens.clear();
    }
    for (let nth = 0; nth < LAST_SYNCS; nth += 1) expect(await world.sync()).toBeUndefined();
    const problems = await world.problems();
    const contents = world.contents();
    await world.crash();
    expect(world.wrong).toEqual([]);
    return { ...contents, isIncomplete: problems.includes("sync-incomplete") };
  }

  test("equals the mailbox, whatever fails, crashes, expires or changes meanwhile", async () => {
    const lose: fc.Arbitrary<Step> = fc.constant({ step: "lose-tokens" });
    const all = fc.array(fc.oneof({ weight: 20, arbitrary: step }, { weight: 1, arbitrary: lose }), {
      minLength: 2,
      maxLength: 14,
    });
    await fc.assert(
      fc.asyncProperty(all, async (played) => {
        const { copy, mailbox, isIncomplete } = await play(played, true);
        expect(copy).toEqual(mailbox);
        expect(isIncomplete).toBe(false);
      }),
      { numRuns: RUNS[family] },
    );
  });

  test("has all that the mailbox has, also without `known`; where it may have more, health() says so", async () => {
    await fc.assert(
      fc.asyncProperty(steps, async (played) => {
        const { copy, mailbox, isIncomplete } = await play(played, false);
        if (isIncomplete) expect(copy).toMatchObject(mailbox);
        else expect(copy).toEqual(mailbox);
      }),
      { numRuns: RUNS[family] },
    );
  });
});

/** Of each property. Contacts and tasks differ in their paths alone. */
const RUNS: Readonly<Record<SyncFamily, number>> = { email: 40, calendarEvent: 40, contact: 12, task: 12 };
