// Keeps a copy of mailboxes and calendars in step.
export { deltaSync, type DeltaSyncOptions, type ResourceSync } from "./sync/delta-sync.ts";
export { fetchChanged, type FetchChangedOptions } from "./sync/fetch-changed.ts";
export type { ApplyScope, KnownScope, SyncScope } from "./sync/scopes.ts";
export type { SyncFamily, SyncRecords } from "./sync/sources.ts";
export { memoryTokens, postgresTokens, sqliteTokens, type TokenStore } from "./sync/token-store.ts";
