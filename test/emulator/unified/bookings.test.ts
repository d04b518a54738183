import { expect, test } from "vitest";
import { NotFound, Unauthorized } from "../../../src/client.ts";
import { call } from "../support.ts";
import { at, MONDAY, startBookings, startsOf } from "./booking-support.ts";
import { all } from "./mail-support.ts";

const GUEST = { name: "Ada Byron", email: "ada@example.com" };

/** The answer to a request with a wrong field. */
const wrong = (field: string) => ({
  status: 400,
  serviceMessage: expect.stringContaining(`The field "${field}" is wrong`) as string,
});
const DAY = { fromDate: MONDAY, intervalLength: "1D" };

test("/v1/book/account/profiles: create, list, get, update, delete", async () => {
  const { bookings, clientOf, emulator } = await startBookings({ pageSize: 2 });
  const created = await bookings.create({ name: "intro", subject: "Intro", context: "crm-7", color: "red" });
  expect(created).toEqual({
    id: 4001,
    name: "intro",
    subject: "Intro",
    context: "crm-7",
    color: "red",
    durationMinutes: 30,
    bufferBetweenMinutes: 0,
    availabilityStep: 30,
    startAfterMinutes: 0,
    timeAvailableFor: "30D",
  });
  expect(await bookings.get(created.id)).toEqual(created);
  await bookings.create({ name: "demo" });
  await bookings.create({});
  expect((await all(bookings.list())).map(({ id }) => id)).toEqual([4001, 4002, 4003]);
  await bookings.update(created.id, { durationMinutes: 45 });
  expect(await bookings.get(created.id)).toEqual({ ...created, durationMinutes: 45 });
  await bookings.update(created.id, { name: "intro" });
  await expect(bookings.create({ name: "intro" })).rejects.toMatchObject(wrong("name"));
  await expect(bookings.update(4002, { name: "intro" })).rejects.toMatchObject(wrong("name"));
  await bookings.delete(created.id);
  await expect(bookings.get(created.id)).rejects.toThrow(NotFound);
  await expect(bookings.update(created.id, {})).rejects.toThrow(NotFound);
  await expect(bookings.delete(created.id)).rejects.toThrow(NotFound);
  const other = clientOf(await emulator.account());
  await expect(other.request("GET", "/v1/book/account/profiles/4002")).rejects.toThrow(NotFound);
});

test.each([
  ["durationMinutes", 0],
  ["timeAvailableFor", "soon"],
  ["timeAvailableFor", "PT2H"],
  ["timeAvailableFor", "400D"],
  ["name", "a/b"],
  ["startTime", "2026-01-05T09:00:00"],
])("a profile with the %s %o is refused", async (field, value) => {
  const { bookings } = await startBookings();
  await expect(bookings.create({ [field]: value })).rejects.toMatchObject(wrong(field));
  await bookings.create({ timeAvailableFor: "P2W" });
});

test("GET /v1/book/account/workHours", async () => {
  const { bookings } = await startBookings();
  const hours = await bookings.workHours();
  expect(hours).toMatchObject({ timezone: "UTC" });
  expect(hours["daySchedules"]).toHaveLength(5);
});

test("GET .../meeting lists times that are free, in the work hours of the profile, page by page, day by day", async () => {
  const { bookings, account, client } = await startBookings();
  const workHours = {
    timezone: "Europe/Berlin",
    daySchedules: [{ dayOfWeek: "monday", workingIntervals: [{ start: "09:00:00Z", end: "12:00:00Z" }] }],
  };
  const { id } = await bookings.create({ workHours, availabilityStep: 60, durationMinutes: 60, subject: "Intro" });
  await account.addEvent({ start: { dateTime: at("09:15") }, end: { dateTime: at("09:30") } });
  const first = await bookings.times(id, { ...DAY, limit: 1 }).page();
  expect(first.records).toEqual([
    {
      start: `${MONDAY}T09:00:00+01:00`,
      end: `${MONDAY}T10:00:00+01:00`,
      accountIds: [account.accountId],
      groupXids: [],
    },
  ]);
  expect(first).toMatchObject({ durationMinutes: 60, availabilityStep: 60, timeAvailableFor: "30D", subject: "Intro" });
  expect(first.nextFromDate).toBe("2026-01-06");
  expect(await startsOf(bookings.times(id, { ...DAY, limit: 1 }))).toEqual(["09:00", "11:00"]);
  const query = { ...DAY, offset: 1, limit: 1 };
  const second = await client.request("GET", `/v1/book/account/profiles/${id}/meeting`, { query });
  expect(second).toMatchObject({ items: [{ start: `${MONDAY}T11:00:00+01:00` }] });
  const week = await bookings.times(id, { fromDate: MONDAY }).page();
  expect(week.nextFromDate).toBe("2026-01-12");
  const offset = await bookings.times(id, { ...DAY, limit: 1 }).page(first.nextPageToken);
  expect(offset.records).toMatchObject([{ start: `${MONDAY}T11:00:00+01:00` }]);
  expect(offset.nextPageToken).toBeUndefined();
  await expect(bookings.times(7).page()).rejects.toThrow(NotFound);
});

