import { createReceiver, type Receiver } from "hookline";
import { postgresInbox } from "hookline/postgres";
import pg from "pg";
import { describe, expect, onTestFinished, test } from "vitest";
import { SCHEMA_VERSION } from "../../adapters/inbox/postgres/schema/tables.ts";
import { eventually } from "../support/eventually.ts";
import { bodyOf, change, signedRequest } from "../support/make-delivery.ts";
import { newDatabase } from "../support/postgres.ts";
import { send } from "../support/http.ts";
import { signedHeaders } from "../support/sign.ts";
import { runCli } from "./in-process.ts";
import { inbox, jsonOf } from "./inbox-file.ts";

const SECRET = "a secret of these tests";
const good = bodyOf({ payloads: [change("m-1")] });
const bad = bodyOf({ payloads: [change("bad-1")], accountId: 7 });
const odd = bodyOf({ resource: "/notes" });

describe("hookline inbox on PostgreSQL", () => {
  test("stats has counts and sizes, who works, and no password", async () => {
    const database = await databaseWith([good, bad, odd]);
    const told = await inbox(database, "stats");
    expect(told).toMatchObject({ code: 0, err: "" });
    const { password, host, pathname } = new URL(database);
    for (const line of [/^schema +hookline$/m, /^workers +0$/m, /^worked on +no: /m, /^dead +1$/m, /^unhandled +1$/m])
      expect(told.out).toMatch(line);
    expect(told.out).toContain(`@${host}${pathname}\n`);
    expect(password).not.toBe("");
    expect(told.out).not.toContain(password);
    const [stats] = jsonOf((await inbox(`${database}?application_name=x`, "stats --json")).out);
    expect(stats).toMatchObject({
      receiver: "default",
      schemaVersion: SCHEMA_VERSION,
      isWorkedOn: false,
      workers: 0,
      dead: 1,
    });
    expect(stats?.["database"]).toMatch(new RegExp(`${pathname}$`));
    for (const size of ["jobBytes", "deliveryBytes", "tableBytes", "databaseBytes"])
      expect(stats?.[size]).toBeGreaterThan(8_000);
  });

  test("a role that only reads is enough to look", async () => {
    const database = await databaseWith([good, bad]);
    const role = `reader_${new URL(database).pathname.slice(-12)}`;
    await sql(database, `create role ${role} login password 'p'`);
    onTestFinished(async () => void (await sql(database, `drop owned by ${role}; drop role ${role}`)));
    await sql(
      database,
      `grant usage on schema hookline to ${role}; grant select on all tables in schema hookline to ${role}`,
    );
    await sql(database, `alter role ${role} set default_transaction_read_only = on`);
    const url = new URL(database);
    [url.username, url.password] = [role, "p"];
    const listed = jsonOf((await inbox(url.href, "list --json")).out);
    expect(listed.map(({ state }) => state)).toEqual(["done", "dead"]);
    const [first] = listed;
    expect((await inbox(url.href, `show ${String(first?.["id"])} --show-content`)).out).toContain('"id":"m-1"');
    expect(jsonOf((await inbox(url.href, "export --state dead")).out)).toMatchObject([{ state: "dead" }]);
    expect((await inbox(url.href, "replay --dead --dry-run")).out).toMatch(/^Would replay 1 job\./);
    expect((await inbox(url.href, "tombstones list")).err).toBe("There are no tombstones.\n");
    expect(await inbox(url.href, "gaps list")).toEqual({ code: 0, out: "", err: "There are no such gaps.\n" });
    expect((await inbox(url.href, "stats")).out).toMatch(/^dead +1$/m);
    // Dry runs and looks have changed nothing, and this cannot.
    expect(await inbox(url.href, "replay --dead")).toMatchObject({
      code: 1,
      out: "",
      err: expect.stringContaining("(server-read-only)"),
    });
  });

  test("what is paused is listed with what waits, and resumed", async () => {
    const database = await databaseWith([good]);
    expect((await inbox(database, "paused")).err).toBe("Nothing is paused.\n");
    expect((await inbox(database, "pause --account 2002 --reason import")).out).toBe(
      "Paused account 2002: 0 jobs wait.\n",
    );
    expect(jsonOf((await inbox(database, "paused --json")).out)).toMatchObject([
      { accountId: 2002, reason: "import", waiting: 0 },
    ]);
    expect((await inbox(database, "resume --account 2002")).out).toBe("Resumed account 2002.\n");
    expect((await inbox(database, "paused")).err).toBe("Nothing is paused.\n");
  });

  test("replay adds jobs, which run once a receiver starts", async () => {
    const database = await databaseWith([good, bad]);
    expect(await inbox(database, "replay --dead")).toEqual({
      code: 0,
      out: "Replayed 1 job: state dead.\nNo process works on this inbox: they run once a receiver starts on it.\n",
      err: "",
    });
    expect(jsonOf((await inbox(database, "list --state waiting --json")).out)).toHaveLength(1);
    const handled: string[] = [];
    const receiver = start(database, { handle: ({ id }) => void handled.push(id) });
    await receiver.start();
    await eventually(() => expect(handled).toEqual(["bad-1"]));
    await eventually(async () => expect((await inbox(database, "list --dead")).code).toBe(2));
  });

  test("a receiver that works takes what is replayed, and what is dropped and erased is gone", async () => {
    const database = await databaseWith([good, bad, odd]);
    const handled: string[] = [];
    const receiver = start(database, { handle: ({ id }) => void handled.push(id) });
    await receiver.start();
    expect((await inbox(database, "replay --dead")).out).toBe("Replayed 1 job: state dead.\n");
    await eventually(() => expect(handled).toEqual(["bad-1"]));
    expect((await inbox(database, "drop --state unhandled")).out).toBe("Dropped 1 job: state unhandled.\n");
    expect((await inbox(database, "erase --account 7 --dry-run")).out).toMatch(/^Would erase account 7/);
    expect((await inbox(database, "erase --account 7")).out).toMatch(/^Erased account 7/);
    expect(jsonOf((await inbox(database, "list --json")).out)).toMatchObject([
      { state: "done", event: { accountId: 2002 } },
    ]);
    expect((await inbox(database, "stats")).out).toMatch(/^workers +1$/m);
  });

  test("a process that was killed does not count as one that works", async () => {
    const database = await databaseWith([good]);
    await sql(database, "insert into hookline.worker default values");
    expect((await inbox(database, "stats")).out).toMatch(/^workers +0$/m);
  });

  test("tombstones are listed and lifted, also under a receiver that works", async () => {
    const database = await databaseWith([]);
    const receiver = start(database);
    await receiver.start();
    await receiver.unsubscribe(1001, "test");
    expect((await inbox(database, "tombstones")).out).toContain("1001");
    expect((await inbox(database, "tombstones lift 1001")).out).toBe("Lifted 1 tombstone of subscription 1001.\n");
    await eventually(async () => expect(await offer(receiver, good)).toBe(200));
  });

  test("gaps are listed, and cleared", async () => {
    const database = await databaseWith([good, bad]);
    await sql(database, "update hookline.subscribed_resource set cause = 'down', from_at = 0, until_at = 60000");
    expect(jsonOf((await inbox(database, "gaps --json")).out).map(({ accountId }) => accountId)).toEqual([7, 2002]);
    expect((await inbox(database, "gaps clear --account 7")).out).toBe("Cleared 1 gap.\nGAPS  FAMILY\n1     email\n");
    expect((await inbox(database, "gaps")).out).toMatch(
      /^email +2002 +1001 +down +1970-01-01 00:00 +1970-01-01 00:01 /m,
    );
  });

  test("of several inboxes one must be named, whatever the names of their receivers", async () => {
    const database = await databaseWith([bad], "crm");
    // The only one is found.
    expect((await inbox(database, "stats")).out).toMatch(/^schema +hookline_crm$/m);
    await databaseWith([good], "default", database);
    const which = await inbox(database, "list");
    expect(which).toMatchObject({ code: 1, out: "" });
    expect(which.err).toContain("The database has the inboxes hookline, hookline_crm. Say which one: --schema.");
    expect((await inbox(database, "list --schema hookline_crm")).out).toMatch(/ dead .* 7 /);
    expect((await inbox(database, "replay --dead --schema hookline_crm")).out).toMatch(/^Replayed 1 job/);
    expect((await inbox(database, "stats --schema hookline")).out).toMatch(/^dead +0$/m);
    expect((await inbox(database, "list --schema shop")).err).toContain("The database has no inbox shop, but");
  });

  test.each([
    ["default", "hookline", "hookline_aside"],
    ["crm", "hookline_crm", "hookline_old"],
    ["crm", "hookline_crm", "hookline_crm_aside"],
  ])(
    "a schema that was set aside for a restore can be read, and no command changes it, or the one that has its name now: %s, %s, %s",
    async (name, schema, to) => {
      const database = await databaseWith([bad, odd], name);
      await sql(database, `alter schema ${schema} rename to ${to}`);
      await databaseWith([good, bad, odd], name, database);
      const aside = (words: string) => inbox(database, `${words} --schema ${to}`);
      const before = jsonOf((await aside("list --json")).out);
      expect(before).toHaveLength(2);
      expect((await aside("stats")).out).toMatch(/^dead +1$/m);
      expect(jsonOf((await aside("export --state dead")).out)).toMatchObject([{ state: "dead" }]);
      for (const words of ["erase --account 7", "drop --dead", "replay --dead", "pause --account 7 --reason x"])
        expect(await aside(words)).toMatchObject({
          code: 1,
          out: "",
          err: expect.stringMatching(/renamed.*\(schema-renamed\)\n$/s),
        });
      expect(jsonOf((await aside("list --json")).out)).toEqual(before);
      expect(jsonOf((await inbox(database, `list --json --schema ${schema}`)).out)).toHaveLength(3);
      expect((await inbox(database, `drop --dead --schema ${schema}`)).out).toMatch(/^Dropped 1 job/);
    },
  );

  test("in a database without an inbox nothing is made", async () => {
    const database = await emptyDatabase();
    for (const words of ["stats", "list", "drop --dead", "tombstones lift 1"])
      expect(await inbox(database, words)).toMatchObject({
        code: 1,
        out: "",
        err: expect.stringContaining("The database has no inbox of Hookline."),
      });
    expect(await sql(database, "select 1 from pg_namespace where nspname like 'hookline%'")).toEqual([]);
  });

  test("tables of another version are left as they are", async () => {
    const database = await databaseWith([good]);
    await sql(database, "update hookline.meta set value = '99' where key in ('version', 'works_with')");
    expect((await inbox(database, "list")).err).toMatch(/version 99.*\(schema-newer\)\n$/s);
    await sql(database, "update hookline.meta set value = '0' where key = 'version'");
    const old = await inbox(database, "replay --dead");
    expect(old).toMatchObject({ code: 1, out: "" });
    expect(old.err).toMatch(/Run the version of Hookline that the receiver has.*\(schema-older\)\n$/s);
  });

  test("a server that is not there is an error with its cause, and a schema of a file is wrong usage", async () => {
    const away = await inbox("postgres://ann:pass@127.0.0.1:1/app", "stats");
    expect(away).toMatchObject({ code: 1, out: "" });
    expect(away.err).toMatch(/ECONNREFUSED.*\(server-unreachable\)\n$/s);
    expect(away.err).not.toContain("pass@");
    expect(await inbox("inbox.db", "list --schema hookline")).toMatchObject({
      code: 2,
      err: expect.stringContaining("inbox.db is a file, which has no schemas"),
    });
  });
});

