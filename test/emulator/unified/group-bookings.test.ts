import { expect, test } from "vitest";
import { createApplication, groupBookingsOf, NotFound, Unauthorized } from "../../../src/client.ts";
import { at, MONDAY, startBookings, startsOf } from "./booking-support.ts";
import { all } from "./mail-support.ts";

const DAY = { fromDate: MONDAY, intervalLength: "1D" };

/** Grace is busy in the morning, Ada in the afternoon, Lin is free. */
async function startGroup() {
  const started = await startBookings({ pageSize: 2 });
  const { emulator, account: grace, groups } = started;
  const busy = (from: string, to: string) => ({ start: { dateTime: at(from) }, end: { dateTime: at(to) } });
  const ada = await emulator.account({ name: "Ada", email: "ada@example.com", events: [busy("12:00", "17:00")] });
  const lin = await emulator.account({ name: "Lin", email: "lin@example.com" });
  await grace.addEvent(busy("09:00", "12:00"));
  const { id } = await groups.create({ availabilityStep: 240, durationMinutes: 60, clientOrgId: "o-1" });
  const ids = { grace: grace.accountId, ada: ada.accountId, lin: lin.accountId };
  return { ...started, ada, lin, grace, id, ids };
}

test("/v1/book/group/profiles: create, list, get, update, delete", async () => {
  const { groups, bookings, emulator, id } = await startGroup();
  expect(await groups.get(id)).toMatchObject({ id, clientOrgId: "o-1", timeAvailableFor: "30D" });
  await groups.create({ name: "team" });
  await groups.create({});
  expect((await all(groups.list())).map((profile) => profile.id)).toEqual([4001, 4002, 4003]);
  await groups.update(id, { subject: "All hands" });
  expect(await groups.get(id)).toMatchObject({ subject: "All hands", durationMinutes: 60 });
  await expect(bookings.get(id)).rejects.toThrow(NotFound);
  expect(await all(bookings.list())).toEqual([]);
  await groups.delete(id);
  await expect(groups.get(id)).rejects.toThrow(NotFound);
  const { appId: clientId, url: baseUrl } = emulator;
  const stranger = groupBookingsOf(createApplication({ clientId, clientSecret: "x", baseUrl }));
  await expect(stranger.list().page()).rejects.toThrow(Unauthorized);
});

test("accounts and groups are attached, listed and detached", async () => {
  const { groups, id, ids } = await startGroup();
  await groups.attachAccounts(id, [ids.grace, ids.ada]);
  await groups.attachAccounts(id, [ids.ada, ids.lin]);
  expect((await all(groups.accounts(id))).flat()).toEqual([ids.grace, ids.ada, ids.lin]);
  await groups.detachAccounts(id, [ids.ada]);
  expect((await all(groups.accounts(id))).flat()).toEqual([ids.grace, ids.lin]);
  await expect(groups.attachAccounts(id, [7])).rejects.toMatchObject({ status: 400 });
  await expect(groups.attachGroups(id, [{ extId: "x", accountIds: [7] }])).rejects.toMatchObject({ status: 400 });

  const sales = { extId: "sales", accountIds: [ids.grace, ids.ada], required: "all" } as const;
  await groups.attachGroups(id, [sales, { extId: "help", accountIds: [ids.lin] }, { extId: "empty" }]);
  const help = { extId: "help", accountIds: [ids.lin], required: "one" };
  expect(await all(groups.groups(id))).toEqual([sales, help, { extId: "empty", accountIds: [], required: "one" }]);
  await groups.attachGroups(id, [{ ...sales, required: "one" }]);
  await groups.detachGroups(id, [{ extId: "sales", accountIds: [ids.ada] }, { extId: "empty" }]);
  expect(await all(groups.groups(id))).toEqual([{ extId: "sales", accountIds: [ids.grace], required: "one" }, help]);
  for (const change of [groups.attachAccounts(7, []), groups.detachGroups(7, []), groups.detachAccounts(7, [])])
    await expect(change).rejects.toThrow(NotFound);
});