test("nothing can be booked before startAfterMinutes and startTime, nor beyond endTime and timeAvailableFor", async () => {
  const { bookings, emulator } = await startBookings({ startAt: new Date(at("09:40")) });
  const { id } = await bookings.create({ startAfterMinutes: 60, endTime: at("12:00") });
  const today = () => startsOf(bookings.times(id, { intervalLength: "1D" }));
  expect(await today()).toEqual(["11:00", "11:30"]);
  expect((await bookings.times(id).page()).nextFromDate).toBeUndefined();
  await bookings.update(id, { startTime: at("11:15") });
  expect(await today()).toEqual(["11:30"]);
  expect(await bookings.book(id, { time: { start: at("11:00") } })).toEqual({ created: false });
  const ahead = await bookings.create({ timeAvailableFor: "2D" });
  const days = new Set((await all(bookings.times(ahead.id))).map(({ start }) => start.slice(0, 10)));
  expect([...days]).toEqual(["2026-01-05", "2026-01-06", "2026-01-07"]);
  await emulator.advance(86_400_000);
  expect((await all(bookings.times(ahead.id))).at(-1)?.start).toBe("2026-01-08T09:00:00Z");
});

test("a meeting that is booked is in the calendar, and delivers booking with exactly the fields of protocol 6.2", async () => {
  const { bookings, account, emulator, receiver, delivered, meetings } = await startBookings();
  const { id } = await bookings.create({
    name: "intro",
    subject: "Intro with {{name}}",
    description: "About {{ topic }}, {{topic}}",
    location: "Room 1",
    workHours: { timezone: "Europe/Berlin" },
  });
  const subscription = await emulator.subscribe(account, `/booking/${id}`, receiver.url);
  const named = await emulator.subscribe(account, "/booking/intro", receiver.url);
  await emulator.subscribe(account, "/booking/4999", receiver.url);
  await emulator.subscribe(await emulator.account(), `/booking/${id}`, receiver.url);
  const { additionalFields } = await bookings.times(id, DAY).page();
  expect(additionalFields?.map(({ name }) => name)).toEqual(["name", "topic"]);
  const time = { start: at("09:00"), end: at("09:30") };
  await expect(bookings.book(id, { time, ...GUEST })).rejects.toMatchObject(wrong("substitutionData.topic"));
  const booked = await bookings.book(id, { time, ...GUEST, substitutionData: { topic: "engines" } });
  const [event] = await meetings();
  expect(booked).toEqual({ created: true, id: event?.id });
  expect(event).toMatchObject({
    subject: "Intro with Ada Byron",
    description: "About engines, engines",
    location: "Room 1",
    start: { dateTime: `${MONDAY}T10:00:00+01:00`, timezone: "Europe/Berlin" },
    end: { dateTime: `${MONDAY}T10:30:00+01:00`, timezone: "Europe/Berlin" },
    organizer: { emailAddress: { name: "Grace Hopper", address: "grace@example.com" } },
    meetingInfo: { attendees: [{ emailAddress: { name: "Ada Byron", address: "ada@example.com" } }] },
  });
  const payloads = [{ bookingId: id, calendarId: event?.["calendarId"], eventId: event?.id }];
  const accountId = account.accountId;
  expect(await delivered()).toEqual([
    { subscription, resource: `/booking/${id}`, accountId, payloads },
    { subscription: named, resource: "/booking/intro", accountId, payloads },
  ]);
});

test("what is booked is free no more, and a time that is not free is not booked", async () => {
  const { bookings, account, delivered, emulator, receiver, meetings } = await startBookings();
  const { id } = await bookings.create({ durationMinutes: 60, bufferBetweenMinutes: 30 });
  await emulator.subscribe(account, `/booking/${id}`, receiver.url);
  await bookings.book(id, { time: { start: at("10:00") } });
  expect(await delivered()).toHaveLength(1);
  expect((await startsOf(bookings.times(id, DAY))).slice(0, 3)).toEqual(["11:00", "11:30", "12:00"]);
  for (const start of [at("10:00"), at("10:30"), at("09:00"), at("11:10"), at("16:30"), at("08:30")])
    expect(await bookings.book(id, { time: { start } })).toEqual({ created: false });
  await expect(bookings.book(id, { time: { start: at("11:00"), end: at("11:30") } })).rejects.toMatchObject(
    wrong("time.end"),
  );
  await expect(bookings.book(id, { time: {} as never })).rejects.toThrow();
  expect(await delivered()).toEqual([]);
  expect(await meetings()).toHaveLength(1);
});

