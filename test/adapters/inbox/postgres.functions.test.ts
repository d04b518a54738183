import { expect, test, type TestContext } from "vitest";
import { openTables, type Tables } from "./postgres-tables.ts";

/** Debian has the extension in a package of its own; the server of npm comes without it. */
async function checker({ skip }: TestContext): Promise<Tables> {
  const tables = await openTables();
  const [found] = await tables.pool.query("select from pg_available_extensions where name = 'plpgsql_check'");
  if (found === undefined) skip("The server has no plpgsql_check: apt-get install postgresql-15-plpgsql-check");
  await tables.pool.query("create extension plpgsql_check");
  return tables;
}

interface Finding {
  readonly name: string;
  readonly statement: string | null;
  readonly message: string;
}

async function errorsOf({ pool }: Tables): Promise<readonly Finding[]> {
  return pool.query<Finding>(
    `select p.proname as name, c.statement, c.message from pg_proc as p
     join pg_namespace as n on n.oid = p.pronamespace and n.nspname = 'hookline'
     join pg_language as l on l.oid = p.prolang and l.lanname = 'plpgsql'
     left join pg_trigger as t on t.tgfoid = p.oid
     cross join lateral plpgsql_check_function_tb(p.oid, coalesce(t.tgrelid, 0), fatal_errors => false,
       oldtable => t.tgoldtable, newtable => t.tgnewtable) as c
     where c.level = 'error'`,
  );
}

test("every statement in the server's functions fits the tables", async (context) => {
  expect(await errorsOf(await checker(context))).toEqual([]);
});

test("a column that is not there is found, also in a branch that no call takes", async (context) => {
  const tables = await checker(context);
  await tables.pool.query(
    `create function ${tables.ident}.broken(takes boolean) returns void language plpgsql as
     $$ begin if takes then delete from ${tables.ident}.job where nothing = 1; end if; end $$`,
  );
  expect(await errorsOf(tables)).toMatchObject([{ name: "broken", message: 'column "nothing" does not exist' }]);
});
