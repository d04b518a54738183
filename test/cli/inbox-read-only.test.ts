import { spawn, spawnSync } from "node:child_process";
import { chmodSync, copyFileSync, mkdirSync, readdirSync } from "node:fs";
import { dirname, join } from "node:path";
import { text } from "node:stream/consumers";
import { describe, expect, onTestFinished, test } from "vitest";
import { openUnshared } from "../../adapters/inbox/sqlite/inspect/open-read-only.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { fileWith, inboxPath, offer, shop } from "./inbox-file.ts";

const isRoot = process.getuid?.() === 0;
/** Root may write everywhere, unless it gives that up. */
const DROP = ["--bounding-set", "-dac_override,-dac_read_search"];
const canTell = process.platform !== "win32" && (!isRoot || spawnSync("setpriv", [...DROP, "true"]).status === 0);
const good = bodyOf({ payloads: [change("m-1")] });

interface Ended {
  readonly code: number;
  readonly out: string;
  readonly err: string;
}

/** `hookline inbox`, where the rights of files bind it. */
async function look(...commands: readonly (readonly [file: string, words: string])[]): Promise<readonly Ended[]> {
  const words = commands.map(([file, typed]) => `inbox ${typed} --inbox ${file}`.split(" "));
  const script = join(import.meta.dirname, "looking-process.ts");
  const args = [process.execPath, "--conditions=hookline-source", script, JSON.stringify(words)];
  const [program = "", ...given] = isRoot ? ["setpriv", ...DROP, ...args] : args;
  const child = spawn(program, given, { stdio: ["ignore", "pipe", "ignore"] });
  onTestFinished(() => void child.kill("SIGKILL"));
  return JSON.parse(await text(child.stdout)) as readonly Ended[];
}

/** A copy of a file and of what is beside it, in a folder where nobody may write. */
function putAway(file: string, ...beside: readonly string[]): string {
  const folder = join(dirname(file), "away");
  mkdirSync(folder);
  onTestFinished(() => chmodSync(folder, 0o755));
  for (const end of ["", ...beside]) {
    copyFileSync(`${file}${end}`, join(folder, `inbox.db${end}`));
    chmodSync(join(folder, `inbox.db${end}`), 0o444);
  }
  chmodSync(folder, 0o555);
  return join(folder, "inbox.db");
}

describe.skipIf(!canTell)("a copy where nothing can be written", () => {
  test("is looked at as it is, and nothing is made beside it", async () => {
    const copy = putAway(await fileWith([good]));
    const [stats, ...looks] = await look(
      [copy, "stats"],
      [copy, "list --json"],
      [copy, "show 2 --json"],
      [copy, "export"],
      [copy, "tombstones"],
      [copy, "gaps"],
      [copy, "gaps clear --all --dry-run"],
    );
    expect(stats).toMatchObject({ code: 0, err: "" });
    expect(stats?.out).toMatch(/^worked on +no/m);
    for (const { code, out, err } of looks.slice(0, 3))
      expect([code, err, JSON.parse(out)]).toMatchObject([0, "", { id: "2" }]);
    expect(looks[3]).toMatchObject({ code: 0, err: "There are no tombstones.\n" });
    expect(looks[4]).toMatchObject({ code: 0, err: "There are no such gaps.\n" });
    expect(looks[5]).toMatchObject({ code: 0, out: "Would clear 0 gaps.\n" });
    expect(readdirSync(dirname(copy))).toEqual(["inbox.db"]);
  });

  test("is not told of without the commits of its log, nor where it may not be read: what is needed is said", async () => {
    const file = inboxPath();
    const receiver = shop(file);
    onTestFinished(async () => void (await receiver.close()));
    await offer(receiver, [good]);
    const open = putAway(file, "-wal");
    const hidden = putAway(await fileWith([good]));
    chmodSync(hidden, 0o000);
    const enclosed = putAway(await fileWith([good]));
    chmodSync(dirname(enclosed), 0o000);
    const [list, stats, behind] = await look([open, "list"], [hidden, "stats"], [enclosed, "list"]);
    expect(list).toMatchObject({ code: 1, out: "" });
    expect(list?.err).toContain(
      "-wal holds commits that cannot be read without writing beside it. Copy it together with",
    );
    expect(stats).toMatchObject({ code: 1, out: "" });
    expect(stats?.err).toContain(`${hidden} cannot be read by this user.`);
    expect(behind).toMatchObject({ code: 1, out: "" });
    expect(behind?.err).toContain(`${enclosed} cannot be read by this user.`);
  });
});

test("what is read as unchanging is not told once somebody wrote", async () => {
  const file = await fileWith([good]);
  const { db, assertUnchanged } = openUnshared(file, undefined);
  onTestFinished(() => db.close());
  assertUnchanged();
  const receiver = shop(file);
  onTestFinished(async () => void (await receiver.close()));
  await offer(receiver, [good]);
  expect(() => assertUnchanged()).toThrow("was written to while it was read.");
  await receiver.close();
  expect(() => assertUnchanged()).toThrow("was written to while it was read.");
});
