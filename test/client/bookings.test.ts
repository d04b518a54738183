import { expect, test } from "vitest";
import {
  bookingsOf,
  createApplication,
  createBookingForm,
  createClient,
  groupBookingsOf,
  type AccountBookings,
  type GroupBookings,
} from "../../src/client.ts";
import { startService } from "./support.ts";

const page = { offset: 0, totalSize: 0, done: true, records: [] };
const time = { start: new Date("2026-03-02T09:00:00Z"), end: "2026-03-02T10:00:00+01:00" };

async function startApplication(json: unknown) {
  const { url: baseUrl, requests } = await startService(() => ({ json }));
  const client = createClient({ token: "t-1", baseUrl });
  const application = createApplication({ clientId: "app-1", clientSecret: "s", baseUrl });
  return {
    requests,
    own: bookingsOf(client),
    groups: groupBookingsOf(application),
    form: createBookingForm({ clientId: "app-1", name: "a team", baseUrl }),
  };
}

const SHARED: Readonly<Record<string, readonly [unknown, (of: AccountBookings | GroupBookings) => Promise<unknown>]>> =
  {
    "GET /profiles?offset=5": [page, (of) => of.list().page("5")],
    "POST /profiles": [{ id: "7" }, (of) => of.create({ name: "x" })],
    "GET /profiles/7": [{ id: 7 }, (of) => of.get(7)],
    "PATCH /profiles/7": [{ status: "Ok" }, (of) => of.update(7, { subject: "x" })],
    "DELETE /profiles/7": [{ status: "Ok" }, (of) => of.delete(7)],
    "GET /profiles/7/meeting?pageToken=p&required=all&fromDate=2026-03-02&intervalLength=7D&limit=3": [
      { items: [] },
      (of) => of.times(7, { required: "all", fromDate: "2026-03-02", intervalLength: "7D", limit: 3 }).page("p"),
    ],
    "POST /profiles/7/meeting?required=one&reserveForMinutes=5": [
      { created: true, id: "e" },
      (of) => of.book(7, { time }, { required: "one", reserveForMinutes: 5 }),
    ],
    "POST /reservations/9/confirm": [{ id: "e-1" }, (of) => of.confirm(9)],
    "DELETE /reservations/9": [{ status: "Ok" }, (of) => of.cancel(9)],
  };

test.each(Object.entries(SHARED))("%s, of an account and of groups", async (line, [answer, call]) => {
  const { requests, own, groups } = await startApplication(answer);
  await call(own);
  await call(groups);
  const [method, target = ""] = line.split(" ");
  const sent = requests.map((request) => {
    const query = request.query.map(([name, value]) => `${name}=${value}`).join("&");
    return [request.method, request.path + (query === "" ? "" : `?${query}`), request.headers.authorization];
  });
  expect(sent).toEqual([
    [method, `/v1/book/account${target}`, "Bearer t-1"],
    [method, `/v1/book/group${target}`, `Basic ${btoa("app-1:s")}`],
  ]);
});

const OF_GROUPS: Readonly<
  Record<string, readonly [unknown, object | undefined, (of: GroupBookings) => Promise<unknown>]>
> = {
  "POST dynamic/availability": [
    { profileIds: ["7"] },
    { timeMin: "2026-03-02T08:59:00.000Z", timeMax: "2026-03-02T10:00:00+01:00", profileIds: [7] },
    (of) => of.available({ timeMin: new Date("2026-03-02T08:59:00Z"), timeMax: time.end, profileIds: [7] }),
  ],
  "GET 7/attachGroups": [page, undefined, (of) => of.groups(7).page()],
  "POST 7/attachGroups": [{}, { groups: [{ extId: "g" }] }, (of) => of.attachGroups(7, [{ extId: "g" }])],
  "POST 7/detachGroups": [{}, { groups: [{ extId: "g" }] }, (of) => of.detachGroups(7, [{ extId: "g" }])],
  "GET 7/attachAccounts": [page, undefined, (of) => of.accounts(7).page()],
  "POST 7/attachAccounts": [{}, { accountIds: [5] }, (of) => of.attachAccounts(7, [5])],
  "POST 7/detachAccounts": [{}, { accountIds: [5] }, (of) => of.detachAccounts(7, [5])],
};

test.each(Object.entries(OF_GROUPS))("%s, of groups alone", async (line, [answer, body, call]) => {
  const { requests, groups } = await startApplication(answer);
  await call(groups);
  const [method, path = ""] = line.split(" ");
  expect(requests).toMatchObject([{ method, path: `/v1/book/group/profiles/${path}`, ...(body && { body }) }]);
});

test("a public form is asked without credentials", async () => {
  const { requests, form, own } = await startApplication({ items: [], daySchedules: [] });
  await form.times({ fromDate: "2026-03-02" }).page();
  await own.workHours();
  expect(requests).toMatchObject([
    { method: "GET", path: "/v1/book/app-1/a%20team/meeting" },
    { method: "GET", path: "/v1/book/account/workHours" },
  ]);
  expect(requests[0]?.headers).not.toHaveProperty("authorization");
});

test.each([
  { created: false, ReservationId: 9, groupXid: "g" },
  { created: false, ReservationId: "9", groupXid: "g" },
  { created: false, reservationId: 9, groupXid: "g" },
])("a reservation has its id as reservationId, also where it comes as in %o", async (answer) => {
  const { own, requests } = await startApplication(answer);
  const booked = await own.book(7, { time, name: "Ada", accountIds: [5] });
  expect(booked).toEqual({ created: false, reservationId: 9, groupXid: "g" });
  expect(requests[0]?.body).toEqual({
    time: { start: "2026-03-02T09:00:00.000Z", end: "2026-03-02T10:00:00+01:00" },
    name: "Ada",
    accountIds: [5],
  });
});

test("a page of times has what a form shows, and fields of another kind are left out", async () => {
  const { own } = await startApplication({
    items: [{ start: "a", end: "b", accountIds: ["5"], groupXids: "x", room: 3 }],
    nextFromDate: "2026-03-09",
    nextPageToken: null,
    durationMinutes: "30",
    additionalFields: [{ name: "topic" }, 5],
    primaryColor: "red",
  });
  expect(await own.times(7).page()).toEqual({
    records: [{ start: "a", end: "b", accountIds: [5], room: 3 }],
    nextFromDate: "2026-03-09",
    additionalFields: [{ name: "topic" }],
    primaryColor: "red",
  });
});

test.each([{ items: [{ start: "a" }] }, { items: "x" }, 5])("times are refused where they are %o", async (answer) => {
  const { own } = await startApplication(answer);
  await expect(own.times(7).page()).rejects.toMatchObject({ code: "service-answer-invalid" });
});

test("a meeting without a time is refused before it is sent, and a form without a name", async () => {
  const { own, requests } = await startApplication({});
  await expect(own.book(7, { time: { start: "2026-03-02T09:00:00" } })).rejects.toMatchObject({ code: "time-invalid" });
  expect(requests).toEqual([]);
  expect(() => createBookingForm({ clientId: "a", name: "" })).toThrow(
    expect.objectContaining({ code: "option-invalid" }),
  );
  expect(() => groupBookingsOf({} as never)).toThrow(expect.objectContaining({ code: "client-unknown" }));
});
