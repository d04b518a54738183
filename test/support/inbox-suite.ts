import { describe, onTestFinished, test } from "vitest";
import type { WorkingInbox } from "../../src/inbox/port.ts";
import { openBench } from "./inbox-suite/bench.ts";
import { dropping, erasing, reopening, replaying } from "./inbox-suite/changing.ts";
import { claiming } from "./inbox-suite/claiming.ts";
import { deduplicating } from "./inbox-suite/deduplicating.ts";
import { keeping } from "./inbox-suite/keeping.ts";
import { looking } from "./inbox-suite/looking.ts";
import { settling } from "./inbox-suite/settling.ts";
import { tombstones } from "./inbox-suite/tombstones.ts";

/** What every inbox promises: the port, sentence by sentence. The cases know no test runner. */
const CASES = {
  keeping,
  deduplicating,
  claiming,
  settling,
  looking,
  replaying,
  dropping,
  erasing,
  reopening,
  tombstones,
};

/**
 * Holds an inbox against the port.
 * @param make a new one, empty and not yet open
 */
export function inboxSuite(name: string, make: () => WorkingInbox | Promise<WorkingInbox>): void {
  describe(name, () => {
    describe.each(Object.entries(CASES))("%s:", (_, cases) => {
      test.each(Object.entries(cases))("%s", async (_sentence, run) => {
        const bench = await openBench(make);
        onTestFinished(() => bench.inbox.close());
        await run(bench);
      });
    });
  });
}
