import fc from "fast-check";
import { describe, expect, test } from "vitest";
import { call } from "../support.ts";
import { DAILY, EVENTS, MARCH, NINE, startCalendar, startsOf, type ShownEvent } from "./calendar-support.ts";

describe("GET /v1/calendars/{calendarId}/events/range", () => {
  const range = (timeMin: string, timeMax: string): string =>
    `range?timeMin=${encodeURIComponent(timeMin)}&timeMax=${encodeURIComponent(timeMax)}`;

  test("lists single events and the occurrences of series, in order of start", async () => {
    const { create, list } = await startCalendar();
    const series = await create({ subject: "Stand-up", ...DAILY });
    const single = await create({
      subject: "Lunch",
      start: { dateTime: "2026-03-03T12:00:00Z" },
      end: { dateTime: "2026-03-03T13:00:00Z" },
    });
    const found = await list(`range?${MARCH}`);
    expect(found).toMatchObject([
      { id: `${series.id}_20260302T080000Z`, subject: "Stand-up", recurrenceType: "occurrence" },
      { id: `${series.id}_20260303T080000Z`, occurrenceInfo: { type: "regular", masterId: series.id } },
      { id: single.id, recurrenceType: "single" },
      { id: `${series.id}_20260304T080000Z` },
    ]);
    expect(found[0]).not.toHaveProperty("recurrence");
    expect(found[2]).toEqual(single);
  });

  test("both bounds are outside, and their milliseconds are ignored", async () => {
    const { create, list } = await startCalendar();
    await create();
    expect(await list(range("2026-03-02T08:59:59Z", "2026-03-02T12:00:00Z"))).toHaveLength(1);
    expect(await list(range("2026-03-02T09:00:00.000Z", "2026-03-02T12:00:00Z"))).toHaveLength(0);
    expect(await list(range("2026-03-02T10:00:00.999+01:00", "2026-03-02T12:00:00Z"))).toHaveLength(0);
    expect(await list(range("2026-03-02T08:59:59.999Z", "2026-03-02T12:00:00Z"))).toHaveLength(1);
    expect(await list(range("2026-03-01T00:00:00Z", "2026-03-02T08:00:00.999Z"))).toHaveLength(0);
    expect(await list(range("2026-03-01T00:00:00Z", "2026-03-02T09:00:01+01:00"))).toHaveLength(1);
  });

  test("days of a zone count from midnight to midnight there", async () => {
    const { create, list } = await startCalendar();
    const time = { timezone: "America/New_York" };
    await create({ start: { dateOnly: "2026-03-08", ...time }, end: { dateOnly: "2026-03-09", ...time } });
    expect(await list(range("2026-03-08T00:00:00Z", "2026-03-08T05:00:00Z"))).toHaveLength(0);
    expect(startsOf(await list(range("2026-03-08T00:00:00Z", "2026-03-08T05:00:01Z")))).toEqual(["2026-03-08"]);
    // The clock is put forward on that day: it ends at 04:00 UTC.
    expect(await list(range("2026-03-09T03:59:59Z", "2026-03-10T00:00:00Z"))).toHaveLength(1);
    expect(await list(range("2026-03-09T04:00:00Z", "2026-03-10T00:00:00Z"))).toHaveLength(0);
  });

  test.each([
    ["timeMin", "timeMax=2026-03-05T00:00:00Z"],
    ["timeMax", "timeMin=2026-03-05T00:00:00Z"],
    ["timeMin", "timeMin=2026-03-01T00:00:00&timeMax=2026-03-05T00:00:00Z"],
    ["timeMax", "timeMin=2026-03-01T00:00:00Z&timeMax=2026-03-05"],
    ["timeMax", "timeMin=2026-03-01T00:00:00Z&timeMax=2026-03-05T00:00:00+01:00"],
    ["timeMin", "timeMin=2026-03-05T00:00:00Z&timeMax=2026-03-05T00:00:00Z"],
    ["timeMin", "timeMin=2026-03-05T00:00:00.100Z&timeMax=2026-03-05T00:00:00.900Z"],
    ["timeMin", "timeMin=2026-03-05T01:00:00Z&timeMax=2026-03-05T01:30:00%2B01:00"],
  ])("400 that names %s for %s", async (field, query) => {
    const { ask } = await startCalendar();
    const { status, json } = await ask(`GET ${EVENTS}/range?${query}`);
    expect(status).toBe(400);
    expect(json["message"]).toContain(`"${field}"`);
  });

  test("pages to the end: what comes, goes or is moved in between, each event comes once and none is missed", async () => {
    const hour = (hours: number): object => ({
      start: { dateTime: new Date(Date.UTC(2026, 2, 1, hours)).toISOString() },
      end: { dateTime: new Date(Date.UTC(2026, 2, 1, hours + 1)).toISOString() },
    });
    const change = fc.oneof(
      fc.record({ kind: fc.constantFrom("move", "remove"), nth: fc.nat(6), hours: fc.nat(90) }),
      fc.record({ kind: fc.constant("add"), nth: fc.constant(0), hours: fc.nat(90) }),
    );
    const { emulator, ask } = await startCalendar({ pageSize: 3 });
    await fc.assert(
      fc.asyncProperty(fc.array(change, { maxLength: 8 }), async (changes) => {
        const account = await emulator.account();
        const page = async (pageToken: string) =>
          (await call(emulator, `GET ${EVENTS}/range?${MARCH}&pageToken=${pageToken}`, account)).json;
        const made: string[] = [];
        for (let nth = 0; nth < 7; nth += 1) made.push((await account.addEvent({ ...hour(nth * 9) })).id);
        const series = (await account.addEvent({ ...NINE, ...DAILY })).id;
        const stays = new Set([...made, ...["02", "03", "04"].map((day) => `${series}_202603${day}T080000Z`)]);
        const seen: string[] = [];
        const rest = [...changes];
        let pageToken: string | undefined = "";
        while (pageToken !== undefined) {
          const { records, nextPageToken, length } = await page(pageToken);
          const ids = (records as readonly ShownEvent[]).map(({ id }) => id);
          expect(length).toBe(ids.length);
          seen.push(...ids);
          pageToken = nextPageToken as string | undefined;
          for (const { kind, nth, hours } of rest.splice(0, 3)) {
            const id = made[nth] ?? "";
            const resource = "/calendars/primary/events";
            if (kind === "add") await account.addEvent(hour(hours));
            else if (kind === "move" && stays.has(id)) await account.update(resource, id, hour(hours));
            else if (stays.delete(id)) await account.remove(resource, id);
          }
        }
        expect(seen).toHaveLength(new Set(seen).size);
        for (const id of stays) expect(seen).toContain(id);
      }),
      { numRuns: 15 },
    );
    expect(await ask(`GET ${EVENTS}/range?${MARCH}&pageToken=x`)).toMatchObject({ status: 400 });
  });

  test("refuses the token of another range", async () => {
    const { create, ask } = await startCalendar({ pageSize: 1 });
    await create(DAILY);
    const { json } = await ask(`GET ${EVENTS}/range?${MARCH}`);
    const other = range("2026-03-01T00:00:00Z", "2026-03-06T00:00:00Z");
    expect(await ask(`GET ${EVENTS}/${other}&pageToken=${String(json["nextPageToken"])}`)).toMatchObject({
      status: 400,
      json: { code: "token.notValid" },
    });
  });

  test("404 for a calendar that is not there, 401 without a token; another account's calendar can be read", async () => {
    const { emulator, ask, theirs } = await startCalendar();
    expect(await ask(`GET /v1/calendars/none/events/range?${MARCH}`)).toMatchObject({ status: 404 });
    expect(await call(emulator, `GET ${EVENTS}/range?${MARCH}`)).toMatchObject({ status: 401 });
    const id = await theirs();
    expect(await ask(`GET /v1/calendars/${id}/events/range?${MARCH}`)).toMatchObject({
      json: { records: [{ subject: "Seen", calendarId: id }] },
    });
  });
});

