import type { StoredDelivery } from "hookline";
import { verify } from "hookline/signature";
import { linkSync, readdirSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { DatabaseSync } from "node:sqlite";
import { Writable } from "node:stream";
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { until } from "../support/event-loop.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { startCli } from "./child.ts";
import { runCli } from "./in-process.ts";
import { fileWith, fileWithTombstones, inbox, inboxPath, jsonOf, offer, shop } from "./inbox-file.ts";

const good = bodyOf({ payloads: [change("m-1")] });
const bad = bodyOf({ payloads: [change("bad-1")], accountId: 7 });
const odd = bodyOf({ resource: "/notes" });

/** Nothing here writes into it. */
let shared = "";
let clean = (): void => {};
beforeAll(async () => {
  shared = await fileWith(
    [good, bad, odd],
    inboxPath((ended) => (clean = ended)),
  );
});
afterAll(() => clean());

describe("hookline inbox list", () => {
  test("tells jobs in a table, without what is in them", async () => {
    const { code, out, err } = await inbox(shared, "list");
    expect([code, err]).toEqual([0, ""]);
    expect(out).toMatchInlineSnapshot(`
      "ID  STATE      TYPE           ACCOUNT  CONSUMER  TRIES  RECEIVED (UTC)    LAST ERROR
      2   done       email.updated  2002     default          2026-05-06 07:08
      4   dead       email.updated  7        default   1      2026-05-06 07:08  TypeError: no [hidden] for [hidden]
      6   unhandled  unknown        2002               0      2026-05-06 07:08
      "
    `);
    const shown = await inbox(shared, "list --show-content --state dead");
    expect(shown.out).toContain("TypeError: no bad-1 for ann@example.com");
  });

  test("tells them as lines of JSON", async () => {
    const [done, dead, unknown] = jsonOf((await inbox(shared, "list --json")).out);
    expect(done).toEqual({
      id: "2",
      deliveryId: "1",
      state: "done",
      consumer: "default",
      receivedAt: "2026-05-06T07:08:09.000Z",
      event: { type: "email.updated", accountId: 2002, subscription: 1001 },
    });
    expect(dead).toMatchObject({ lastError: { message: "no [hidden] for [hidden]" } });
    expect(unknown).toMatchObject({ event: { type: "unknown", reason: "resource", field: "resource" } });
    const [shown] = jsonOf((await inbox(shared, "list --json --show-content --limit 1")).out);
    expect(shown).toMatchObject({ lane: expect.any(String) as string, event: { id: "m-1", changeType: "updated" } });
  });

  test.each([
    ["--state dead,unhandled", ["4", "6"]],
    ["--account 7", ["4"]],
    ["--subscription 1", []],
    ["--subscription 1001 --consumer default", ["2", "4"]],
    ["--type email", ["2", "4"]],
    ["--type unknown", ["6"]],
    ["--since 2026-05-06", ["2", "4", "6"]],
    ["--since 2026-05-06T07:08:09Z", ["2", "4", "6"]],
    ["--since 2026-05-06T07:08:09.001", []],
    ["--until 2026-05-06T09:08:09+02:00", []],
    ["--until 2026-05-06T07:09", ["2", "4", "6"]],
    ["--since 1s", []],
    ["--after 2", ["4", "6"]],
  ])("%s", async (words, ids) => {
    const { code, out, err } = await inbox(shared, `list ${words}`);
    const rows = out.split("\n").slice(1, -1);
    expect(rows.map((row) => row.split(" ")[0])).toEqual(ids);
    expect([code, err]).toEqual([0, ids.length === 0 ? "There are no such jobs.\n" : ""]);
  });

  test("says of an empty list that deliveries wait for a process that works", async () => {
    const file = inboxPath();
    const receiver = shop(file);
    await offer(receiver, [good, bad]);
    await receiver.close();
    expect((await inbox(file, "list --state waiting")).err).toBe(
      "There are no such jobs.\nDeliveries that are not made into jobs yet: 2. A process that has called start() makes them.\n",
    );
  });

  test("says how to go on where there are more", async () => {
    const { out, err } = await inbox(shared, "list --limit 2");
    expect(out.split("\n")).toHaveLength(4);
    expect(err).toBe("There are more: --after 4, or a higher --limit.\n");
  });

  test("reads page by page, as fast as its reader takes them", async () => {
    const thousand = bodyOf({
      resource: "/contacts",
      payloads: Array.from({ length: 1_000 }, (_, at) => change(`m-${at}`)),
    });
    const big = await fileWith(Array.from({ length: 10 }, () => thousand));
    const held: (() => void)[] = [];
    let lines = 0;
    const stdout = new Writable({
      highWaterMark: 1,
      write(chunk: Buffer, _encoding, done) {
        lines += chunk.toString().split("\n").length - 1;
        held.push(done);
      },
    });
    const cli = runCli(["inbox", "list", "--inbox", big, "--json", "--limit", "10000"], { stdout });
    // The first line goes alone.
    for (const printed of [1, 1_000, 2_000, 3_000, 4_000, 5_000, 6_000, 7_000, 8_000, 9_000, 10_000]) {
      await until(() => held.length === 1);
      expect(lines).toBe(printed);
      held.pop()?.();
    }
    expect(await cli.ended).toBe(0);
    expect(cli.err()).toBe("");
  });

  test.each([
    ["EPIPE", 1, "stdout was closed before anything was printed."],
    ["ENOSPC", 1, "stdout takes no more lines: it failed."],
  ])("whose reader fails with %s at once ends with %i", async (code, exit, told) => {
    for (const command of ["list", "list --json", "stats", "show 4", "export"])
      expect(await inbox(shared, command, { stdout: failing(code, 1) })).toMatchObject({
        code: exit,
        err: `hookline inbox ${command.split(" ")[0]}: ${told}\n`,
      });
  });

  test("whose reader has seen enough ends with 0, one whose disk is full with 1", async () => {
    expect(await inbox(shared, "list", { stdout: failing("EPIPE", 2) })).toMatchObject({ code: 0, err: "" });
    expect(await inbox(shared, "list", { stdout: failing("ENOSPC", 2) })).toMatchObject({ code: 1 });
  });

  test("as a process: a reader that leaves behind the first line is no failure, one that never came is", async () => {
    const cli = startCli(["inbox", "list", "--inbox", shared, "--json"]);
    cli.stdout.once("data", () => cli.stdout.destroy());
    expect(await cli.ended).toBe(0);
    const lost = startCli(["inbox", "list", "--inbox", shared, "--json"]);
    lost.stdout.destroy();
    expect(await lost.ended).toBe(1);
    expect(lost.err()).toContain("stdout was closed before anything was printed.");
  });
});

/** Takes all that is written before, and fails then. */
function failing(code: string, nth: number): Writable {
  let writes = 0;
  return new Writable({
    write: (_chunk, _encoding, done) =>
      ++writes < nth ? done() : done(Object.assign(new Error("it failed"), { code })),
  });
}

test("what would be a command to a terminal is shown as text", async () => {
  const evil = bodyOf({ payloads: [change("bad-\u001b]0;x\u0007\u009b31m\u202e\r\n漢")] });
  const [evils, stones] = [await fileWith([evil]), await fileWithTombstones([9, "\u001b[2J\u{e0041}日本"])];
  const outs = ["list", "list --json", "show 2", "show 2 --json", "export"].map((words) => [evils, words] as const);
  for (const [of, words] of [...outs, [stones, "tombstones list"], [stones, "tombstones list --json"]] as const) {
    let raw = "";
    const stdout = new Writable({
      write(chunk: Buffer, _encoding, done) {
        raw += chunk.toString();
        done();
      },
    });
    expect((await inbox(of, `${words} --show-content`, { stdout })).code).toBe(0);
    expect(raw).toMatch(/u\{1b\}|u001b/);
    expect(raw.replaceAll("\n", "")).not.toMatch(/[\p{Cc}\p{Cf}\u2028]/u);
  }
});

describe("hookline inbox show", () => {
  test("tells all of one job but its content", async () => {
    const { code, out } = await inbox(shared, "show 4");
    expect(code).toBe(0);
    expect(out.replace(/\d+ bytes/, "N bytes")).toMatchInlineSnapshot(`
      "job           4
      state         dead
      event         email.updated
      account       7
      subscription  1001
      consumer      default
      attempts      1
      last error    TypeError: no [hidden] for [hidden] (2026-05-06 07:08:09)
      received      2026-05-06 07:08:09
      sent          2026-05-06 07:08:09
      settled       2026-05-06 07:08:09
      delivery      3, N bytes, signed by default
      content       hidden: --show-content shows it
      "
    `);
  });

  test("with its content: the lane, the event and the body", async () => {
    const { out } = await inbox(shared, "show 2 --show-content");
    expect(out).toMatch(/^lane +\S/m);
    expect(out).toContain('event:\n{\n  "id": "m-1",\n');
    expect(out).toContain(`\nbody:\n${good}\n`);
  });

  test("an id that is not there ends with 1", async () => {
    const told = { code: 1, out: "", err: "hookline inbox show: There is no job 99.\n" };
    expect(await inbox(shared, "show 99")).toEqual(told);
  });
});

describe("hookline inbox export", () => {
  test("gives deliveries that can be verified again", async () => {
    const { out } = await inbox(shared, "export --show-content --state dead");
    const [line = {}] = jsonOf(out);
    const { bodyBase64, headers } = line["delivery"] as StoredDelivery;
    const body = Buffer.from(bodyBase64, "base64");
    const now = new Date("2026-05-06T07:08:09Z");
    expect(verify({ headers, body }, { secret: "a secret of these tests", now }).signedBy).toBe("default");
    expect(body.toString()).toBe(bad);
  });

  test("leaves the content out where it is not asked for", async () => {
    const { out } = await inbox(shared, "export");
    expect(jsonOf(out)).toMatchObject([
      { id: "2", delivery: { id: "1", bytes: good.length } },
      { id: "4" },
      { id: "6" },
    ]);
    expect(out).not.toMatch(/bodyBase64|headers|m-1/);
  });
});

describe("hookline inbox stats", () => {
  test("tells how much there is, and how the file stands", async () => {
    const { code, out } = await inbox(shared, "stats");
    expect(code).toBe(0);
    expect(out.replace(shared, "FILE").replaceAll(/[\d.,]+ [MG]iB/g, "SIZE")).toMatchInlineSnapshot(`
      "file             FILE
      receiver         shop
      schema version   5
      worked on        no: what waits is handled once a receiver starts on it
      waiting          0
      running          0
      unexpanded       0
      blocked lanes    0
      dead             1
      expired          0
      unhandled        1
      tombstones       0
      oldest waiting   none
      file size        SIZE
      write-ahead log  SIZE
      free disk        SIZE
      "
    `);
    const [json] = jsonOf((await inbox(shared, "stats --json")).out);
    expect(json).toMatchObject({
      file: shared,
      receiver: "shop",
      isWorkedOn: false,
      dead: 1,
      freeDiskBytes: expect.any(Number) as number,
    });
  });

  test("tells that a process works on it, and what waits", async () => {
    const file = inboxPath();
    const receiver = shop(file);
    onTestFinished(() => void receiver.close({ drainMs: 0 }));
    await offer(receiver, [good]);
    expect((await inbox(file, "stats")).out).toMatch(
      /^unexpanded +1$[^]*^oldest waiting +received 2026-05-06 07:08:09$/m,
    );
    await receiver.start();
    expect((await inbox(file, "stats")).out).toMatch(/^worked on +yes$/m);
    expect((await inbox(file, "stats --json")).out).toContain('"isWorkedOn":true');
  });
});

describe("what is no inbox", () => {
  test("a file that is not there is not made", async () => {
    const file = inboxPath();
    for (const words of [
      "stats",
      "list",
      "show 1",
      "replay --dead",
      "drop 1",
      "erase --account 1",
      "tombstones list",
      "gaps list",
      "gaps clear --all",
      "export",
    ]) {
      const { code, err } = await inbox(file, words);
      expect([words, code, err]).toEqual([words, 1, expect.stringContaining(`There is no file ${file}.`) as string]);
    }
    expect(readdirSync(dirname(file))).toEqual([]);
  });

  test("a folder, a text, an empty file and another database are left as they are", async () => {
    const file = inboxPath();
    const folder = dirname(file);
    writeFileSync(`${folder}/text`, "hello, I am a text and no database at all\n".repeat(30));
    writeFileSync(`${folder}/empty`, "");
    const other = new DatabaseSync(`${folder}/other`);
    other.exec("CREATE TABLE a (b); PRAGMA user_version = 1");
    other.close();
    const alike = new DatabaseSync(`${folder}/alike`);
    alike.exec(
      "PRAGMA journal_mode = WAL; PRAGMA user_version = 1; CREATE TABLE meta (key, value); CREATE TABLE job (run_at, lane)",
    );
    alike.close();
    const before = readdirSync(folder).toSorted();
    for (const name of ["", "text", "empty", "other", "alike"]) {
      for (const words of ["list", "stats", "drop 1"]) {
        const { code, err } = await inbox(`${folder}/${name}`, words);
        expect([name, code, err]).toEqual([name, 1, expect.stringContaining("is no inbox of Hookline.") as string]);
        expect(err).toContain("(not-an-inbox)");
      }
    }
    expect(readdirSync(folder).toSorted()).toEqual(before);
  });

  test("a name that no receiver uses: beside it the log is not found", async () => {
    const file = await fileWith([bodyOf({ payloads: [change("m-1")] })]);
    linkSync(file, `${file}.backup`);
    const backup = runCli(["inbox", "stats", "--inbox", `${file}.backup`]);
    expect(await backup.ended).toBe(1);
    expect(backup.err()).toContain("has 2 names (hard links), and no receiver uses this one.");
    expect(await runCli(["inbox", "stats", "--inbox", file]).ended).toBe(0);
  });

  test("a file that another process has for itself: the error names the Node that lifts it", async () => {
    const file = await fileWith([good]);
    const db = new DatabaseSync(file);
    onTestFinished(() => db.close());
    db.exec("PRAGMA locking_mode = EXCLUSIVE; BEGIN IMMEDIATE; COMMIT");
    const { code, err } = await inbox(file, "list");
    expect(code).toBe(1);
    expect(err).toMatch(/holds .* exclusively\. .*run Node 22\.23, 24\.15 or newer.*\(file-busy\)/);
  });

  test.each([
    ["newer", 99],
    ["older", 1],
  ])("a %s schema is not guessed at", async (which, version) => {
    const file = await fileWith([good]);
    const db = new DatabaseSync(file);
    db.exec(`PRAGMA user_version = ${version}`);
    db.close();
    expect((await inbox(file, "stats")).err).toMatch(
      new RegExp(`schema version ${version}, this .*version of Hookline.*\\(schema-${which}\\)`),
    );
  });
});
