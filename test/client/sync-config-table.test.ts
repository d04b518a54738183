import { describe, expect, test } from "vitest";
import { createSyncConfigClient, type SyncConfigUser } from "../../src/client.ts";
import { startService } from "./support.ts";
import { SYNC_CONFIG_ROWS, UPDATE_ROWS } from "./sync-config-table.ts";

const profile = { compExtId: "c-1", userExtId: "u-1" };
const service = { id: 101, type: "mail" };
const group = { id: 7 };

/** How a row is called, and an answer that it takes. */
const USES: Readonly<
  Record<string, { readonly call: (user: SyncConfigUser) => Promise<unknown>; readonly answer: unknown }>
> = {
  "POST /signup": { call: async () => {}, answer: undefined },
  "GET /me": { call: (user) => user.me(), answer: { uid: 5 } },
  "GET /services": { call: (user) => user.services.list(), answer: [service] },
  "POST /services": { call: (user) => user.services.create({ type: "mail" }), answer: service },
  "GET /services/{id}": { call: (user) => user.services.get(101), answer: service },
  "PUT /services/{id}": { call: (user) => user.services.update(101, { displayName: "Mail" }), answer: service },
  "GET /services/syncSettings": { call: (user) => user.syncSettings.get(), answer: {} },
  "PUT /services/syncSettings": { call: (user) => user.syncSettings.update({ syncCalendar: true }), answer: {} },
  "GET /sync": { call: (user) => user.sync.status(), answer: { syncState: "IDLE", needReview: null } },
  "POST /sync": { call: (user) => user.sync.start({ initial: true }), answer: undefined },
  "GET /rules/{type}/report": { call: (user) => user.sync.report("CALENDAR"), answer: {} },
  "PUT /rules/{type}/allowSync": { call: (user) => user.sync.allow("CALENDAR"), answer: undefined },
  "PUT /allowSync": { call: (user) => user.sync.allowAll(["CALENDAR"]), answer: undefined },
  "GET /templateGroups": { call: (user) => user.templateGroups.list(), answer: [group] },
  "POST /templateGroups": { call: (user) => user.templateGroups.create({ name: "All" }), answer: group },
  "PUT /templateGroups/{gid}": { call: (user) => user.templateGroups.update(7, { name: "All" }), answer: group },
  "GET /templateGroups/{gid}/services": {
    call: (user) => user.templateGroups.services(7).list(),
    answer: [service],
  },
  "POST /templateGroups/{gid}/services": {
    call: (user) => user.templateGroups.services(7).create({ type: "mail" }),
    answer: service,
  },
  "GET /templateGroups/{gid}/services/{id}": {
    call: (user) => user.templateGroups.services(7).get(101),
    answer: service,
  },
  "PUT /templateGroups/{gid}/services/{id}": {
    call: (user) => user.templateGroups.services(7).update(101, { displayName: "Mail" }),
    answer: service,
  },
  "GET /templateGroups/{gid}/syncSettings": {
    call: (user) => user.templateGroups.syncSettings(7).get(),
    answer: {},
  },
  "PUT /templateGroups/{gid}/syncSettings": {
    call: (user) => user.templateGroups.syncSettings(7).update({ syncTasks: true }),
    answer: {},
  },
};

const ROWS = [...SYNC_CONFIG_ROWS, ...UPDATE_ROWS].map((row) => ({ row, name: `${row.method} ${row.path}` }));

test("the protocol has 20 operations, and each has a member", () => {
  expect(SYNC_CONFIG_ROWS).toHaveLength(20);
  expect(Object.keys(USES).toSorted()).toEqual(ROWS.map(({ name }) => name).toSorted());
});

describe.each(ROWS)("$name", ({ row, name }) => {
  test.each([200, 201])("is sent as the table says, and takes %d", async (status) => {
    const { call, answer } = USES[name] as (typeof USES)[string];
    const { url, requests } = await startService(({ path }) => ({
      status,
      json: path === "/v2/signup" ? { accessToken: "at" } : answer,
    }));
    const client = createSyncConfigClient({ baseUrl: `${url}/v2`, appId: "app", appSecret: "secret" });
    await call(await client.signUp(profile));
    const sent = requests.at(-1);
    expect(sent?.method).toBe(row.method);
    expect(sent?.path).toMatch(new RegExp(`^/v2${row.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`));
    expect(Object.keys(sent?.body ?? {}).toSorted()).toEqual([...(row.body ?? [])].toSorted());
    const basic = name === "POST /signup" ? undefined : `Basic ${Buffer.from("at:X").toString("base64")}`;
    expect(sent?.headers.authorization).toBe(basic);
  });
});