test("a meeting that is reserved takes its time until it is over, and is booked once it is confirmed", async () => {
  const { bookings, emulator, account, receiver, delivered, meetings } = await startBookings();
  const { id } = await bookings.create({ availabilityStep: 60, subject: "For {{name}}" });
  await emulator.subscribe(account, `/booking/${id}`, receiver.url);
  const reserve = (start: string) => bookings.book(id, { time: { start }, ...GUEST }, { reserveForMinutes: 10 });
  const [nine, ten, eleven] = [await reserve(at("09:00")), await reserve(at("10:00")), await reserve(at("11:00"))];
  expect([nine, ten, eleven]).toEqual([5001, 5002, 5003].map((reservationId) => ({ created: false, reservationId })));
  expect(await reserve(at("09:00"))).toEqual({ created: false });
  expect(await meetings()).toEqual([]);
  expect(await delivered()).toEqual([]);
  expect((await startsOf(bookings.times(id, DAY)))[0]).toBe("12:00");

  const eventId = await bookings.confirm(nine.reservationId ?? 0);
  expect(await meetings()).toMatchObject([{ id: eventId, subject: "For Ada Byron" }]);
  expect(await delivered()).toMatchObject([{ payloads: [{ bookingId: id, eventId }] }]);
  await expect(bookings.confirm(5001)).rejects.toThrow(NotFound);
  await bookings.cancel(5002);
  await expect(bookings.cancel(5002)).rejects.toThrow(NotFound);
  expect((await startsOf(bookings.times(id, DAY)))[0]).toBe("10:00");
  await emulator.advance(10 * 60_000 - 1);
  expect(await startsOf(bookings.times(id, DAY))).not.toContain("11:00");
  await emulator.advance(1);
  expect(await startsOf(bookings.times(id, DAY))).toContain("11:00");
  await expect(bookings.confirm(5003)).rejects.toThrow(NotFound);
});

test("a reservation of another account or of a profile that is gone is none, and one without access is not confirmed", async () => {
  const { bookings, emulator, account, clientOf, groups } = await startBookings();
  const { id } = await bookings.create({});
  await bookings.book(id, { time: { start: at("09:00") } }, { reserveForMinutes: 60 });
  const path = "/v1/book/account/reservations/5001/confirm";
  await expect(clientOf(await emulator.account()).request("POST", path)).rejects.toThrow(NotFound);
  await expect(groups.confirm(5001)).rejects.toThrow(NotFound);
  await account.expireCredentials();
  await expect(bookings.confirm(5001)).rejects.toThrow(Unauthorized);
  await account.restoreCredentials();
  await bookings.delete(id);
  await expect(bookings.confirm(5001)).rejects.toThrow(NotFound);
});

test("the public form lists and books without authentication, by application and name", async () => {
  const { bookings, groups, form, emulator, account, meetings } = await startBookings();
  const { id } = await bookings.create({ name: "intro", availabilityStep: 120 });
  expect(await startsOf(form("intro").times(DAY))).toEqual(["10:00", "12:00", "14:00", "16:00"]);
  const held = await form("intro").book({ time: { start: at("10:00") } }, { reserveForMinutes: 5 });
  expect(await bookings.confirm(held.reservationId ?? 0)).toBe((await meetings())[0]?.id);
  const booked = await form("intro").book({ time: { start: at("12:00") }, ...GUEST });
  expect((await meetings()).map((event) => event.id)).toContain(booked.id);
  const group = await groups.create({ name: "a team" });
  await groups.attachAccounts(group.id, [account.accountId]);
  expect(await form("a team").book({ time: { start: at("14:00") } })).toMatchObject({ created: true });
  await expect(form("none").times().page()).rejects.toThrow(NotFound);
  expect((await call(emulator, "GET /v1/book/app-other/intro/meeting")).status).toBe(404);
  await account.expireCredentials();
  expect(await startsOf(form("intro").times(DAY))).toEqual([]);
  await account.restoreCredentials();
  await bookings.delete(id);
  await expect(form("intro").times().page()).rejects.toThrow(NotFound);
});

test("a lapse of billing or an error of the subscription leaves a booking unannounced", async () => {
  const { bookings, emulator, account, receiver, delivered } = await startBookings();
  const { id } = await bookings.create({});
  await emulator.subscribe(account, `/booking/${id}`, receiver.url);
  await account.setPaid(false);
  await bookings.book(id, { time: { start: at("09:00") } });
  expect(await delivered()).toEqual([]);
});

test("an account that is deleted takes its profiles with it, and a reset begins with the first ids again", async () => {
  const { bookings, groups, emulator, account, application, form } = await startBookings();
  await bookings.create({ name: "intro" });
  const group = await groups.create({});
  await groups.attachAccounts(group.id, [account.accountId]);
  await groups.attachGroups(group.id, [{ extId: "g", accountIds: [account.accountId] }]);
  await application.accounts.delete(account.accountId);
  await expect(form("intro").times().page()).rejects.toThrow(NotFound);
  expect(await all(groups.accounts(group.id))).toEqual([]);
  expect(await all(groups.groups(group.id))).toMatchObject([{ extId: "g", accountIds: [] }]);
  await emulator.reset();
  expect(await all(groups.list())).toEqual([]);
  expect((await groups.create({})).id).toBe(4001);
});
