import { createReceiver } from "hookline";
import { randomBytes } from "node:crypto";
import { expect, onTestFinished, test } from "vitest";
import { createPool, type Pool } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { createDayPartitions, ensureDays } from "../../../adapters/inbox/postgres/upkeep/day-partitions.ts";
import { runCli } from "../../cli/in-process.ts";
import { bodyOf, change, signedRequest } from "../../support/make-delivery.ts";
import { newDatabase } from "../../support/postgres.ts";
import { openDatabase } from "./in-database.ts";

const SECRET = "a secret";
/** Long ago. */
const DAY = 18_000;

/** A database with two roles, of which one may create schemas. */
async function roles() {
  const database = await newDatabase();
  const connect = (connectionString: string): Pool =>
    createPool({ connection: { connectionString }, max: 2, applicationName: "hookline test" });
  const root = connect(database.connectionString);
  const suffix = randomBytes(6).toString("hex");
  const pools = [root];
  async function newRole(name: string) {
    const role = `${name} ${suffix}`;
    await root.query(`create role "${role}" login password 'p'`);
    const url = new URL(database.connectionString);
    [url.username, url.password] = [role, "p"];
    const pool = connect(url.href);
    pools.push(pool);
    return { role, url: url.href, pool };
  }
  const [owner, app, reader] = [await newRole("owner"), await newRole("app"), await newRole("reader")];
  await root.query(
    `grant create on database "${new URL(database.connectionString).pathname.slice(1)}" to "${owner.role}"`,
  );
  onTestFinished(async () => {
    await Promise.all(pools.slice(1).map((pool) => pool.close()));
    for (const { role } of [owner, app, reader])
      await root.query(`drop owned by "${role}" cascade; drop role "${role}"`);
    await root.close();
    await database.drop();
  });
  return { owner, app, reader };
}

async function printedFor(role: string): Promise<string> {
  const cli = runCli(["inbox", "migrate", "--print", "--role", role]);
  expect([await cli.ended, cli.err()]).toEqual([0, ""]);
  return cli.out();
}

test("a role that may create nothing is refused, and works once the fix was done: it stores, handles, replays and erases", async () => {
  const { owner, app } = await roles();
  const newReceiver = () => {
    const receiver = createReceiver({ secret: SECRET, inbox: openDatabase(app.url), log: false, attempts: 1 });
    let fails = true;
    const seen: string[] = [];
    receiver.on("email", ({ id }) => {
      if (id === "bad" && fails) throw new TypeError("no");
      seen.push(id);
    });
    onTestFinished(async () => void (await receiver.close({ drainMs: 0 })));
    return { receiver, seen, mend: () => (fails = false) };
  };
  const fix = expect.stringContaining("hookline inbox migrate --print --role ROLE");
  await expect(newReceiver().receiver.start()).rejects.toMatchObject({ code: "permission-missing", fix });

  await owner.pool.query(await printedFor(app.role));
  await owner.pool.query(await printedFor(app.role));
  const { receiver, seen, mend } = newReceiver();
  await receiver.start();
  const body = bodyOf({ payloads: [change("good"), change("bad")] });
  const answer = await receiver.receive(signedRequest(body, { secret: SECRET, at: new Date() }));
  expect(answer).toMatchObject({ status: 200 });
  await receiver.idle();
  mend();
  expect(await receiver.jobs.replay({ state: "dead" })).toMatchObject({ count: 1 });
  await receiver.idle();
  expect(seen).toEqual(["good", "bad"]);
  await receiver.jobs.erase(2002);
  expect((await receiver.jobs.list()).jobs).toEqual([]);
});

test("it makes and drops partitions of days through functions of the owner, and nothing else", async () => {
  const { owner, app, reader } = await roles();
  await owner.pool.query(await printedFor(app.role));
  await ensureDays(app.pool, '"hookline"');
  await owner.pool.query(`create table hookline.delivery_${DAY} partition of hookline.delivery for values in (${DAY})`);
  await owner.pool.query(`create table hookline.job_list_${DAY} partition of hookline.job_list for values in (${DAY})`);
  const days = createDayPartitions({ queries: app.pool, ident: () => '"hookline"', pause: async () => true });
  expect(await days.days()).toHaveLength(4);
  expect(await days.drop(DAY)).toBe("dropped");
  expect(await days.days()).toHaveLength(3);
  const forbidden = { cause: { code: "42501" } };
  await expect(app.pool.query("drop table hookline.dead")).rejects.toMatchObject(forbidden);
  await expect(app.pool.query("create table hookline.mine (id int)")).rejects.toMatchObject(forbidden);

  await owner.pool.query(`grant usage on schema hookline to "${reader.role}"`);
  await owner.pool.query(`grant select on all tables in schema hookline to "${reader.role}"`);
  for (const call of [`drop_day(${DAY}, 0)`, "ensure_days()"])
    await expect(reader.pool.query(`select hookline.${call}`)).rejects.toMatchObject(forbidden);
});

test.each(['a"b', "a$$b", "n".repeat(64)])(
  "the role %j is refused: it would be read as SQL, or cut off",
  async (role) => {
    const cli = runCli(["inbox", "migrate", "--print", "--role", role]);
    expect(await cli.ended).toBe(2);
    expect([cli.out(), cli.err()]).toEqual(["", expect.stringContaining("expected letters, digits")]);
  },
);
