import { join } from "node:path";
import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import { createReceiver, memoryInbox, type Inbox } from "../../../src/index.ts";
import { SECRET } from "../signing.ts";
import { MOUNTS } from "./mounts.ts";
import { folderOfServer, serve } from "./serve.ts";

const [where = "", ...flags] = process.argv.slice(2);

// With defaults. Without a handler nothing is handled, so the inbox needs room for everything.
const receiver = createReceiver({
  secret: SECRET,
  inbox: flags.includes("sqlite") ? inboxInFile() : memoryInbox({ maxJobs: 20_000_000, maxBytes: 8 * 1024 ** 3 }),
});

const listener = await MOUNTS[where]?.(receiver);
if (listener === undefined)
  throw new TypeError(`Got the mount "${where}", expected ${Object.keys(MOUNTS).join(", ")}.`);

if (flags.includes("handler")) {
  receiver.on("email", () => {});
  await receiver.start();
  let most = 0;
  const look = (): void => {
    const { stored, succeeded } = receiver.stats();
    most = Math.max(most, stored - succeeded);
  };
  setInterval(look, 50).unref();
  serve(listener, () => {
    look();
    const backlog = most;
    most = 0;
    return { backlog };
  });
} else {
  serve(listener);
}

/** In the temporary folder; with `retention` jobs older than 5 s are deleted. */
function inboxInFile(): Inbox<"disk"> {
  return sqliteInbox(
    join(folderOfServer(), "inbox.db"),
    flags.includes("retention") ? { keepDoneDays: 5 / 86_400 } : {},
  );
}
