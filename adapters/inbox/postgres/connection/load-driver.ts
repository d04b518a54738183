import { UsageError } from "../../../../src/index.ts";

/** What `pg` exports, as far as it is used here. */
export type Driver = typeof import("pg");

/** @throws UsageError `peer-missing` */
export async function loadDriver(load: () => Promise<Driver> = () => import("pg")): Promise<Driver> {
  try {
    const loaded = (await load()) as Driver & { readonly default?: Driver };
    return loaded.default ?? loaded;
  } catch (cause) {
    const { code, message } = cause as NodeJS.ErrnoException;
    if (code?.endsWith("MODULE_NOT_FOUND") !== true || !/['"]pg['"]/.test(message)) throw cause;
    throw new UsageError("peer-missing", "postgresInbox found no package `pg`, which speaks to the server.", {
      cause,
      fix: "Run `npm install pg`. In a bundle leave `pg` out of it, or have it installed where the bundle is built.",
    });
  }
}