test("GET .../meeting: one of the accounts and groups is enough, unless all are required", async () => {
  const { groups, id, ids } = await startGroup();
  await groups.attachAccounts(id, [ids.grace, ids.ada]);
  const page = await groups.times(id, DAY).page();
  expect(page.records).toEqual([
    { start: at("12:00"), end: at("13:00"), accountIds: [ids.grace], groupXids: [] },
    { start: at("16:00"), end: at("17:00"), accountIds: [ids.grace], groupXids: [] },
  ]);
  await groups.update(id, { availabilityStep: 60 });
  expect(await startsOf(groups.times(id, DAY))).toHaveLength(8);
  expect(await startsOf(groups.times(id, { ...DAY, required: "all" }))).toEqual([]);
  await groups.attachGroups(id, [{ extId: "any", accountIds: [ids.ada, ids.lin] }]);
  await groups.detachAccounts(id, [ids.ada]);
  const both = await groups.times(id, { ...DAY, required: "all" }).page();
  expect(both.records[0]).toMatchObject({ start: at("12:00"), accountIds: [ids.grace], groupXids: ["any"] });
  await groups.attachGroups(id, [{ extId: "nobody", required: "all" }]);
  expect((await groups.times(id, DAY).page()).records[0]?.groupXids).toEqual(["any"]);
  expect(await startsOf(groups.times(id, { ...DAY, required: "all" }))).toEqual([]);
  await expect(groups.times(7).page()).rejects.toThrow(NotFound);
});

test("a meeting is in the calendar of each account that takes part, and each of them is told of its own event", async () => {
  const { groups, id, ids, ada, lin, emulator, receiver, delivered, meetings } = await startGroup();
  await groups.update(id, { subject: "Review", availabilityStep: 60 });
  await groups.attachAccounts(id, [ids.ada, ids.lin]);
  for (const account of [ada, lin]) await emulator.subscribe(account, `/booking/${id}`, receiver.url);
  const guest = { name: "Guest", email: "guest@example.com" };
  const { id: eventId, ...booked } = await groups.book(
    id,
    { time: { start: at("09:00") }, ...guest },
    { required: "all" },
  );
  expect(booked).toEqual({ created: true });
  const [ofAda] = await meetings(ada);
  const [ofLin] = await meetings(lin);
  expect(ofAda).toMatchObject({ id: eventId, subject: "Review", organizer: { emailAddress: { name: "Ada" } } });
  const invited = (event: typeof ofAda) => event?.meetingInfo?.attendees?.map((one) => one.emailAddress?.address);
  expect([invited(ofAda), invited(ofLin)]).toEqual([
    ["guest@example.com", "lin@example.com"],
    ["guest@example.com", "ada@example.com"],
  ]);
  const entry = (event: typeof ofAda) => [{ bookingId: id, calendarId: event?.["calendarId"], eventId: event?.id }];
  expect(await delivered()).toEqual([
    { subscription: 1001, resource: `/booking/${id}`, accountId: ids.ada, payloads: entry(ofAda) },
    { subscription: 1002, resource: `/booking/${id}`, accountId: ids.lin, payloads: entry(ofLin) },
  ]);
  // Lin alone is free then.
  expect(await groups.book(id, { time: { start: at("13:00") } }, { required: "all" })).toEqual({ created: false });
  await groups.book(id, { time: { start: at("13:00") } });
  expect(await meetings(lin)).toHaveLength(2);
  expect(await meetings(ada)).toHaveLength(2); // the review, and what was there
});

