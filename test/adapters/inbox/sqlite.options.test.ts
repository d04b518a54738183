import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { expect, test } from "vitest";
import { mail } from "../../suites/inbox/deliveries.ts";
import { fastTmpdir } from "../../support/fast-tmpdir.ts";
import { claimOne, DONE, onDisk } from "./on-disk.ts";

test.each([
  ["", ""],
  [":memory:", ":memory:"],
  [undefined, "undefined"],
  [new URL("https://example.com/inbox.db"), "https"],
])("%j is no file", (file, got) => {
  expect(() => sqliteInbox(file as string)).toThrow(
    expect.objectContaining({ code: "option-invalid", message: expect.stringContaining(`got ${got}`) }),
  );
});

test.each(["file:inbox.db", "FILE:///tmp/inbox.db", "sqlite:inbox.db", "sqlite3://inbox.db", "https://example.com"])(
  "%s is an address as a text: refused at once, before anything is made",
  (file) => {
    expect(() => sqliteInbox(file)).toThrow(
      expect.objectContaining({
        code: "option-invalid",
        message: expect.stringContaining(`got ${file}`),
        fix: expect.stringContaining("new URL("),
      }),
    );
  },
);

test.each(["inbox.db", "C:\\data\\inbox.db", "./file:inbox.db", "/var/lib/a:b/inbox.db"])("%s is a path", (file) => {
  expect(() => sqliteInbox(file)).not.toThrow();
});

test.each([
  ["keepDoneDays", 0, "a positive number"],
  ["keepUnhandledDays", Number.NaN, "a positive number"],
  ["keepDeadDays", 0, "a positive number"],
  ["keepDeadDays", Number.NaN, "a positive number"],
  ["minFreeDiskBytes", -1, "a whole number from 0 on"],
  ["maxJobs", 0.5, "a whole number from 1 on"],
])("%s of %s is refused", (name, value, expected) => {
  expect(() => sqliteInbox("inbox.db", { [name]: value })).toThrow(
    expect.objectContaining({
      code: "option-invalid",
      message: `sqliteInbox got ${name} ${value}, expected ${expected}.`,
    }),
  );
});

test.each([
  ["./sqlite-thread.js", "a text"],
  [new URL("https://example.com/thread.js"), "https://example.com/thread.js"],
  [new URL("file:///nowhere/sqlite-thread.js"), "file:///nowhere/sqlite-thread.js"],
])("a threadUrl of %s is refused, and the error says how a build makes that file", (threadUrl, got) => {
  expect(() => sqliteInbox("inbox.db", { threadUrl: threadUrl as URL })).toThrow(
    expect.objectContaining({
      code: "option-invalid",
      message: expect.stringContaining(`got threadUrl ${got}, expected the file: URL`),
      fix: expect.stringContaining("hookline/sqlite-thread"),
    }),
  );
});

test("a file may be named by a URL, need not keep room on the disk, and is made when it is opened", async () => {
  const folder = mkdtempSync(join(fastTmpdir(), "hookline-"));
  const file = join(folder, "inbox.db");
  const inbox = sqliteInbox(pathToFileURL(file), { minFreeDiskBytes: 0 });
  expect(existsSync(file)).toBe(false);
  const receiver = createReceiver({ secret: "a secret", inbox, storeTimeoutMs: 60_000, log: false });
  await receiver.start();
  expect(existsSync(file)).toBe(true);
  expect(receiver.storage).toBe("disk");
  await receiver.close();
  rmSync(folder, { recursive: true });
});

test("with maxJobs waiting in memory more deliveries wait unexpanded in the file, until there is room", async () => {
  const { inbox } = await onDisk({ maxJobs: 2 });
  expect(await inbox.store([mail(["a", "b"])])).toMatchObject([{ expanded: true }]);
  expect(await inbox.store([mail(["c"])])).toMatchObject([{ expanded: false }]);
  expect(inbox.stats()).toMatchObject({ waiting: 2, unexpanded: 1 });
  expect(await inbox.unexpanded(10)).toEqual([]);
  const claim = await claimOne(inbox);
  if (claim !== undefined) await inbox.settle([{ claim, outcomes: [DONE] }]);
  const [open] = await inbox.unexpanded(10);
  await inbox.expand([{ id: open?.id ?? "", events: mail(["c"]).events, cursor: undefined }]);
  expect(inbox.stats()).toMatchObject({ waiting: 2, unexpanded: 0 });
});