describe("GET /v1/calendars/{calendarId}/events/find", () => {
  test("finds all events with one of the ids, of a series its master, and no others", async () => {
    const { account, create, list } = await startCalendar();
    const series = await create(DAILY);
    const single = await create();
    await create();
    const invited = await account.addEvent({ ...NINE, iCalUId: "meeting@example.com" });
    const again = await account.addEvent({ ...NINE, iCalUId: "meeting@example.com" });
    const query = [series.iCalUId, "meeting@example.com"].map((id) => `iCalUId=${encodeURIComponent(id)}`).join("&");
    expect((await list(`find?${query}`)).map(({ id }) => id)).toEqual([series.id, invited.id, again.id]);
    expect(await list(`find?iCalUId=${encodeURIComponent(single.iCalUId)}`)).toEqual([single]);
    expect(await list("find?iCalUId=none")).toEqual([]);
  });

  test("pages to the end, with changes in between", async () => {
    const { account, ask } = await startCalendar({ pageSize: 2 });
    const add = async () => (await account.addEvent({ iCalUId: "x" })).id;
    const made = [await add(), await add(), await add(), await add()];
    const seen: string[] = [];
    let pageToken: string | undefined = "";
    while (pageToken !== undefined) {
      const { json } = await ask(`GET ${EVENTS}/find?iCalUId=x&pageToken=${pageToken}`);
      seen.push(...(json["records"] as readonly ShownEvent[]).map(({ id }) => id));
      pageToken = json["nextPageToken"] as string | undefined;
      if (seen.length > 2) continue;
      await account.remove("/calendars/primary/events", made[0] ?? "");
      made.push(await add());
    }
    expect(seen).toEqual(made);
  });

  test("400 that names iCalUId where there is none, 404 and 401", async () => {
    const { emulator, ask } = await startCalendar();
    expect((await ask(`GET ${EVENTS}/find`)).json["message"]).toContain('"iCalUId"');
    expect(await ask(`GET ${EVENTS}/find?iCalUId=x&pageToken=y`)).toMatchObject({ status: 400 });
    expect(await ask("GET /v1/calendars/none/events/find?iCalUId=x")).toMatchObject({ status: 404 });
    expect(await call(emulator, `GET ${EVENTS}/find?iCalUId=x`)).toMatchObject({ status: 401 });
  });
});

test("a range that was asked for before shows what has changed since, of events and of occurrences", async () => {
  const { create, update, list } = await startCalendar();
  const [single, series] = [await create({ subject: "Once" }), await create({ subject: "Daily", ...DAILY })];
  const shown = async () => (await list(`range?${MARCH}`)).map(({ subject }) => subject);
  expect(await shown()).toEqual(["Once", "Daily", "Daily", "Daily"]);
  const [, first] = await list(`range?${MARCH}`);
  await update(single.id, { subject: "Twice" });
  await update(first?.id ?? "", { subject: "Moved" });
  expect(await shown()).toEqual(["Twice", "Moved", "Daily", "Daily"]);
  await update(series.id, { subject: "Weekly", recurrence: { simple: { pattern: { frequency: "weekly" } } } });
  expect(await shown()).toEqual(["Twice", "Moved"]);
});
