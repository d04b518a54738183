import type { Row } from "./protocol-table.ts";

/** Protocol 4.2, row by row: 20 operations. */
export const SYNC_CONFIG_ROWS: readonly Pick<Row, "method" | "path" | "body">[] = [
  { method: "POST", path: "/signup", body: ["compExtId", "userExtId", "appId", "apiHash", "requestTimestamp"] },
  { method: "GET", path: "/me" },
  { method: "GET", path: "/services" },
  { method: "POST", path: "/services", body: ["type"] },
  { method: "GET", path: "/services/{id}" },
  { method: "GET", path: "/services/syncSettings" },
  { method: "PUT", path: "/services/syncSettings", body: ["syncCalendar"] },
  { method: "GET", path: "/sync" },
  { method: "POST", path: "/sync", body: ["initial"] },
  { method: "GET", path: "/rules/{type}/report" },
  { method: "PUT", path: "/rules/{type}/allowSync" },
  { method: "PUT", path: "/allowSync", body: ["0"] },
  { method: "GET", path: "/templateGroups" },
  { method: "POST", path: "/templateGroups", body: ["name"] },
  { method: "PUT", path: "/templateGroups/{gid}", body: ["name"] },
  { method: "GET", path: "/templateGroups/{gid}/services" },
  { method: "POST", path: "/templateGroups/{gid}/services", body: ["type"] },
  { method: "GET", path: "/templateGroups/{gid}/services/{id}" },
  { method: "GET", path: "/templateGroups/{gid}/syncSettings" },
  { method: "PUT", path: "/templateGroups/{gid}/syncSettings", body: ["syncTasks"] },
];

/** "The existing service is read and updated at this path": the method is not shown. */
export const UPDATE_ROWS: readonly Pick<Row, "method" | "path" | "body">[] = [
  { method: "PUT", path: "/services/{id}", body: ["displayName"] },
  { method: "PUT", path: "/templateGroups/{gid}/services/{id}", body: ["displayName"] },
];
