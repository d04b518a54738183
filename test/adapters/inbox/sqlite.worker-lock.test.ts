import { execFileSync } from "node:child_process";
import {
  chownSync,
  existsSync,
  linkSync,
  mkdirSync,
  readdirSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { dirname, join } from "node:path";
import { describe, expect, onTestFinished, test, vi } from "vitest";
import { isMountPoint } from "../../../adapters/inbox/sqlite/connection/file-path.ts";
import { lookAtFile } from "../../../adapters/inbox/sqlite/inspect/inspect-file.ts";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { createWorkerLock } from "../../../adapters/inbox/sqlite/work/worker-lock.ts";
import { systemClock } from "../../../src/clock.ts";
import { toLogger } from "../../../src/logger.ts";
import { startNode } from "../../cli/child.ts";
import { inbox as runInboxCommand, jsonOf } from "../../cli/inbox-file.ts";
import { mail } from "../../suites/inbox/deliveries.ts";
import { eventually } from "../../support/eventually.ts";
import { fakeClock } from "../../support/fake-clock.ts";
import { codesOf, problemsOf, toReported } from "../../support/health.ts";
import { logRecorder } from "../../support/log-recorder.ts";
import { folderFor, onDisk } from "./on-disk.ts";
import { receiverOn } from "./receiver-on.ts";

const HOST = { name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 };

/** A folder of two releases that share one file: `current/data` is a link to `shared`, `current/inbox.db` one to the file in it. */
function releases() {
  const root = realpathSync(folderFor());
  mkdirSync(join(root, "shared"));
  mkdirSync(join(root, "current"));
  symlinkSync("../shared", join(root, "current/data"));
  symlinkSync("../shared/inbox.db", join(root, "current/inbox.db"));
  const file = join(root, "shared/inbox.db");
  return { root, file, byFolder: join(root, "current/data/inbox.db"), byLink: join(root, "current/inbox.db") };
}

describe("a file that is reached through links", () => {
  test("has one worker: by a link to it, by one to its folder, or by its own path", async () => {
    const { root, file, byFolder, byLink } = releases();
    const worker = startNode(["test/adapters/inbox/holding-process.ts", byLink]);
    await worker.says("out", /^worker\n/m);
    const roles: string[] = [];
    for (const path of [file, byFolder, byLink]) {
      const inbox = createSqliteInbox({ file: path });
      await inbox.open(HOST);
      onTestFinished(() => inbox.close());
      const own = { begin: () => void roles.push(`works by ${path}`), end() {}, wake() {}, lost() {} };
      await inbox.work(own);
      await inbox.store([mail([path])]);
    }
    expect(roles).toEqual([]);
    // What lies beside it lies beside it, and nowhere else: the link was there before the file.
    const endings = ["", "-lock", "-shm", "-wal"].map((ending) => `inbox.db${ending}`);
    expect(readdirSync(join(root, "shared")).toSorted()).toEqual(endings);
    expect(readdirSync(join(root, "current")).toSorted()).toEqual(["data", "inbox.db"]);
    expect(readdirSync(join(root, "shared")).map((name) => statSync(join(root, "shared", name)).mode & 0o777)).toEqual(
      endings.map(() => 0o600),
    );
  });

  test("is known to the command line as worked on, and the worker does what is asked for there", async () => {
    const { file, byLink } = releases();
    const worker = receiverOn(file);
    worker.receiver.on("email.updated", () => {});
    await worker.receiver.start();
    expect(await worker.send("m-1")).toBe(200);
    await worker.receiver.idle();
    expect(lookAtFile(byLink)).toMatchObject({ path: file, isWorkedOn: true });
    const [told] = jsonOf((await runInboxCommand(byLink, "stats --json")).out);
    expect(told).toMatchObject({ file: byLink, isWorkedOn: true, walBytes: statSync(`${file}-wal`).size });
    const replayed = await runInboxCommand(byLink, "replay --state done");
    expect(replayed.code, replayed.err).toBe(0);
    await eventually(() => expect(worker.receiver.stats().succeeded).toBe(2));
  });

  test("whose target has no folder are told, with the folder that is missing", async () => {
    const folder = folderFor();
    symlinkSync("nowhere/inbox.db", join(folder, "inbox.db"));
    const inbox = createSqliteInbox({ file: join(folder, "inbox.db") });
    await expect(inbox.open(HOST)).rejects.toMatchObject({
      code: "link-dangling",
      message: `${join(folder, "inbox.db")} is a link to nowhere/inbox.db, and there is no folder ${join(realpathSync(folder), "nowhere")}. Make that folder, or point the link to one that is there; the inbox makes its files, and no folders.`,
    });
  });

  test("that lead in a circle are refused", async () => {
    const folder = folderFor();
    symlinkSync("b.db", join(folder, "a.db"));
    symlinkSync("a.db", join(folder, "b.db"));
    const inbox = createSqliteInbox({ file: join(folder, "a.db") });
    await expect(inbox.open(HOST)).rejects.toMatchObject({ message: expect.stringContaining("ELOOP") });
  });
});

describe.skipIf(process.getuid?.() !== 0)("where root looks after the file of another user", () => {
  const NOBODY = 65_534;

  /** A file of this user, in a folder where they may write. */
  async function theirs(): Promise<string> {
    const { inbox, file } = await onDisk();
    await inbox.close();
    rmSync(`${file}-lock`);
    for (const path of [dirname(file), file]) chownSync(path, NOBODY, NOBODY);
    return file;
  }

  test("the lock file that it makes is theirs", async () => {
    const file = await theirs();
    const lock = createWorkerLock(file, HOST);
    onTestFinished(() => lock.release());
    expect(lock.tryAcquire()).toBe(true);
    expect(statSync(`${file}-lock`)).toMatchObject({ uid: NOBODY, gid: NOBODY });
  });

  test("a lock file that is root's is told", async () => {
    const file = await theirs();
    writeFileSync(`${file}-lock`, "", { mode: 0o600 });
    const lock = createWorkerLock(file, HOST);
    process.seteuid?.(NOBODY);
    onTestFinished(() => process.seteuid?.(0));
    expect(() => lock.tryAcquire()).toThrow(
      expect.objectContaining({ code: "file-forbidden", fix: expect.stringContaining("Give the user") }),
    );
  });
});

describe("a file with several names", () => {
  test("is refused when it is opened, by each of them", async () => {
    const { inbox, file } = await onDisk();
    await inbox.close();
    linkSync(file, `${file}.copy`);
    for (const name of [file, `${file}.copy`])
      await expect(createSqliteInbox({ file: name }).open(HOST)).rejects.toMatchObject({
        code: "hard-linked",
        fix: expect.stringContaining("-samefile"),
      });
    rmSync(`${file}.copy`);
    await inbox.open(HOST);
  });

  test("that a backup gives it while it is in use is a problem, and costs no delivery; looking goes on", async () => {
    const file = join(folderFor(), "inbox.db");
    const { receiver, send } = receiverOn(file);
    await receiver.start();
    linkSync(file, `${file}.backup`);
    await eventually(async () => {
      expect(await problemsOf(receiver, "hard-linked")).toEqual([toReported("hard-linked", "Now: 2 names.")]);
    });
    expect(await send("m-1")).toBe(200);
    expect(await receiver.health()).toMatchObject({ live: true, ready: true });
    expect((await runInboxCommand(file, "list")).code).toBe(0);
    rmSync(`${file}.backup`);
    await eventually(async () => expect(await codesOf(receiver)).not.toContain("hard-linked"));
  });
});

describe("a file that is itself a mount point", () => {
  const MOUNTS = [
    "22 1 254:0 / / rw,relatime - ext4 /dev/vda rw",
    "63 43 254:0 /m1 /data/inbox.db rw,relatime shared:1 - ext4 /dev/vda rw,discard",
    String.raw`64 43 254:0 /m1 /my\040data/a\134b\011c.db rw - ext4 /dev/vda rw`,
    "65 43 254:0 /folder /volume rw - ext4 /dev/vda rw",
    "",
  ].join("\n");

  test.each([
    ["/data/inbox.db", true],
    ["/my data/a\\b\tc.db", true],
    ["/data", false],
    ["/m1", false],
    ["/volume/inbox.db", false],
  ])("%j: %j", (file, expected) => {
    expect(isMountPoint(file, MOUNTS)).toBe(expected);
  });

  test.runIf(canMount())("is refused with the fix, and one in a folder that is mounted is not", async () => {
    const folder = folderFor();
    for (const name of ["real.db", "inbox.db"]) writeFileSync(join(folder, name), "");
    mkdirSync(join(folder, "real"));
    mkdirSync(join(folder, "volume"));
    const script = [
      "mount --bind real.db inbox.db",
      "mount --bind real volume",
      'cd "$1"',
      'node="$2"; folder="$3"',
      '"$node" --conditions=hookline-source test/adapters/inbox/opening-process.ts "$folder/inbox.db" "$folder/volume/inbox.db"',
    ].join(" && ");
    const out = execFileSync("unshare", ["-m", "sh", "-c", script, "sh", process.cwd(), process.execPath, folder], {
      cwd: folder,
      encoding: "utf8",
    });
    expect(out).toMatch(/^file-mounted .*Mount its folder instead of the file\.\nopen\n$/);
    expect(existsSync(join(folder, "real/inbox.db"))).toBe(true);
  });
});

describe("the lock of the one who works", () => {
  test("stays when the same process opens and closes its file once more", async () => {
    const file = join(folderFor(), "inbox.db");
    const [first, second] = [createWorkerLock(file, HOST), createWorkerLock(file, HOST)];
    onTestFinished(() => first.release());
    expect([first.tryAcquire(), second.tryAcquire()]).toEqual([true, false]);
    second.release();
    const other = startNode(["test/adapters/inbox/taking-process.ts", file]);
    expect(await other.ended, other.err()).toBe(0);
    expect(other.out()).toBe("not had\n");
  });
});

/** In a mount namespace of its own, as root. */
function canMount(): boolean {
  try {
    execFileSync("unshare", ["-m", "sh", "-c", "mount --bind /tmp /tmp"], { stdio: "ignore" });
    return true;
  } catch {
    return false;
  }
}

test("a stand-by whose disk refuses the lock says so once, and works when it no longer does", async () => {
  const file = join(folderFor(), "inbox.db");
  mkdirSync(`${file}-lock`);
  const [clock, log] = [fakeClock(), logRecorder()];
  const lock = createWorkerLock(file, { clock, log: log.logger });
  onTestFinished(() => lock.release());
  let works = false;
  lock.acquireIn(0, () => void (works = true));
  await clock.advance(10_000);
  expect(log.of("lock-failed")).toMatchObject([{ level: "error" }]);
  expect(works).toBe(false);
  rmSync(`${file}-lock`, { recursive: true });
  await clock.advance(10_000);
  expect(works).toBe(true);
});

describe("a worker whose process stands still keeps the lock, and", () => {
  const SILENT =
    / What is due in this file was not started for \d+ s: The process that works on it gives no sign of life/;

  /** A worker in a process of its own, which stands still; and a standby, with what makes so much time pass for it. */
  async function standby() {
    const file = join(folderFor(), "inbox.db");
    const worker = startNode(["test/adapters/inbox/holding-process.ts", file]);
    await worker.says("out", /^worker\n/m);
    await eventually(() => expect(Date.now() - statSync(`${file}-lock`).mtimeMs).toBeLessThan(60_000)); // its first sign of life
    worker.kill("SIGSTOP");
    utimesSync(`${file}-lock`, 1, 1);
    const clock = fakeClock(new Date());
    const { receiver, send } = receiverOn(file, {}, { clock });
    await receiver.start();
    let skippedMs = 0;
    const now = performance.now.bind(performance);
    vi.spyOn(performance, "now").mockImplementation(() => now() + skippedMs);
    onTestFinished(() => void vi.restoreAllMocks());
    const pass = async (ms: number): Promise<void> => {
      for (let passed = 0; passed < ms; passed += 250) {
        skippedMs += 250;
        await clock.advance(250);
      }
    };
    return { file, worker, receiver, send, pass };
  }

  test("the standby says so after 15 s, but not that it should be restarted; until the other one moves again", async () => {
    const { file, worker, receiver, send, pass } = await standby();
    await pass(1_000);
    utimesSync(`${file}-lock`, 2, 2); // a sign of life
    await pass(14_000);
    expect(await send("m-1")).toBe(200);
    await eventually(async () => expect(await receiver.health()).toMatchObject({ waiting: 1 }));
    expect(await codesOf(receiver)).not.toContain("no-progress");
    await pass(2_000);
    expect(await receiver.health()).toMatchObject({
      live: true,
      problems: expect.arrayContaining([
        expect.objectContaining({
          code: "no-progress",
          message: expect.stringMatching(SILENT),
          fix: expect.stringContaining(`fuser ${file}-lock`),
        }),
      ]),
    });
    worker.kill("SIGCONT");
    await eventually(async () => {
      await pass(250);
      expect(await codesOf(receiver)).not.toContain("no-progress");
    });
  });

  test("the standby says nothing where none of it is due, or where it never saw a sign of life", async () => {
    const { file, worker, receiver, send, pass } = await standby();
    await pass(60_000);
    expect(await send("m-1")).toBe(200);
    await eventually(async () => expect(await receiver.health()).toMatchObject({ waiting: 1 }));
    expect(await codesOf(receiver)).not.toContain("no-progress");
    worker.kill("SIGCONT");
    await worker.says("out", /^claimed m-1\n/m);
    await eventually(async () => expect(await receiver.health()).toMatchObject({ waiting: 0 }));
    worker.kill("SIGSTOP");
    utimesSync(`${file}-lock`, 2, 2);
    await pass(60_000);
    expect(await codesOf(receiver)).not.toContain("no-progress");
  });

  test("one that works gives a sign of life every few seconds", async () => {
    const { file, worker } = await standby();
    worker.kill("SIGCONT");
    for (let times = 0; times < 2; times += 1) {
      utimesSync(`${file}-lock`, 1, 1);
      await eventually(() => expect(statSync(`${file}-lock`).mtimeMs).not.toBe(1_000));
    }
  });
});
