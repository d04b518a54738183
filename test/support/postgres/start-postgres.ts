import { execFile, spawn, type ChildProcess } from "node:child_process";
import { randomBytes } from "node:crypto";
import { once } from "node:events";
import { closeSync, openSync } from "node:fs";
import { appendFile, chmod, cp, mkdtemp, readdir, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { promisify } from "node:util";
import { fastTmpdir } from "../fast-tmpdir.ts";
import { npmBinaries } from "./binaries.ts";
import { freePort } from "./free-port.ts";
import { guard } from "./guard.ts";
import { namedServer } from "./named-server.ts";
import { giveTo, ordinaryUser } from "./ordinary-user.ts";

const run = promisify(execFile);

export interface PostgresOptions {
  /** What differs from PostgreSQL's own defaults, as `{ synchronous_commit: "off" }`. `ALTER SYSTEM` overrides it. */
  readonly settings?: Readonly<Record<string, string | number>>;
  /**
   * Where the data folder is made.
   * @default in memory if there is enough: fsync is on, but costs nothing and survives no power cut
   */
  readonly parent?: string;
  /** The folder with `postgres` and `initdb`. @default what HOOKLINE_TEST_POSTGRES names, else what npm brought */
  readonly binaries?: string;
  /** A hot standby of this server, which is stopped: as it was then, since it follows nothing. */
  readonly standbyOf?: PostgresServer;
}

/** A PostgreSQL server of the test's own. It ends with the process that started it, and leaves no folder. */
export interface PostgresServer {
  /** By TCP, as superuser, to the database `postgres`. It stays the same over restarts. */
  readonly connectionString: string;
  readonly dataFolder: string;
  /** As `18.4`. */
  readonly version: string;
  /** @param mode `fast` writes a checkpoint, `immediate` leaves recovery to the next start; both disconnect the clients */
  stop(mode: "fast" | "immediate"): Promise<void>;
  /** SIGKILL to the postmaster and all its children. Resolves when they are gone. */
  kill(): Promise<void>;
  /** Again, on the same data and port. */
  start(): Promise<void>;
  /** Ends it and removes its folders. */
  remove(): Promise<void>;
}

export async function startPostgres(options: PostgresOptions = {}): Promise<PostgresServer> {
  if (process.platform === "win32") throw new Error("Tests start no PostgreSQL on Windows, expected Linux or macOS.");
  // Programs cannot run from /dev/shm in every container.
  const programs = await mkdtemp(join(tmpdir(), "hookline-postgres-"));
  const parent = options.parent ?? fastTmpdir();
  const folder = await mkdtemp(join(parent, "hookline-postgres-"));
  const guarded = guard([programs, folder]);
  try {
    // A folder of `mkdtemp` lets no other user through.
    if (options.parent !== undefined && ordinaryUser().uid !== undefined)
      await chmod(parent, (await stat(parent)).mode | 0o011);
    const binaries = options.binaries ?? namedServer().binaries ?? (await npmBinaries(join(programs, "native")));
    const { standbyOf, settings = {} } = options;
    const password = standbyOf ? new URL(standbyOf.connectionString).password : randomBytes(16).toString("hex");
    const dataFolder =
      standbyOf === undefined
        ? await createCluster(binaries, folder, { programs, password, settings })
        : await copyCluster(standbyOf, { programs, folder });
    const { stdout } = await run(join(binaries, "postgres"), ["--version"], ordinaryUser());
    const port = await freePort();
    let server = await startServer(binaries, folder, port, guarded.watch);
    const end = async (how: (server: ChildProcess) => Promise<unknown>) => {
      if (!isRunning(server)) return;
      const ended = once(server, "exit");
      server.ref();
      await Promise.all([how(server), ended]);
      guarded.watch();
    };
    return {
      connectionString: `postgresql://postgres:${password}@127.0.0.1:${port}/postgres`,
      dataFolder,
      version: /\d+\.\d+/.exec(stdout)![0],
      stop: (mode) => end(async (child) => child.kill(mode === "fast" ? "SIGINT" : "SIGQUIT")),
      kill: () => end(killTree),
      async start() {
        if (!isRunning(server)) server = await startServer(binaries, folder, port, guarded.watch);
      },
      remove: guarded.release,
    };
  } catch (error) {
    await guarded.release();
    throw error;
  }
}

interface Cluster {
  readonly programs: string;
  readonly password: string;
  readonly settings: Readonly<Record<string, string | number>>;
}

async function createCluster(
  binaries: string,
  folder: string,
  { programs, password, settings }: Cluster,
): Promise<string> {
  const passwordFile = join(folder, "password");
  await writeFile(passwordFile, password);
  const user = ordinaryUser();
  await giveTo(user, [programs, folder]);
  const data = join(folder, "data");
  const args = ["-D", data, "--username=postgres", `--pwfile=${passwordFile}`, "--auth=scram-sha-256", "--no-sync"];
  // Most servers sort text by a language, so a statement that needs the order of bytes must say so.
  const order = ["--encoding=UTF8", "--locale=C", "--locale-provider=icu", "--icu-locale=en-US"];
  await run(join(binaries, "initdb"), [...args, ...order], { ...user, cwd: folder, env: environment() });
  const all = {
    listen_addresses: "127.0.0.1",
    unix_socket_directories: "",
    max_connections: 200,
    // Its shared memory is then in the data folder, and removed with it also after a kill.
    dynamic_shared_memory_type: "mmap",
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${String(value).replaceAll("'", "''")}'\n`);
  await appendFile(join(data, "postgresql.conf"), lines.join(""));
  return data;
}

async function copyCluster(
  { dataFolder }: PostgresServer,
  { programs, folder }: { readonly programs: string; readonly folder: string },
): Promise<string> {
  const data = join(folder, "data");
  await cp(dataFolder, data, { recursive: true, preserveTimestamps: true });
  await writeFile(join(data, "standby.signal"), "");
  await giveTo(ordinaryUser(), [programs, folder]);
  return data;
}

async function startServer(binaries: string, folder: string, port: number, watch: (pid?: number) => void) {
  const log = join(folder, "log");
  const output = openSync(log, "a");
  const server = spawn(join(binaries, "postgres"), ["-D", join(folder, "data"), "-p", String(port)], {
    ...ordinaryUser(),
    cwd: folder,
    env: environment(),
    // Ctrl+C in a terminal ends the tests, and the guard ends the server.
    detached: true,
    stdio: ["ignore", output, output],
  });
  closeSync(output);
  watch(server.pid);
  await once(server, "spawn");
  while (!(await isReady(folder, server.pid))) {
    if (!isRunning(server)) {
      watch();
      throw new Error(`PostgreSQL ended with ${server.exitCode ?? server.signalCode}. ${await readFile(log, "utf8")}`);
    }
    await setTimeout(10);
  }
  server.unref();
  return server;
}

/** What `pg_ctl` waits for: line 1 is the process id, line 8 its state. After a crash the file is of the process before. */
async function isReady(folder: string, pid: number | undefined): Promise<boolean> {
  const lines = (await readFile(join(folder, "data/postmaster.pid"), "utf8").catch(() => "")).split("\n");
  return lines[0] === String(pid) && lines[7]?.trim() === "ready";
}

function isRunning({ exitCode, signalCode }: ChildProcess): boolean {
  return exitCode === null && signalCode === null;
}

/** Each child has a process group of its own. Where there is no `/proc`, children end when they notice that the postmaster has. */
async function killTree(postmaster: ChildProcess): Promise<void> {
  // A stopped postmaster starts no child while its children are listed.
  postmaster.kill("SIGSTOP");
  const children = await childrenOf(postmaster.pid!);
  for (const child of children) process.kill(child, "SIGKILL");
  postmaster.kill("SIGKILL");
  for (const child of children) while (await isAlive(child)) await setTimeout(5);
}

async function childrenOf(parent: number): Promise<number[]> {
  const pids = (await readdir("/proc").catch(() => [])).map(Number).filter(Number.isInteger);
  const parents = await Promise.all(pids.map(async (pid) => (await processState(pid))?.parent));
  return pids.filter((_, index) => parents[index] === parent);
}

/** A zombie is not: nothing may reap it in a container. */
async function isAlive(pid: number): Promise<boolean> {
  const found = await processState(pid);
  return found !== undefined && found.state !== "Z";
}

async function processState(pid: number): Promise<{ state: string; parent: number } | undefined> {
  const line = await readFile(`/proc/${pid}/stat`, "utf8").catch(() => undefined);
  // The name before it, in parentheses, may contain spaces.
  const [state = "", parent] = line?.slice(line.lastIndexOf(")") + 2).split(" ") ?? [];
  return line === undefined ? undefined : { state, parent: Number(parent) };
}

/** Without the settings of the user's own clients and servers. Messages are in English. */
function environment(): NodeJS.ProcessEnv {
  const own = Object.entries(process.env).filter(([name]) => !/^(PG|LC_|LANG)/.test(name));
  return { ...Object.fromEntries(own), LC_ALL: "C", TZ: "UTC" };
}
