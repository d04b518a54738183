import { closeSync, openSync } from "node:fs";
import { devNull } from "node:os";
import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import { openFile } from "../../../adapters/inbox/sqlite/connection/open-file.ts";
import { systemClock } from "../../../src/clock.ts";
import { asWriting } from "../../../src/inbox/port/inbox.ts";
import { toLogger } from "../../../src/logger.ts";

// Has no descriptors left, but for so many: opens an inbox with none, and then files by themselves, with one more each time until that goes
// well. Says as JSON what each came to.
const [folder = ""] = process.argv.slice(2);
const taken: number[] = [];

async function outcome(left: number, open: () => unknown): Promise<unknown> {
  try {
    for (;;) taken.push(openSync(devNull, "r"));
  } catch {
    // That was the last.
  }
  for (const descriptor of taken.splice(taken.length - left)) closeSync(descriptor);
  try {
    await open();
    return undefined;
  } catch (error) {
    const { code, message, fix } = error as { readonly code: string; readonly message: string; readonly fix: string };
    return { code, message, fix };
  } finally {
    for (const descriptor of taken.splice(0)) closeSync(descriptor);
  }
}

const inbox = asWriting(sqliteInbox(`${folder}/inbox.db`));
const host = { name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 };
const failures: unknown[] = [await outcome(0, () => inbox.open(host))];
await inbox.close();
for (let left = 0; failures.at(-1) !== undefined; left += 1)
  failures.push(await outcome(left, () => openFile(`${folder}/${left}.db`, "default").close()));
console.log(JSON.stringify(failures.slice(0, -1)));
