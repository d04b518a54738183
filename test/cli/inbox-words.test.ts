import { ClosedError, StorageError, UsageError, type AnyEvent } from "hookline";
import { PassThrough } from "node:stream";
import { describe, expect, test } from "vitest";
import { toLookError } from "../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { assertVersion, SCHEMA_VERSION } from "../../adapters/inbox/sqlite/schema/tables.ts";
import { hideContent } from "../../src/cli/inbox/job-json.ts";
import { toCommandError } from "../../src/cli/inbox/with-inbox.ts";
import { toJsonBlock, toJsonLine, toPlain } from "../../src/cli/terminal/escape-terminal.ts";
import { createTable, cut, padded, widthOf } from "../../src/cli/terminal/table.ts";

describe("text from elsewhere", () => {
  test("becomes one line without commands", () => {
    expect(toPlain("a\tb\nc\u001b[31m\u009b\u202e\u200b\u2028\ud800é漢")).toBe(
      String.raw`a b c\u{1b}[31m\u{9b}\u{202e}\u{200b}\u{2028}\u{d800}é漢`,
    );
  });

  test("stays what it is as JSON", () => {
    const thing = { text: "\u001b\u009b\u202e\u{e0041}\u007f漢\n" };
    for (const json of [toJsonLine(thing), toJsonBlock(thing)]) {
      expect(json.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}]/u);
      expect(JSON.parse(json)).toEqual(thing);
    }
  });

  test.each([
    ["abc", 3],
    ["漢字", 4],
    ["e\u0301", 1],
    ["\u0301", 0],
    ["👍🏽", 2],
    ["❤️", 2],
    ["한글", 4],
  ])("%s takes %i columns", (text, width) => {
    expect(widthOf(text)).toBe(width);
  });

  test("is cut and padded by columns, never through a letter", () => {
    expect([cut("漢字漢字", 6), cut("漢字", 4), cut("abcdef", 4)]).toEqual(["漢字…", "漢字", "abc…"]);
    expect(padded("漢", 4)).toBe("漢  ");
  });
});

describe("a table", () => {
  test("fits the terminal: its last column is cut", () => {
    const stream = Object.assign(new PassThrough(), { columns: 20 });
    const table = createTable(["ID", "WHAT"], stream);
    expect(table.lines([["漢", "x".repeat(30)]])).toEqual(["ID  WHAT", `漢  ${"x".repeat(15)}…`]);
    expect(table.lines([["12345", "y"]])).toEqual(["12345  y"]);
  });

  test("leaves the last column some room on a narrow terminal", () => {
    const stream = Object.assign(new PassThrough(), { columns: 3 });
    expect(createTable(["ID", "WHAT"], stream).lines([["1", "x".repeat(30)]])[1]).toBe(`1   ${"x".repeat(9)}…`);
  });
});

test("the message of an error tells neither addresses nor what the event says", () => {
  const event = {
    type: "booking",
    bookingId: 9,
    calendarId: "cal-1",
    eventId: "ev",
    accountId: 1,
  } as unknown as AnyEvent;
  expect(hideContent("booking 9 of cal-1/ev: <bob@example.com>, @ and a@", event)).toBe(
    "booking 9 of [hidden]/ev: <[hidden]>, @ and [hidden]",
  );
});

describe("an error of the inbox", () => {
  test.each([
    [new StorageError("request-queued", "Request 7 is queued."), 3, "Request 7 is queued. (request-queued)"],
    [new StorageError("disk-full", "Full.", { fix: "Make room." }), 1, "Full. Make room. (disk-full)"],
    [new UsageError("jobs-invalid", 'jobs.list() got type "x", expected y.'), 2, '--type "x", expected y.'],
  ])("%s", (error, exitCode, message) => {
    expect(toCommandError(error)).toMatchObject({ exitCode, message });
  });

  test("that came of a signal says how far it was", () => {
    const error = new ClosedError("closed", "The receiver closed after 5 jobs were replayed.", { fix: "Do it again." });
    expect(toCommandError(error)).toMatchObject({
      exitCode: 1,
      message: "Stopped after 5 jobs were replayed. The rest is unchanged.",
    });
    expect(toCommandError(new ClosedError("closed", "The receiver closed."))).toMatchObject({ exitCode: 1 });
  });

  test("anything else stays what it is", () => {
    const error = new TypeError("no");
    expect(toCommandError(error)).toBe(error);
    expect(toLookError(error, "inbox.db")).toBe(error);
  });

  test("a disk that fails is told as the inbox tells it", () => {
    const error = Object.assign(new Error("disk I/O error"), { errcode: 10 });
    expect(toLookError(error, "inbox.db")).toMatchObject({ code: "disk-failed" });
  });
});

test("a file of another schema is refused with what to do", () => {
  const refusal = (version: number): unknown => {
    try {
      return assertVersion(version, "inbox.db");
    } catch (error) {
      return error;
    }
  };
  const message = `inbox.db has schema version 1, this Hookline knows version ${SCHEMA_VERSION}.`;
  expect(refusal(1)).toMatchObject({ code: "schema-older", message, fix: expect.stringMatching(/move the file away/) });
  expect(refusal(SCHEMA_VERSION + 1)).toMatchObject({
    code: "schema-newer",
    fix: expect.stringMatching(/that wrote it, or a newer one/),
  });
  expect(refusal(SCHEMA_VERSION)).toBeUndefined();
});
