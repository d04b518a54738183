import { createReceiver, type Receiver } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { spawnSync } from "node:child_process";
import { cpSync, globSync, mkdirSync, readdirSync, readFileSync, renameSync, statSync, symlinkSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { afterAll, beforeAll, describe, expect, test } from "vitest";
import { systemClock } from "../../src/clock.ts";
import { eventually } from "../support/eventually.ts";
import { freePort } from "../support/http.ts";
import { bodyOf, change, signedRequest } from "../support/make-delivery.ts";
import { ownBlocksOf } from "./page-commands.ts";
import { pageOf, root } from "./pages.ts";
import { has, openSandboxes, testWith, type Sandbox } from "./sandbox.ts";

const DAY_MS = 86_400_000;

const sandboxes = openSandboxes();
afterAll(() => sandboxes.close());

describe("commands on an inbox", () => {
  let template = "";

  beforeAll(async () => {
    template = sandboxes.open().path("/var/lib/webhooks/inbox.db");
    await receiveAt(Date.now() - 40 * DAY_MS, template, [bodyOf({ payloads: [change("bad-old")] })]);
    await receiveAt(Date.now(), template, [
      bodyOf({ payloads: [change("bad-1")] }),
      bodyOf({ accountId: 3003, subscription: 1002, payloads: [change("bad-2"), change("m-3")] }),
    ]);
  });

  /** A machine with an inbox: three e-mails, one of them 40 days old, are dead for two consumers each. */
  const machine = (env?: Readonly<Record<string, string>>): Sandbox => {
    const sandbox = sandboxes.open(env);
    cpSync(dirname(template), sandbox.path("/var/lib/webhooks"), { recursive: true });
    return sandbox;
  };

  test.concurrent("quickstart: a new folder, its dead letters, and their replay", async () => {
    const sandbox = machine();
    const [setUp = [], list = [], replay = []] = ownBlocksOf("docs/start/quickstart.md", 3);
    await sandbox.run(setUp);
    const folder = sandbox.path("/var/lib/webhooks/receiver");
    expect(JSON.parse(readFileSync(join(folder, "package.json"), "utf8"))).toMatchObject({ type: "module" });
    cpSync(template, join(folder, "inbox.db"));
    const [listed = ""] = await sandbox.run(list);
    expect(listed.match(/\bdead\b/g)).toHaveLength(6);
    const heads = listed.slice(0, listed.indexOf("\n")).split(/ {2,}/).join(" +");
    expect(pageOf("docs/start/quickstart.md").text).toMatch(new RegExp(heads.replaceAll(/[()]/g, String.raw`\$&`)));
    expect((await sandbox.run(replay))[0]).toContain("Replayed 6 jobs: state dead.");
  });

  test.concurrent("several-consumers: one consumer's dead letters run again", async () => {
    const sandbox = machine();
    const [block = []] = ownBlocksOf("docs/recipes/several-consumers.md", 1);
    const [listed = "", replayed] = await sandbox.run(block);
    expect(listed.match(/\bsearch\b/g)).toHaveLength(3);
    expect(listed).not.toContain("default");
    expect(replayed).toContain("Replayed 3 jobs: state dead, consumer search.");
  });

  test.concurrent("unsubscribe: a tombstone is listed and lifted, also under a receiver that works", async () => {
    const [block = [], mistake = []] = ownBlocksOf("docs/recipes/unsubscribe.md", 2);
    const stopped = machine();
    const printed = await stopped.run([...block, block[0] ?? ""]);
    expect(printed[0]).toContain("1001");
    expect(printed.at(-1)).toBe("There are no tombstones.\n");

    const working = machine();
    const receiver = await start(working.path("/var/lib/webhooks/inbox.db"));
    expect(await statusOf(receiver, bodyOf())).toBe(422);
    await working.run(mistake);
    await eventually(async () => expect(await statusOf(receiver, bodyOf())).toBe(200));
    await receiver.close();
  });

  test.concurrent("security: an account gets its data, and an erasure leaves nothing of it", async () => {
    const sandbox = machine();
    const folder = sandbox.path("/var/lib/webhooks");
    const bytes = (): string =>
      readdirSync(folder)
        .map((name) => readFileSync(join(folder, name), "latin1"))
        .join("");
    const ids = ["bad-old", "bad-1", "bad-2"];
    const found = () => ids.filter((id) => bytes().includes(id));
    expect(found()).toEqual(ids);
    const [give = [], erase = []] = ownBlocksOf("docs/operate/security.md", 2);

    mkdirSync(sandbox.path("/var/backups/webhooks"), { recursive: true });
    await sandbox.run(["cd /srv/webhooks", ...give]);
    const exported = sandbox.path("/var/backups/webhooks/account-2002.jsonl");
    expect(statSync(exported).mode & 0o777).toBe(0o600);
    const given = readFileSync(exported, "utf8");
    expect(given.trim().split("\n")).toHaveLength(4);
    expect(ids.filter((id) => given.includes(id))).toEqual(["bad-old", "bad-1"]);

    const [would = "", erased = ""] = await sandbox.run(erase);
    expect(would).toMatch(/^Would erase account 2002.*\b4\b.*dead/s);
    // So the first one has changed nothing.
    expect(erased).toBe(would.replace("Would erase", "Erased"));
    expect(found()).toEqual(["bad-2"]);
  });

  test.concurrent("outage: what waits is seen before the start, and all dead letters run again", async () => {
    const sandbox = machine();
    const file = sandbox.path("/var/lib/webhooks/inbox.db");
    await receiveAt(Date.now() - 2 * DAY_MS, file, [bodyOf({ resource: "/email/tracking", subscription: 1004 })]);
    const receiver = await start(file, { attempts: 10 });
    expect(await statusOf(receiver, bodyOf({ subscription: 1003, payloads: [change("bad-4")] }))).toBe(200);
    await receiver.close();
    const [look = [], after = [], left = []] = ownBlocksOf("docs/operate/outage.md", 3);
    const [, , stats, waiting = ""] = await sandbox.run(look);
    expect(stats).toMatch(/worked on +no.*^waiting +2$/ms);
    expect(waiting.match(/\bwaiting\b/g)).toHaveLength(2);
    const [dead = "", replayed] = await sandbox.run(after);
    expect(dead.match(/\bdead\b/g)).toHaveLength(6);
    expect(replayed).toContain("Replayed 6 jobs: state dead.");
    const [gaps, wouldClear, cleared] = await sandbox.run(left);
    expect(gaps).toMatch(/^tracking +2002 +1004 +down .* \/email\/tracking$/m);
    expect(wouldClear).toMatch(/^Would clear 1 gap\./);
    expect(cleared).toMatch(/^Cleared 1 gap\./);
    const [block = []] = ownBlocksOf("docs/sync.md", 1);
    expect((await sandbox.run(["cd /var/lib/webhooks", ...block])).at(-1)).toBe("Cleared 0 gaps.\n");
  });

  test("fairness: a consumer is paused, listed and resumed", async () => {
    const [block = []] = ownBlocksOf("docs/concepts/fairness.md", 1);
    const [, paused, list, resumed] = await machine().run(["cd /var/lib/webhooks", ...block]);
    expect(paused).toMatch(/^Paused .*crm/);
    expect(list).toContain("the CRM is down");
    expect(resumed).toMatch(/^Resumed .*crm/);
  });

  const tools = testWith("curl", "jq");
  tools.test(`monitoring and runbook: a server is looked at, and dead letters run again${tools.why}`, async () => {
    const [serve = [], , stats = []] = ownBlocksOf("docs/operate/monitoring.md", 3);
    const [port, adminPort] = [await freePort(), await freePort()];
    const server = machine();
    await server.run(
      serve
        .map((line) => line.replace("--port 3000", `--port ${port}`).replace("3001", `${adminPort}`))
        .map((line) => `${line} >/dev/null 2>"$JOURNAL" &`),
    );
    const isReady = async () => (await fetch(`http://127.0.0.1:${adminPort}/readyz`)).status === 200;
    await eventually(async () => expect(await isReady()).toBe(true));
    expect(JSON.parse((await server.run(stats))[0] ?? "")).toMatchObject({ isWorkedOn: true, dead: 6 });
    await fetch(`http://127.0.0.1:${port}/webhooks`, { method: "POST" });
    const journal = server.path("/journal");
    await eventually(() => expect(readFileSync(journal, "utf8")).toContain('"level":40'));

    const admin = machine({ JOURNAL: journal });
    const [setUp = [], look = [], repair = []] = ownBlocksOf("docs/operate/runbook.md", 4);
    await admin.run(setUp);
    const [asked = "", counts, log = ""] = await admin.run(
      look.map((line) => line.replace("127.0.0.1:3001", `127.0.0.1:${adminPort}`)),
    );
    expect(JSON.parse(asked)).toMatchObject({ live: true, ready: true, dead: 6 });
    expect(counts).toMatch(/worked on +no/);
    // Other lines of that log are of level 30.
    const logged = log.trim().split("\n");
    expect(logged.map((line) => JSON.parse(line) as object)).toMatchObject([{ level: 40 }]);
    expect(admin.asked()).toEqual([expect.stringContaining(`journalctl -u ${unit().name} `)]);
    expectKnownFlags(admin.asked());

    const yesterday = new Date(Date.now() - DAY_MS).toISOString().slice(0, 10);
    const [wouldReplay, replayed, wouldDrop] = await admin.run(
      repair.map((line) => line.replace(/(?<=--until )[\d-]+/, yesterday)),
    );
    expect(wouldReplay).toMatch(/^Would replay 4 jobs/);
    expect(replayed).toMatch(/^Replayed 4 jobs/);
    expect(wouldDrop).toMatch(/^Would drop 2 jobs/);
    await server.run(["kill $!; wait $!"]);
  });

  const sqlite = testWith("sqlite3");
  sqlite.test(`storage: a backup, a restore and a move${sqlite.why}`, async () => {
    const sandbox = machine();
    const folder = sandbox.path("/var/lib/webhooks");
    // A restored file lists its indexes and triggers in another order, and a pass of retention notes its time when it likes.
    const dump = async (file: string) =>
      (await sandbox.run([`sqlite3 -readonly ${file} .dump`]))
        .flatMap((text) => text.split("\n"))
        .filter((line) => !line.includes("'retention/time'"))
        .toSorted();
    const [makeFolder = [], backUp = [], restore = [], move = []] = ownBlocksOf("docs/operate/storage.md", 6);

    // The receiver works, and the last commits are in the log alone.
    const receiver = await start(join(folder, "inbox.db"));
    await receive(receiver, bodyOf({ subscription: 1003, payloads: [change("bad-4")] }));
    const before = await dump(join(folder, "inbox.db"));
    await sandbox.run(makeFolder);
    expect(statSync(sandbox.path("/var/backups/webhooks")).mode & 0o777).toBe(0o700);
    await sandbox.run(backUp);
    const [copy = ""] = globSync(sandbox.path("/var/backups/webhooks/*"));
    expect(basename(copy)).toMatch(/^inbox-\d{4}-\d\d-\d\d\.db$/);
    expect(statSync(copy).mode & 0o777).toBe(0o600);
    expect(before.join("\n")).toContain("bad-4");
    await receive(receiver, bodyOf({ subscription: 1003, payloads: [change("bad-5")] }));
    expect(await dump(join(folder, "inbox.db"))).not.toEqual(before);
    // The process is killed: the log stays behind.
    cpSync(folder, sandbox.path("/killed"), { recursive: true });
    await receiver.close();
    cpSync(sandbox.path("/killed"), folder, { recursive: true });

    const named = /\/var\/backups\/\S+\/inbox-\d{4}-\d\d-\d\d\.db/.exec(restore.join("\n"))?.[0];
    renameSync(copy, sandbox.path(named ?? ""));
    const restored = await sandbox.run(restore);
    expect(restored[2]).toBe("ok\n");
    expect(restored.at(-1)).toMatch(/dead +8/);
    expect(await dump(join(folder, "inbox.db"))).toEqual(before);
    expect(statSync(join(folder, "inbox.db")).mode & 0o777).toBe(0o600);

    await sandbox.run(move);
    expect(await dump(sandbox.path("/mnt/data/webhooks/inbox.db"))).toEqual(before);
    expect(readdirSync(folder)).toEqual([expect.stringMatching(/^aside-\d+$/)]);
    const { name, user } = unit();
    expect(sandbox.asked()).toEqual([
      expect.stringContaining(`install -o ${user} -g ${user} -m 700 -d `),
      expect.stringContaining(`install -o ${user} -g ${user} -m 600 `),
      `systemctl stop ${name}`,
      expect.stringContaining(`install -o ${user} -g ${user} -m 700 -d `),
    ]);
  });

  sqlite.test(`storage: what sqlite3 can recover is an inbox again${sqlite.why}`, async () => {
    const sandbox = machine();
    const [canRecover = [], recover = []] = ownBlocksOf("docs/operate/storage.md", 6).slice(4);
    expect(canRecover).toHaveLength(1);
    const asked = await sandbox.tryRun(canRecover[0] ?? "");
    if (asked.code === 0) {
      const [, check, stats] = await sandbox.run(recover);
      expect(check).toBe("ok\n");
      expect(stats).toMatch(/dead +6/);
    } else {
      // As the page says of a shell that cannot.
      expect(asked).toMatchObject({ code: 1, printed: "" });
      const printed: string[] = [];
      for (const line of recover) printed.push((await sandbox.tryRun(line)).printed);
      expect(printed[0]).toContain("SQL logic error");
      expect(printed.at(-1)).toContain("not-an-inbox");
    }
  });
});

test.concurrent("server: the unit's user and service are set up", async () => {
  const { name, text, user, folder } = unit();
  const sandbox = sandboxes.open();
  const [block = [], , instances = []] = ownBlocksOf("docs/deploy/server.md", 4);
  mkdirSync(sandbox.path(`${folder}/node_modules`));
  symlinkSync(root, sandbox.path(`${folder}/node_modules/hookline`));
  await sandbox.run(block);
  expect(readFileSync(sandbox.path(`/etc/systemd/system/${name}.service`), "utf8")).toBe(text);
  const home = sandbox.path(folder);
  expect(sandbox.asked()).toEqual([
    `useradd --system --home-dir ${home} --shell /usr/sbin/nologin ${user}`,
    "systemctl daemon-reload",
    `systemctl enable --now ${name}`,
  ]);
  expectKnownFlags(sandbox.asked());
  // Two instances have the same unit, and a file of settings each.
  await sandbox.run(instances);
  const both = readFileSync(sandbox.path(`/etc/systemd/system/${name}@.service`), "utf8");
  expect(both.replace(`EnvironmentFile=/etc/${name}-%i.env\n`, "")).toBe(text);
  expect(sandbox.asked().at(-1)).toBe(`systemctl enable --now ${name}@1 ${name}@2`);
});

test.concurrent("server: what `check` leaves behind is removed", async () => {
  const sandbox = sandboxes.open();
  symlinkSync(join(root, "node_modules"), sandbox.path("/srv/webhooks/node_modules"));
  const drop = ownBlocksOf("docs/deploy/server.md", 4).find((block) =>
    block.some((line) => line.includes("inbox drop")),
  );
  const receiver = await start(sandbox.path("/var/lib/webhooks/inbox.db"));
  await receive(receiver, "no JSON");
  await receiver.close();
  expect((await sandbox.run(drop ?? []))[0]).toMatch(/^Dropped 1 job\b/);
});

/** What systemd is told of the program. */
function unit() {
  const page = pageOf("docs/deploy/server.md");
  const text = readFileSync(join(root, "deploy/systemd/hookline.service"), "utf8");
  const of = (key: string): string => new RegExp(`^${key}=(.*)$`, "m").exec(text)?.[1] ?? "";
  const name = /`\/etc\/systemd\/system\/(\w+)\.service`/.exec(page.text)?.[1] ?? "";
  return { name, text, user: of("User"), folder: of("WorkingDirectory") };
}

/** Commands that a stand-in took have flags of the real one, where that is there. */
function expectKnownFlags(lines: readonly string[]): void {
  for (const line of lines) {
    const [name = "", ...words] = line.split(" ");
    if (!has(name)) continue;
    const help = spawnSync(name, ["--help"], { encoding: "utf8" });
    for (const flag of words.filter((word) => /^-(?:-|\w$)/.test(word)))
      expect(help.stdout + help.stderr, line).toMatch(new RegExp(String.raw`(?<![\w-])${flag.replace(/=.*/, "")}\b`));
  }
}

/** A receiver that has received these bodies, and has worked on them, at a moment. */
async function receiveAt(now: number, file: string, bodies: readonly string[]): Promise<void> {
  const receiver = await start(file, { now });
  for (const body of bodies) await receive(receiver, body, now);
  await receiver.unsubscribe(1001, "the account was closed");
  await receiver.close();
}

async function start(file: string, { now = Date.now(), attempts = 1 } = {}): Promise<Receiver> {
  const clock = { ...systemClock, now: () => now };
  const receiver = createReceiver({ secret: "whsec", inbox: sqliteInbox(file), clock, log: false, attempts });
  const fail = ({ id }: { readonly id: string }): void => {
    if (id.startsWith("bad")) throw new Error("the database is down");
  };
  receiver.on("email", fail).on("email", fail, { consumer: "search" });
  await receiver.start();
  return receiver;
}

async function receive(receiver: Receiver, body: string, now?: number): Promise<void> {
  expect(await statusOf(receiver, body, now)).toBe(200);
  await receiver.idle();
}

async function statusOf(receiver: Receiver, body: string, now = Date.now()): Promise<number> {
  return (await receiver.receive(signedRequest(body, { secret: "whsec", at: new Date(now) }))).status;
}
