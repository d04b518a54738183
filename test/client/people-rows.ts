import type { Client } from "../../src/client.ts";
import type { Row } from "./protocol-table.ts";

const LISTS = "/v1/tasklists";
const LIST = `${LISTS}/{taskListId}`;
const tokens = ["deltaToken", "pageToken"];

/** Contacts and tasks, as the service's public description has them. */
export const PEOPLE_ROWS: readonly Row[] = [
  { method: "POST", path: "/v1/contacts", body: ["name", "emailAddresses"], success: 201 },
  {
    method: "GET",
    path: "/v1/contacts/{id}",
    query: ["bodyType", "nativeProperties", "withPhoto", "includeUpdateToken"],
    success: 200,
  },
  { method: "PATCH", path: "/v1/contacts/{id}", headers: ["if-match"], body: ["name"], success: 200, errors: [412] },
  { method: "DELETE", path: "/v1/contacts/{id}", success: 200 },
  { method: "POST", path: "/v1/contacts/sync", success: 200 },
  { method: "GET", path: "/v1/contacts/sync/updated", query: tokens, success: 200, errors: [410] },
  { method: "GET", path: "/v1/contacts/sync/deleted", query: tokens, success: 200, errors: [410] },

  { method: "GET", path: LISTS, query: ["pageToken"], success: 200 },
  { method: "POST", path: LISTS, body: ["title"], success: 201 },
  { method: "GET", path: LIST, success: 200 },
  { method: "PATCH", path: LIST, headers: ["if-match"], body: ["title"], success: 200, errors: [412] },
  { method: "DELETE", path: LIST, success: 200 },

  { method: "GET", path: `${LIST}/tasks`, query: ["pageToken"], success: 200 },
  { method: "POST", path: `${LIST}/tasks`, body: ["title", "due"], success: 201 },
  { method: "GET", path: `${LIST}/tasks/{id}`, success: 200 },
  { method: "PATCH", path: `${LIST}/tasks/{id}`, headers: ["if-match"], body: ["status"], success: 200, errors: [412] },
  { method: "DELETE", path: `${LIST}/tasks/{id}`, success: 200 },
  { method: "POST", path: `${LIST}/sync`, query: ["skipCompletedBeforeDate"], success: 200 },
  { method: "GET", path: `${LIST}/sync/updated`, query: tokens, success: 200, errors: [410] },
  { method: "GET", path: `${LIST}/sync/deleted`, query: tokens, success: 200, errors: [410] },
];

const page = { records: [] };
const started = { syncUpdatedToken: "u", syncDeletedToken: "d", ready: true };
const saved = { id: "k-1", etag: '"1"', record: { id: "k-1" } };
const ifMatch = '"1"';

/** How each row is called with all of its parameters, and an answer that it takes. */
export const PEOPLE_USES: Readonly<
  Record<string, { readonly call: (client: Client) => Promise<unknown>; readonly answer: unknown }>
> = {
  "POST /v1/contacts": {
    call: (client) => client.contacts.create({ name: { displayName: "Ada" }, emailAddresses: [] }),
    answer: saved,
  },
  "GET /v1/contacts/{id}": {
    call: (client) =>
      client.contacts.get("k-1", {
        bodyType: "html",
        nativeProperties: ["a"],
        withPhoto: true,
        includeUpdateToken: true,
      }),
    answer: { id: "k-1" },
  },
  "PATCH /v1/contacts/{id}": {
    call: (client) => client.contacts.update("k-1", { name: {} }, { ifMatch }),
    answer: saved,
  },
  "DELETE /v1/contacts/{id}": { call: (client) => client.contacts.delete("k-1"), answer: undefined },
  "POST /v1/contacts/sync": { call: (client) => client.contacts.sync.start(), answer: started },
  "GET /v1/contacts/sync/updated": {
    call: (client) => bothTokens(client.contacts.sync.updated({ deltaToken: "d" })),
    answer: page,
  },
  "GET /v1/contacts/sync/deleted": {
    call: (client) => bothTokens(client.contacts.sync.deleted({ deltaToken: "d" })),
    answer: page,
  },
  "GET /v1/tasklists": { call: (client) => client.taskLists.list().page("p"), answer: page },
  "POST /v1/tasklists": { call: (client) => client.taskLists.create({ title: "Home" }), answer: { id: "l-1" } },
  [`GET ${LIST}`]: { call: (client) => client.taskLists.get("default"), answer: { id: "l-1" } },
  [`PATCH ${LIST}`]: {
    call: (client) => client.taskLists.update("l-1", { title: "Work" }, { ifMatch }),
    answer: { id: "l-1" },
  },
  [`DELETE ${LIST}`]: { call: (client) => client.taskLists.delete("l-1"), answer: { status: "Ok" } },
  [`GET ${LIST}/tasks`]: { call: (client) => client.tasks("default").list().page("p"), answer: page },
  [`POST ${LIST}/tasks`]: {
    call: (client) => client.tasks("default").create({ title: "Call", due: "2026-03-01T09:00:00Z" }),
    answer: saved,
  },
  [`GET ${LIST}/tasks/{id}`]: { call: (client) => client.tasks("default").get("k-1"), answer: { id: "k-1" } },
  [`PATCH ${LIST}/tasks/{id}`]: {
    call: (client) => client.tasks("default").update("k-1", { status: "completed" }, { ifMatch }),
    answer: saved,
  },
  [`DELETE ${LIST}/tasks/{id}`]: { call: (client) => client.tasks("default").delete("k-1"), answer: { status: "Ok" } },
  [`POST ${LIST}/sync`]: {
    call: (client) => client.tasks("default").sync.start({ skipCompletedBeforeDate: new Date("2026-01-01T00:00:00Z") }),
    answer: started,
  },
  [`GET ${LIST}/sync/updated`]: {
    call: (client) => bothTokens(client.tasks("default").sync.updated({ deltaToken: "d" })),
    answer: page,
  },
  [`GET ${LIST}/sync/deleted`]: {
    call: (client) => bothTokens(client.tasks("default").sync.deleted({ deltaToken: "d" })),
    answer: page,
  },
};

/** A page token stands alone, so that a walk is needed to see both parameters. */
export async function bothTokens(list: { page(token?: string): Promise<unknown> }): Promise<void> {
  await list.page();
  await list.page("p");
}