test("who is to take part can be chosen: accounts, or groups by their external ids", async () => {
  const { groups, id, ids, ada, lin, grace, meetings } = await startGroup();
  await groups.update(id, { availabilityStep: 60 });
  await groups.attachAccounts(id, [ids.grace, ids.ada]);
  await groups.attachGroups(id, [
    { extId: "first", accountIds: [ids.ada, ids.lin] },
    { extId: "both", accountIds: [ids.grace, ids.lin], required: "all" },
  ]);
  const afternoon = { time: { start: at("14:00") } };
  expect(await groups.book(id, { ...afternoon, accountIds: [ids.ada] })).toEqual({ created: false });
  expect(await groups.book(id, { ...afternoon, accountIds: [7] })).toEqual({ created: false });
  expect(await groups.book(id, { ...afternoon, groupXids: ["first"] })).toMatchObject({
    created: true,
    groupXid: "first",
  });
  expect([await meetings(ada), await meetings(lin)].map(({ length }) => length)).toEqual([1, 1]);
  expect(await groups.book(id, { ...afternoon, groupXids: ["both"] })).toEqual({ created: false });
  const held = await groups.book(
    id,
    { time: { start: at("15:00") }, groupXids: ["both"], accountIds: [] },
    { reserveForMinutes: 5, required: "all" },
  );
  expect(held).toEqual({ created: false, reservationId: 5001, groupXid: "both" });
  expect(await groups.book(id, { time: { start: at("15:00") }, groupXids: ["first"] })).toEqual({ created: false });
  const eventId = await groups.confirm(5001);
  expect((await meetings(grace)).map((event) => event.id)).toContain(eventId);
  expect(await meetings(lin)).toHaveLength(2);
  await groups.book(id, { time: { start: at("16:00") }, accountIds: [ids.grace] }, { reserveForMinutes: 5 });
  await groups.cancel(5002);
  await expect(groups.cancel(5002)).rejects.toThrow(NotFound);
});

test("where one is enough, the first that is free takes part: of the profile, and of a group", async () => {
  const { groups, id, ids, ada, lin, meetings } = await startGroup();
  const count = async () => [(await meetings(ada)).length, (await meetings(lin)).length];
  await groups.update(id, { availabilityStep: 60 });
  await groups.attachAccounts(id, [ids.ada, ids.lin]);
  await groups.attachGroups(id, [{ extId: "any", accountIds: [ids.lin, ids.ada] }]);
  expect(await count()).toEqual([1, 0]);
  expect(await groups.book(id, { time: { start: at("09:00") } })).not.toHaveProperty("groupXid");
  expect(await count()).toEqual([2, 0]);
  const booked = await groups.book(id, { time: { start: at("10:00") }, groupXids: ["any"] }, { required: "all" });
  expect(booked).toMatchObject({ groupXid: "any" });
  expect(await count()).toEqual([2, 1]);
});

test("an account without access is never free, and no reservation with it is confirmed", async () => {
  const { groups, id, ids, lin, ada, application } = await startGroup();
  await groups.attachAccounts(id, [ids.ada, ids.lin]);
  await groups.book(id, { time: { start: at("08:00") } });
  await groups.update(id, { availabilityStep: 60 });
  await groups.book(id, { time: { start: at("10:00") } }, { reserveForMinutes: 5, required: "all" });
  await lin.expireCredentials();
  await expect(groups.confirm(5001)).rejects.toThrow(Unauthorized);
  expect(await startsOf(groups.times(id, { ...DAY, required: "all" }))).toEqual([]);
  await ada.expireCredentials();
  expect(await startsOf(groups.times(id, DAY))).toEqual([]);
  await lin.restoreCredentials();
  await application.accounts.delete(ids.ada);
  await expect(groups.confirm(5001)).rejects.toThrow(NotFound);
});

test("POST .../dynamic/availability gives the profiles that have a free time in a window", async () => {
  const { groups, id, ids, bookings } = await startGroup();
  await groups.attachAccounts(id, [ids.grace]);
  const { id: other } = await groups.create({ name: "other", availabilityStep: 60 });
  await groups.attachAccounts(other, [ids.ada, ids.grace]);
  await bookings.create({ name: "own" });
  const window = (from: string, to: string) => ({ timeMin: at(from), timeMax: at(to) });
  expect(await groups.available(window("09:00", "17:00"))).toEqual([id, other]);
  expect(await groups.available({ ...window("09:00", "17:00"), profileNames: ["other", "own"] })).toEqual([other]);
  expect(await groups.available({ ...window("09:00", "17:00"), profileIds: [id] })).toEqual([id]);
  expect(await groups.available(window("12:00", "12:59"))).toEqual([other]);
  expect(await groups.available({ ...window("09:00", "17:00"), required: "all" })).toEqual([id]);
});
