// What has no entry yet. When one comes, its line here no longer fails, and says so.
import { createReceiver, memoryInbox } from "hookline";

const receiver = createReceiver({ secret: "s", inbox: memoryInbox() });

// @ts-expect-error -- listing, replaying and dropping jobs
export const jobs = receiver.jobs;
// @ts-expect-error -- the state of health
export const health = receiver.health();
// @ts-expect-error -- the type of `receiver.jobs`
export type { Jobs } from "hookline";
// @ts-expect-error -- the type of its filter
export type { JobFilter } from "hookline";
// @ts-expect-error -- the type of `receiver.health()`
export type { Health } from "hookline";
// @ts-expect-error -- what mounts that may freeze will ask for
export type { AfterHandlers } from "hookline";
// @ts-expect-error -- what they will refuse
export type { OutlivesFunction } from "hookline";
// @ts-expect-error -- the inbox in a file
export type { SqliteInboxOptions } from "hookline/sqlite";
