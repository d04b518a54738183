import type { Gap, Gaps, WorkingInbox } from "hookline/adapter";
import { describe, expect, test } from "vitest";
import { onDisk } from "../adapters/inbox/on-disk.ts";
import { inbox, jsonOf } from "./inbox-file.ts";

const FROM = Date.parse("2026-05-06T07:08:09Z");
const UNTIL = Date.parse("2026-05-06T09:00:00Z");

const mail: Gap = {
  source: undefined,
  subscription: 1001,
  accountId: 2002,
  resource: "/email/messages",
  family: "email",
  cause: "down",
  from: FROM,
  until: UNTIL,
};
const calendar: Gap = {
  ...mail,
  source: "eu",
  subscription: 1002,
  resource: "/calendars/ada%40example.com/events",
  family: "calendarEvent",
  cause: "errored",
  until: undefined,
};
const contacts: Gap = { ...mail, subscription: 1003, accountId: 7, resource: "/contacts", family: "contact" };
const booking: Gap = { ...mail, subscription: 1004, accountId: 7, resource: "/booking/9", family: "booking" };

/** A file with these gaps, that a process works on. */
async function fileWithGaps(found: readonly Gap[]): Promise<{ readonly file: string; readonly gaps: Gaps }> {
  const opened = await onDisk();
  const { gaps } = opened.inbox as WorkingInbox & { readonly gaps: Gaps };
  await gaps.add(found);
  return { file: opened.file, gaps };
}

describe("hookline inbox gaps", () => {
  test("lists each gap with its window, without ids that may be addresses", async () => {
    const { file } = await fileWithGaps([mail, calendar, contacts, booking]);
    expect(await inbox(file, "gaps list")).toMatchObject({ code: 0, err: "" });
    expect((await inbox(file, "gaps")).out).toMatchInlineSnapshot(`
      "FAMILY         ACCOUNT  SUBSCRIPTION  SOURCE  CAUSE    FROM (UTC)        UNTIL (UTC)       RESOURCE
      email          2002     1001                  down     2026-05-06 07:08  2026-05-06 09:00  /email/messages
      calendarEvent  2002     1002          eu      errored  2026-05-06 07:08  goes on           /calendars/[hidden]/events
      contact        7        1003                  down     2026-05-06 07:08  2026-05-06 09:00  /contacts
      booking        7        1004                  down     2026-05-06 07:08  2026-05-06 09:00  /booking/9
      "
    `);
    expect((await inbox(file, "gaps --show-content")).out).toContain("  /calendars/ada%40example.com/events\n");
  });

  test("hides all of a resource that is no known word and no number", async () => {
    const resources = [
      "/calendars/primary/events",
      "/tasklists/MTIz/tasks",
      "/booking/ada-byron?x=1",
      "/notes/ada@example.com",
    ];
    const { file } = await fileWithGaps(
      Array.from(resources, (resource, at) => ({ ...mail, resource, subscription: at, family: "unknown" })),
    );
    expect(jsonOf((await inbox(file, "gaps --json")).out).map(({ resource }) => resource)).toEqual([
      "/calendars/primary/events",
      "/tasklists/[hidden]/tasks",
      "/booking/[hidden]",
      "/[hidden]/[hidden]",
    ]);
  });

  test("as lines of JSON: one that goes on has no until", async () => {
    const { file } = await fileWithGaps([mail, calendar]);
    const [first, second] = jsonOf((await inbox(file, "gaps --json")).out);
    expect(first).toEqual({
      subscription: 1001,
      accountId: 2002,
      resource: "/email/messages",
      family: "email",
      cause: "down",
      from: "2026-05-06T07:08:09.000Z",
      until: "2026-05-06T09:00:00.000Z",
    });
    expect(second).toMatchObject({ source: "eu", resource: "/calendars/[hidden]/events", cause: "errored" });
    expect(second).not.toHaveProperty("until");
  });

  test("takes filters, of which all must hold; clear takes the same", async () => {
    const { file } = await fileWithGaps([mail, calendar, contacts, booking]);
    for (const [words, subscriptions] of [
      ["--family contact", [1003]],
      ["--family calendarEvent,booking", [1002, 1004]],
      ["--account 7", [1003, 1004]],
      ["--account 7 --family booking,email", [1004]],
      ["--family task", []],
    ] as const) {
      const listed = jsonOf((await inbox(file, `gaps list ${words} --json`)).out);
      expect([words, listed.map(({ subscription }) => subscription)]).toEqual([words, subscriptions]);
      const [would] = jsonOf((await inbox(file, `gaps clear ${words} --dry-run --json`)).out);
      expect(would).toMatchObject({ dryRun: true, count: subscriptions.length });
    }
  });

  test("says that there are none, and what a family can be", async () => {
    const { file } = await fileWithGaps([]);
    expect(await inbox(file, "gaps")).toEqual({ code: 0, out: "", err: "There are no such gaps.\n" });
    expect(await inbox(file, "gaps --json")).toEqual({ code: 0, out: "", err: "" });
    expect(await inbox(file, "gaps --family mail")).toEqual({
      code: 2,
      out: "",
      err: 'hookline inbox gaps list: --family got "mail", expected one of email, contact, calendarEvent, task, tracking, booking, unknown, or several with commas between them.\nSee hookline inbox gaps list --help.\n',
    });
  });

  test("lists 50, or as many as asked for, and says that there are more", async () => {
    const { file } = await fileWithGaps(many(1_500));
    const more = "There are more: a higher --limit shows them.\n";
    for (const [words, rows, err] of [
      ["gaps --json", 50, more],
      ["gaps --json --limit 1499", 1_499, more],
      ["gaps --json --limit 1500", 1_500, ""],
    ] as const) {
      const listed = await inbox(file, words);
      expect([words, jsonOf(listed.out).length, listed.err]).toEqual([words, rows, err]);
    }
  });

  test("writes nothing where it only looks", async () => {
    const { file, gaps } = await fileWithGaps([mail]);
    for (const words of ["gaps", "gaps clear --all --dry-run"]) expect((await inbox(file, words)).code).toBe(0);
    expect((await gaps.find({ limit: 10 })).gaps).toEqual([mail]);
  });
});

