import { createReceiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { existsSync, readFileSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { Writable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { turns } from "../support/event-loop.ts";
import { send } from "../support/http.ts";
import { bodyOf, change } from "../support/make-delivery.ts";
import { signedHeaders } from "../support/sign.ts";
import { startCli } from "./child.ts";
import { fileWith, fileWithTombstones, inbox, inboxPath, jsonOf } from "./inbox-file.ts";

const good = bodyOf({ payloads: [change("m-1")] });
const bad = bodyOf({ payloads: [change("bad-1")], accountId: 7 });
const odd = bodyOf({ resource: "/notes" });

describe("hookline inbox", () => {
  test("replay tells what it would do, does it, and says who runs them", async () => {
    const file = await fileWith([good, bad, odd]);
    const dry = await inbox(file, "replay --state dead,unhandled --dry-run");
    expect(dry).toEqual({
      code: 0,
      out: "Would replay 1 job. Found:\nJOBS  STATE      TYPE\n1     dead       email.updated\n1     unhandled  unknown\n",
      err: "",
    });
    expect(jsonOf((await inbox(file, "replay 2 4 --dry-run --json")).out)).toEqual([
      {
        dryRun: true,
        count: 2,
        found: ["done", "dead"].map((state) => ({ state, type: "email.updated", count: 1 })),
      },
    ]);
    expect((await inbox(file, "replay --dead --since 1d --dry-run")).out).toBe("Would replay 0 jobs.\n");
    expect(await inbox(file, "replay --dead --type email")).toEqual({
      code: 0,
      out: "Replayed 1 job: state dead, type email.\nNo process works on this inbox: they run once a receiver starts on it.\n",
      err: "",
    });
    expect(jsonOf((await inbox(file, "list --state waiting --json")).out)).toMatchObject([{ replayOf: "4" }]);
    expect((await inbox(file, "list --dead")).code).toBe(2);
  });

  test("replay of ids says which were left, and ends with 1", async () => {
    const file = await fileWith([good]);
    expect(await inbox(file, "replay 2 99 --json --rate 1000")).toEqual({
      code: 1,
      out: '{"dryRun":false,"count":1}\n',
      err: "1 of the 2 named: not there, or waiting, running, or of no consumer.\n",
    });
  });

  test("a signal stops a slow replay between two pages", async () => {
    const file = await fileWith([good, bad]);
    const told = await inbox(file, "replay 2 4 --rate 0.001", {
      // Its first one is done at once, and the second would come in a quarter of an hour.
      started: (cli) => void replayed(file).then(() => cli.signals.emit("SIGINT", "SIGINT")),
    });
    expect(told).toMatchObject({ code: 1, out: "" });
    expect(told.err).toMatch(
      /^hookline inbox replay: Stopped after \d jobs were replayed\. The rest is unchanged\.\n$/,
    );
  });

  test("drop takes away, and leaves what is done", async () => {
    const file = await fileWith([good, bad, odd]);
    expect((await inbox(file, "drop --dead --dry-run")).out).toMatch(/^Would drop 1 job\. Found:\n/);
    expect((await inbox(file, "drop --dead")).out).toBe("Dropped 1 job: state dead.\n");
    expect(await inbox(file, "drop 2 6")).toEqual({
      code: 1,
      out: "Dropped 1 job.\n",
      err: "1 of the 2 named: not there, or running, done or skipped.\n",
    });
    expect(jsonOf((await inbox(file, "list --json")).out)).toMatchObject([{ id: "2", state: "done" }]);
  });

  test("what was done stays done where nobody reads of it", async () => {
    const file = await fileWith([bad]);
    const left = Object.assign(new Error("it left"), { code: "EPIPE" });
    const stdout = new Writable({ write: (_chunk, _encoding, done) => done(left) });
    expect(await inbox(file, "drop --dead", { stdout })).toMatchObject({ code: 0, err: "" });
    expect((await inbox(file, "list")).err).toBe("There are no such jobs.\n");
  });

  test("erase takes away all of an account, done jobs too", async () => {
    const file = await fileWith([good, bad, odd]);
    const table = "JOBS  STATE      TYPE\n1     done       email.updated\n1     unhandled  unknown\n";
    const dry = await inbox(file, "erase --account 2002 --dry-run");
    expect(dry.out).toBe(`Would erase account 2002: its jobs, with their deliveries.\n${table}`);
    const done = await inbox(file, "erase --account 2002");
    expect(done.out).toBe(`Erased account 2002: its jobs, with their deliveries.\n${table}`);
    expect(jsonOf((await inbox(file, "list --json")).out)).toMatchObject([{ event: { accountId: 7 } }]);
    expect((await inbox(file, "erase --account 2002")).out).toBe("Erased account 2002: it had no jobs.\n");
    expect((await inbox(file, "erase --account 7 --json")).out).toContain('"count":1');
  });

  test("erase reports what is gone and where copies may remain, without content, in a new file for its owner", async () => {
    const file = await fileWith([good, bad]);
    const report = join(dirname(file), "report.json");
    expect(await inbox(file, `erase --account 2002 --dry-run --report ${report}`)).toMatchObject({ code: 0 });
    expect(existsSync(report)).toBe(false);
    expect(await inbox(file, `erase --account 2002 --report ${report}`)).toMatchObject({ code: 0 });
    expect(statSync(report).mode & 0o777).toBe(0o600);
    expect(JSON.parse(readFileSync(report, "utf8"))).toEqual({
      hookline: manifest.version,
      erasedAt: expect.stringMatching(/^\d{4}-.*Z$/),
      account: 2002,
      count: 0,
      deliveries: 1,
      tombstones: 0,
      notices: 0,
      resources: 1,
      pauses: 0,
      tokens: 0,
      remaining: [{ where: "backups" }, { where: "queue" }, { where: "log" }],
    });
    const again = await inbox(file, `erase --account 7 --report ${report}`);
    expect(again).toMatchObject({ code: 1, err: expect.stringContaining("Nothing was erased") });
  });

  test("tombstones are listed, and lifted", async () => {
    const file = await fileWithTombstones([9, "left: ann@example.com"], [9, "moved", "eu"], [10, "gone"]);
    const { out } = await inbox(file, "tombstones list");
    expect(out.replaceAll(/\d{4}-\d\d-\d\d \d\d:\d\d/g, "2026-05-06 07:08")).toMatchInlineSnapshot(`
      "SUBSCRIPTION  SOURCE   SINCE (UTC)       LAST HIT (UTC)    REASON
      9             eu       2026-05-06 07:08  2026-05-06 07:08  moved
      9             (every)  2026-05-06 07:08  2026-05-06 07:08  left: [hidden]
      10            (every)  2026-05-06 07:08  2026-05-06 07:08  gone
      "
    `);
    expect((await inbox(file, "tombstones list --show-content --json")).out).toContain("ann@example.com");
    expect((await inbox(file, "tombstones lift 9 --json")).out).toBe('{"subscription":9,"lifted":2}\n');
    expect(await inbox(file, "tombstones lift 9")).toEqual({
      code: 1,
      out: "",
      err: "hookline inbox tombstones lift: Subscription 9 has no tombstone: see tombstones list.\n",
    });
    expect((await inbox(file, "tombstones")).out).toBe((await inbox(file, "tombstones list")).out);
    const one = await fileWithTombstones([9, "moved", "eu"], [9, "moved", "us"]);
    expect((await inbox(one, "tombstones lift 9 --source eu")).out).toBe("Lifted 1 tombstone of subscription 9.\n");
    const both = await fileWithTombstones([9, "left"], [9, "moved", "eu"]);
    expect(await inbox(both, "tombstones lift 9 --source eu")).toEqual({
      code: 1,
      out: "",
      err: "hookline inbox tombstones lift: Subscription 9 has a tombstone of every source, so it stays unwanted: lift it without --source.\n",
    });
    expect((await inbox(both, "tombstones lift 9")).out).toBe("Lifted 2 tombstones of subscription 9.\n");
    await inbox(file, "tombstones lift 10");
    expect(await inbox(file, "tombstones list")).toEqual({ code: 0, out: "", err: "There are no tombstones.\n" });
  });

  test("takes its flags wherever they stand", async () => {
    const file = await fileWithTombstones([9, "gone"], [10, "gone"]);
    for (const words of [
      `tombstones --inbox ${file} --json`,
      `--inbox ${file} tombstones --json`,
      `--json --inbox=${file} tombstones list`,
      `tombstones --json list --inbox ${file}`,
    ])
      expect(jsonOf((await inbox("", words)).out)).toMatchObject([{ subscription: 9 }, { subscription: 10 }]);
    expect((await inbox("", `tombstones --inbox ${file} lift 9`)).out).toBe("Lifted 1 tombstone of subscription 9.\n");
    expect((await inbox("", `--inbox ${file} tombstones lift --json 10`)).out).toContain('"lifted":1');
    expect((await inbox("", `tombstones --inbox ${file} -h`)).out).toContain("List the unwanted subscriptions");
  });
});

/** Resolves when one was. */
async function replayed(file: string): Promise<void> {
  while (!(await inbox(file, "list --state waiting")).out.includes("waiting")) await turns(1);
}

describe("beside a receiver in another process", () => {
  const env = { SIGNING_SECRET: "a secret of these tests" };

  test("looks and replays, and what was not printed comes after a restart", async () => {
    const file = inboxPath();
    const serve = () => startCli(["serve", "--port", "0", "--inbox", file], env);
    const first = serve();
    const [url] = await first.says("err", /http:[^"]+/);
    const headers = signedHeaders(good, { secret: env.SIGNING_SECRET });
    expect((await send(url, { body: good, headers })).status).toBe(200);
    await first.says("out", /\n/);
    const { jobId } = JSON.parse(first.out()) as { readonly jobId: string };

    const stats = startCli(["inbox", "stats"], { HOOKLINE_INBOX: file });
    expect(await stats.ended).toBe(0);
    expect(stats.out()).toMatch(/^worked on +yes$/m);
    const replay = startCli(["inbox", "replay", jobId, "--inbox", file]);
    expect([await replay.ended, replay.err(), replay.out()]).toEqual([0, "", "Replayed 1 job.\n"]);
    await first.says("out", /\n.*\n/);
    first.kill("SIGTERM");
    expect(await first.ended).toBe(0);

    // Kept by one that never works on it.
    const receiver = createReceiver({
      secret: env.SIGNING_SECRET,
      inbox: sqliteInbox(file),
      storeTimeoutMs: 60_000,
      log: false,
    });
    onTestFinished(() => void receiver.close({ drainMs: 0 }));
    const request = { method: "POST", url: "/", body: Buffer.from(bad) };
    const stored = await receiver.receive({ ...request, headers: signedHeaders(bad, { secret: env.SIGNING_SECRET }) });
    expect(stored.status).toBe(200);
    const second = serve();
    await second.says("out", /"id":"bad-1"/);
    second.kill("SIGTERM");
    expect(await second.ended).toBe(0);
  });
});
