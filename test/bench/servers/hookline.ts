import { join } from "node:path";
import { createReceiver, memoryInbox, type Inbox } from "../../../src/index.ts";
import { SECRET } from "../signing.ts";
import { MOUNTS } from "./mounts.ts";
import { connectionOfServer, folderOfServer, serve } from "./serve.ts";

const [where = "", ...flags] = process.argv.slice(2);

// With defaults. Without a handler nothing is handled, so the inbox needs room for everything.
const receiver = createReceiver({
  secret: SECRET,
  inbox: await inboxOf(flags),
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
    const { stored, succeeded } = receiver.stats();
    return { backlog, waiting: stored - succeeded };
  });
} else {
  serve(listener);
}

/** As in an app, the program has the code of its own inbox alone. */
async function inboxOf(kinds: readonly string[]): Promise<Inbox> {
  if (kinds.includes("sqlite")) return inboxInFile();
  if (kinds.includes("postgres")) {
    const { postgresInbox } = await import("../../../adapters/inbox/postgres.ts");
    return postgresInbox(connectionOfServer());
  }
  return memoryInbox({ maxJobs: 20_000_000, maxBytes: 8 * 1024 ** 3 });
}

/** In the temporary folder; with `retention` jobs older than 5 s are deleted. */
async function inboxInFile(): Promise<Inbox<"disk">> {
  const { sqliteInbox } = await import("../../../adapters/inbox/sqlite.ts");
  return sqliteInbox(
    join(folderOfServer(), "inbox.db"),
    flags.includes("retention") ? { keepDoneDays: 5 / 86_400 } : {},
  );
}