describe("hookline inbox gaps clear", () => {
  test("tells what it would clear, and clears it, those that go on as well", async () => {
    const { file, gaps } = await fileWithGaps([mail, calendar, contacts, { ...contacts, accountId: 8 }]);
    const table = "GAPS  FAMILY\n2     contact\n1     calendarEvent\n";
    expect((await inbox(file, "gaps clear --family calendarEvent,contact --dry-run")).out).toBe(
      `Would clear 3 gaps.\n${table}`,
    );
    expect(await inbox(file, "gaps clear --family calendarEvent,contact")).toEqual({
      code: 0,
      out: `Cleared 3 gaps.\n${table}`,
      err: "",
    });
    expect((await gaps.find({ limit: 10 })).gaps).toEqual([mail]);
    expect((await inbox(file, "gaps clear --account 7")).out).toBe("Cleared 0 gaps.\n");
    expect((await inbox(file, "gaps clear --all --json")).out).toBe(
      '{"dryRun":false,"count":1,"found":[{"family":"email","count":1}]}\n',
    );
    expect((await inbox(file, "gaps")).err).toBe("There are no such gaps.\n");
  });

  test("takes more than a page, and counts each once", async () => {
    const { file, gaps } = await fileWithGaps([...many(1_500, 9), mail]);
    // Those of one resource go together.
    expect((await inbox(file, "gaps clear --account 9")).out).toMatch(/^Cleared 1,500 gaps\.\n/);
    expect((await gaps.find({ limit: 10 })).gaps).toEqual([mail]);
  });

  test.each([
    ["gaps clear", "Got neither a filter nor --all. Say which gaps: --family, --account, or --all."],
    ["gaps clear --all --account 7", "Got --all and a filter, expected one of them."],
  ])("%s clears nothing", async (words, told) => {
    const { file, gaps } = await fileWithGaps([contacts]);
    expect(await inbox(file, words)).toEqual({
      code: 2,
      out: "",
      err: `hookline inbox gaps clear: ${told}\nSee hookline inbox gaps clear --help.\n`,
    });
    expect((await gaps.find({ limit: 10 })).gaps).toEqual([contacts]);
  });

  test("is no sign that a process receives: the next one finds the outage", async () => {
    const { file, gaps } = await fileWithGaps([mail]);
    await gaps.mark({ at: FROM, afterMs: 600_000 });
    for (const words of ["gaps clear --all", "drop --dead", "list"]) expect((await inbox(file, words)).code).toBe(0);
    expect(await gaps.mark({ at: Date.now(), afterMs: 600_000 })).toBe(FROM);
  });
});

/** Of subscriptions of their own, and of an account each unless one is given. */
function many(count: number, accountId?: number): readonly Gap[] {
  return Array.from({ length: count }, (_, at) => ({ ...mail, subscription: at, accountId: accountId ?? at }));
}