test("hookline serve prints what is stored in PostgreSQL, and does not log the password", async () => {
  const database = await emptyDatabase();
  const { password } = new URL(database);
  const cli = runCli(["serve", "--port", "0", "--inbox", database], { env: { SIGNING_SECRET: SECRET } });
  const url = await cli.url();
  const body = bodyOf({ payloads: [change("m-1")] });
  const headers = signedHeaders(body, { secret: SECRET });
  expect(await send(url, { headers, body })).toMatchObject({ status: 200 });
  await eventually(() => expect(cli.out()).toContain('"name":"email.updated"'));
  expect(cli.err()).not.toContain(password);
  cli.signals.emit("SIGTERM", "SIGTERM");
  expect(await cli.ended).toBe(0);
  expect(jsonOf((await inbox(database, "list --json")).out)).toMatchObject([{ state: "done" }]);
});

async function emptyDatabase(): Promise<string> {
  const { connectionString, drop } = await newDatabase();
  onTestFinished(drop);
  return connectionString;
}

/** A database that a receiver has worked on, which has ended: its handler of e-mail fails where the id says `bad`. */
async function databaseWith(bodies: readonly string[], name = "default", given?: string): Promise<string> {
  const database = given ?? (await emptyDatabase());
  const receiver = start(database, {
    name,
    handle({ id }) {
      if (id.startsWith("bad")) throw new TypeError(`no ${id}`);
    },
  });
  await receiver.start();
  for (const body of bodies) expect(await offer(receiver, body)).toBe(200);
  await receiver.idle();
  await receiver.close();
  return database;
}

interface Shop {
  readonly name?: string;
  readonly handle?: (event: { readonly id: string }) => void;
}

/** It closes with the test. */
function start(database: string, { name = "default", handle = () => {} }: Shop = {}): Receiver {
  const receiver = createReceiver({ secret: SECRET, name, inbox: postgresInbox(database), log: false, attempts: 1 });
  receiver.on("email", handle);
  onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
  return receiver;
}

async function offer(receiver: Receiver, body: string): Promise<number> {
  return (await receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }))).status;
}

async function sql(database: string, statement: string): Promise<readonly object[]> {
  const client = new pg.Client({ connectionString: database });
  try {
    await client.connect();
    return [await client.query<object>(statement)].flat().at(-1)?.rows ?? [];
  } finally {
    await client.end();
  }
}
