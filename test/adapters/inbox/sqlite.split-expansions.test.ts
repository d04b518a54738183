import { expect, test } from "vitest";
import { mail, raw } from "../../suites/inbox/deliveries.ts";
import { storeAll } from "../../suites/inbox/verbs.ts";
import { openThread } from "../../../adapters/inbox/sqlite/thread/thread-client.ts";
import { onDisk } from "./on-disk.ts";
import { run } from "./retries.ts";

/** SQLite's SQLITE_BUSY. */
const BUSY = { error: { code: "ERR_SQLITE_ERROR", message: "database is locked", fix: undefined, errcode: 5 } };

test("where a part of what is expanded at once fails, and is in another commit, no newer delivery overtakes it", async () => {
  let fails = true;
  const { inbox } = await onDisk({
    async openThread(...given) {
      const channel = await openThread(...given);
      return {
        ...channel,
        // The first of a call, as where another program holds the file for that commit.
        run: async (batch) => {
          const [first, ...rest] = batch.tasks;
          if (!fails || first?.verb !== "expand") return channel.run(batch);
          fails = false;
          return [BUSY, ...(await channel.run({ ...batch, tasks: rest }))];
        },
      };
    },
  });
  await inbox.store(["a", "b", "c"].map((id) => raw(mail([id]))));
  const expand = async () => {
    const page = await inbox.unexpanded(10);
    return inbox.expand(page.map(({ id, delivery }) => ({ id, events: eventsIn(delivery.body), cursor: undefined })));
  };
  await expect(expand()).rejects.toMatchObject({ code: "file-locked" });
  expect(inbox.stats()).toMatchObject({ unexpanded: 3, waiting: 0 });
  await expand();
  expect(await run(inbox)).toEqual(["a", "b", "c"]);
});

test("a part that comes again after a commit of unknown outcome makes no job twice", async () => {
  const { inbox } = await onDisk();
  const { events } = mail(["a", "b", "c"]);
  const [stored] = await storeAll(inbox, raw(mail(["a", "b", "c"])));
  const id = stored?.id ?? "";
  const part = { id, events: events.slice(0, 2), cursor: 2 };
  await inbox.expand([part]);
  await inbox.expand([part]);
  await inbox.expand([{ id, events: events.slice(2), cursor: undefined }]);
  expect(await run(inbox)).toEqual(["a", "b", "c"]);
});

function eventsIn(body: Uint8Array) {
  const { payloads } = JSON.parse(Buffer.from(body).toString()) as { readonly payloads: readonly { id: string }[] };
  return mail(payloads.map(({ id }) => id)).events;
}
