// What has no entry yet. When one comes, its line here no longer fails, and says so.

// @ts-expect-error -- what mounts that may freeze will ask for
export type { AfterHandlers } from "hookline";
// @ts-expect-error -- what they will refuse
export type { OutlivesFunction } from "hookline";
