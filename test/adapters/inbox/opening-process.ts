import { writeSync } from "node:fs";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { systemClock } from "../../../src/clock.ts";
import { toLogger } from "../../../src/logger.ts";

// Opens each file, and says `open`, or the code and the message of why not.
for (const file of process.argv.slice(2)) {
  const inbox = createSqliteInbox({ file });
  const said = await inbox.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 1 }).then(
    () => "open",
    (error: { readonly code: string; readonly message: string }) => `${error.code} ${error.message}`,
  );
  writeSync(1, `${said}\n`);
  await inbox.close();
}
