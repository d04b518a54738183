import type { Gaps, SubscribedResource, WorkingInbox } from "hookline/adapter";
import { expect, test } from "vitest";
import { openToRead } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { beside, onDisk } from "./on-disk.ts";

const mail: SubscribedResource = {
  source: undefined,
  subscription: 1,
  accountId: 7,
  resource: "/email/messages",
  family: "email",
};

test("a process that only receives marks, and adds gaps, for all on the file", async () => {
  const { inbox, file, host } = await onDisk();
  const receiving = await beside(file, host);
  await gapsOf(receiving).mark({ at: 1_000, afterMs: 100 });
  await gapsOf(receiving).seen([mail], 1_000);
  await gapsOf(receiving).add([{ ...mail, subscription: 2, cause: "refused", from: 500, until: 600 }]);
  expect(await gapsOf(inbox).mark({ at: 2_000, afterMs: 100 })).toBe(1_000);
  expect(await gapsOf(receiving).mark({ at: 2_000, afterMs: 100 })).toBeUndefined();
  expect((await gapsOf(inbox).find({ limit: 10 })).gaps).toEqual([
    { ...mail, cause: "down", from: 1_000, until: 2_000 },
    { ...mail, subscription: 2, cause: "refused", from: 500, until: 2_000 },
  ]);
});

test("10,000 resources are seen in one commit, and get their gap with one mark", async () => {
  const { inbox } = await onDisk();
  const many = Array.from({ length: 10_000 }, (_, accountId) => ({ ...mail, accountId }));
  await gapsOf(inbox).seen(many, 1_000);
  await gapsOf(inbox).mark({ at: 1_000, afterMs: 100 });
  expect(await gapsOf(inbox).mark({ at: 2_000, afterMs: 100 })).toBe(1_000);
  expect(await gapsOf(inbox).count()).toEqual([{ family: "email", count: 10_000, open: 0, from: 1_000, until: 2_000 }]);
});

test("one who only looks finds them, counts them, and changes none", async () => {
  const { inbox, file, host } = await onDisk();
  const gap = { ...mail, cause: "errored", from: 1, until: undefined } as const;
  await gapsOf(inbox).add([gap]);
  const looking = await beside(file, host, { isReadOnly: true, openThread: openToRead });
  await expect(gapsOf(looking).mark({ at: 1_000, afterMs: 100 })).rejects.toThrow("to read only");
  await expect(gapsOf(looking).remove([gap])).rejects.toThrow("to read only");
  expect((await gapsOf(looking).find({ limit: 10 })).gaps).toEqual([gap]);
  expect(await gapsOf(looking).count()).toEqual([{ family: "email", count: 1, open: 1, from: 1, until: undefined }]);
});

function gapsOf({ gaps }: WorkingInbox): Gaps {
  if (gaps === undefined) throw new Error("the inbox has no gaps");
  return gaps;
}
