import pg from "pg";
import { expect, onTestFinished, test } from "vitest";
import { newDatabase } from "../support/postgres.ts";
import { startNode } from "./child.ts";
import { runCli } from "./in-process.ts";

test("prints SQL that makes the inbox of a receiver, and can run again", async () => {
  const database = await newDatabase();
  const client = new pg.Client(database);
  onTestFinished(async () => {
    await client.end();
    await database.drop();
  });
  const cli = runCli(["inbox", "migrate", "--print", "--schema", "hooks", "--name", "crm"]);
  expect(await cli.ended).toBe(0);
  await client.connect();
  await client.query(cli.out());
  await client.query(cli.out());
  const { rows } = await client.query("select key, value from hooks_crm.meta order by key");
  expect(rows).toMatchObject([{ key: "name", value: "crm" }, { key: "version" }, { key: "works_with" }]);
});

test("without --print it says so, and without a name that fits it prints nothing", async () => {
  const bare = runCli(["inbox", "migrate"]);
  expect(await bare.ended).toBe(2);
  expect(bare.err()).toContain("Add --print");
  expect(bare.out()).toBe("");
  const odd = runCli(["inbox", "migrate", "--print", "--name", "it's"]);
  expect(await odd.ended).toBe(2);
  expect([odd.out(), odd.err()]).toEqual(["", expect.stringContaining("expected letters, digits")]);
});

test("without names it is the inbox of the receiver without a name, in the schema hookline", async () => {
  const [bare, named] = [
    runCli(["inbox", "migrate", "--print"]),
    runCli(["inbox", "migrate", "--print", "--schema", "hookline", "--name", "default"]),
  ];
  expect([await bare.ended, await named.ended]).toEqual([0, 0]);
  expect(bare.out()).toContain('create schema "hookline"');
  expect(bare.out()).toBe(named.out());
});

test("needs no driver: a process that cannot load pg prints it too", async () => {
  const hook =
    "import { registerHooks } from 'node:module'; registerHooks({ resolve(name, context, next) { if (name === 'pg') throw new Error('loaded pg'); return next(name, context); } });";
  const cli = startNode([
    "--import",
    `data:text/javascript,${encodeURIComponent(hook)}`,
    "src/cli/main.ts",
    "inbox",
    "migrate",
    "--print",
  ]);
  expect([await cli.ended, cli.err()]).toEqual([0, ""]);
  expect(cli.out()).toContain('create schema "hookline"');
});
