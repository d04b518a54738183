import { expect, onTestFinished, test } from "vitest";
import { createPool, type Queries } from "../../../adapters/inbox/postgres/connection/pool.ts";
import { toStorageError } from "../../../adapters/inbox/postgres/connection/to-storage-error.ts";
import { assertServer } from "../../../adapters/inbox/postgres/connection/server-checks.ts";
import { newDatabase } from "../../support/postgres.ts";

const GOOD = {
  version: 18,
  product: "PostgreSQL 18.4 on x86_64-pc-linux-gnu",
  isReplica: false,
  isReadOnly: false,
  fsync: "on",
  fullPageWrites: "on",
  isNeon: false,
  isolation: "read committed",
  encoding: "UTF8",
};

test("a server with the defaults of PostgreSQL is accepted", async () => {
  const pool = await poolOn();
  await expect(assertServer(pool)).resolves.toBeUndefined();
});

test("a role with another isolation is refused, with the statement that changes it", async () => {
  const pool = await poolOn();
  await pool.query(
    "do $$ begin execute format('alter database %I set default_transaction_isolation = serializable', current_database()); end $$",
  );
  const anew = await poolOn(pool.connection);
  await expect(assertServer(anew)).rejects.toMatchObject({
    code: "server-unsupported",
    message: expect.stringContaining('"serializable", expected "read committed"'),
    fix: expect.stringContaining("alter role"),
  });
});

test("a role that only reads is refused", async () => {
  const pool = await poolOn();
  await pool.query(
    "do $$ begin execute format('alter database %I set default_transaction_read_only = on', current_database()); end $$",
  );
  const anew = await poolOn(pool.connection);
  await expect(assertServer(anew)).rejects.toMatchObject({ code: "server-read-only" });
});

test.each([
  [
    { version: 13, product: "PostgreSQL 13.22" },
    "server-unsupported",
    "PostgreSQL 13.22, expected PostgreSQL 14 or newer",
  ],
  [{ product: "CockroachDB CCL v24.1" }, "server-unsupported", "CockroachDB"],
  [{ product: "PostgreSQL 15.2-YB-2024.2.0.0-b0 on x86_64" }, "server-unsupported", "-YB-"],
  [{ isReplica: true }, "server-read-only", "is a standby"],
  [{ fsync: "off" }, "server-unsafe", "`fsync` off, expected on"],
  [{ fullPageWrites: "off" }, "server-unsafe", "`full_page_writes` off, expected on"],
  [{ encoding: "SQL_ASCII" }, "server-unsupported", "SQL_ASCII, expected UTF8"],
])("%j is refused", async (differs, code, message) => {
  await expect(assertServer(answering(differs))).rejects.toMatchObject({
    code,
    message: expect.stringContaining(message),
    fix: expect.any(String),
  });
});

test("a server whose storage is on several machines may leave its own disk unflushed", async () => {
  await expect(assertServer(answering({ isNeon: true, fsync: "off", fullPageWrites: "off" }))).resolves.toBeUndefined();
});

test("a server in FIPS mode, which makes no hashes for keys, is refused before a delivery needs one", async () => {
  const unsupported = Object.assign(new Error("could not compute MD5 hash: unsupported"), { code: "XX000" });
  const good = answering({});
  const fips: Queries = {
    query: async (text, values) => {
      if (text.includes("md5")) throw toStorageError(unsupported, "statement");
      return good.query(text, values);
    },
  };
  await expect(assertServer(fips)).rejects.toMatchObject({
    code: "server-unsupported",
    message: expect.stringContaining("md5"),
    fix: expect.stringContaining("FIPS"),
  });
});

function answering(differs: Partial<typeof GOOD>): Queries {
  return { query: async () => [{ ...GOOD, ...differs }] as never };
}

async function poolOn(given?: { readonly connectionString: string }) {
  const database = given === undefined ? await newDatabase() : undefined;
  const { connectionString } = (given ?? database) as { readonly connectionString: string };
  const pool = createPool({ connection: { connectionString }, max: 1, applicationName: "hookline test" });
  onTestFinished(async () => {
    await pool.close();
    await database?.drop();
  });
  return { ...pool, connection: { connectionString } };
}
