import { execFile, execFileSync } from "node:child_process";
import { promisify } from "node:util";

/** For `spawn`. */
export interface User {
  readonly uid?: number;
  readonly gid?: number;
}

/** PostgreSQL and PgBouncer refuse to run as root, so root runs them as `nobody`. Others run them as themselves. */
export function ordinaryUser(): User {
  if (process.getuid?.() !== 0) return {};
  const [uid, gid] = ["-u", "-g"].map((what) => Number(execFileSync("id", [what, "nobody"], { encoding: "utf8" })));
  return { uid: uid!, gid: gid! };
}

/** Makes the user the owner of folders and of everything in them. */
export async function giveTo({ uid, gid }: User, folders: readonly string[]): Promise<void> {
  if (uid !== undefined) await promisify(execFile)("chown", ["-R", `${uid}:${gid}`, ...folders]);
}
