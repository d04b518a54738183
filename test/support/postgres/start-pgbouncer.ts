import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { mkdtemp, readFile, writeFile } from "node:fs/promises";
import { connect } from "node:net";
import { tmpdir } from "node:os";
import { delimiter, join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { freePort } from "./free-port.ts";
import { guard } from "./guard.ts";
import { giveTo, ordinaryUser } from "./ordinary-user.ts";

export interface PgBouncerOptions {
  /** The server behind it. */
  readonly to: string;
  readonly poolMode: "session" | "transaction" | "statement";
}

/** It ends with the process that started it, and leaves no folder. */
export interface PgBouncer {
  /** The same user and database as `to`, through PgBouncer. */
  readonly connectionString: string;
  remove(): Promise<void>;
}

/** Debian has it where the path of an ordinary user does not lead. */
const PROGRAM = [...(process.env["PATH"] ?? "").split(delimiter), "/usr/sbin"]
  .map((folder) => join(folder, "pgbouncer"))
  .find((file) => existsSync(file));

/** For `describe.skipIf`: why tests through PgBouncer cannot run here. */
export const noPgBouncer = PROGRAM === undefined ? "skipped: pgbouncer is not installed" : undefined;

/** A PgBouncer on a port of its own, with the user and password of `to`. */
export async function startPgBouncer({ to, poolMode }: PgBouncerOptions): Promise<PgBouncer> {
  if (PROGRAM === undefined) throw new Error("pgbouncer is not installed, expected it in the path or in /usr/sbin.");
  const folder = await mkdtemp(join(tmpdir(), "hookline-pgbouncer-"));
  const guarded = guard([folder]);
  try {
    const port = await freePort();
    const server = new URL(to);
    const log = join(folder, "log");
    const configFile = join(folder, "pgbouncer.ini");
    const users = join(folder, "users");
    await writeFile(users, `"${decodeURIComponent(server.username)}" "${decodeURIComponent(server.password)}"\n`);
    const lines = [
      `[databases]\n* = host=${server.hostname} port=${server.port || 5432}`,
      `[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = ${port}\nunix_socket_dir =\npool_mode = ${poolMode}`,
      `auth_type = scram-sha-256\nauth_file = ${users}\n`,
    ];
    await writeFile(configFile, lines.join("\n"));
    await giveTo(ordinaryUser(), [folder]);
    const output = openSync(log, "a");
    const stdio = ["ignore", output, output] as const;
    const bouncer = spawn(PROGRAM, [configFile], { ...ordinaryUser(), cwd: folder, detached: true, stdio: [...stdio] });
    closeSync(output);
    guarded.watch(bouncer.pid);
    await once(bouncer, "spawn");
    while (!(await listens(port))) {
      if (bouncer.exitCode !== null) {
        guarded.watch();
        throw new Error(`pgbouncer ended with ${bouncer.exitCode}. ${await readFile(log, "utf8")}`);
      }
      await setTimeout(10);
    }
    bouncer.unref();
    const through = new URL(to);
    through.host = `127.0.0.1:${port}`;
    return { connectionString: through.href, remove: guarded.release };
  } catch (error) {
    await guarded.release();
    throw error;
  }
}

function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, "127.0.0.1", () => resolve(true));
    socket.once("error", () => resolve(false)).once("connect", () => socket.destroy());
  });
}
