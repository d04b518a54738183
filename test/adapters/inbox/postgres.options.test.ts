import pg from "pg";
import { expect, test } from "vitest";
import { resolvePostgresOptions } from "../../../adapters/inbox/postgres/postgres-options.ts";

const URL_OF_APP = "postgres://app:secret@db.example.com/app";
const DAY_MS = 86_400_000;

test("defaults: schema hookline, made by itself, leases of 5 s, a week of done jobs, dead letters for ever", () => {
  expect(resolvePostgresOptions(URL_OF_APP, {})).toEqual({
    connection: { connectionString: URL_OF_APP },
    directConnection: undefined,
    schema: "hookline",
    migrate: true,
    leaseMs: 5_000,
    keepDoneMs: 7 * DAY_MS,
    keepUnhandledMs: 7 * DAY_MS,
    keepDeadMs: Infinity,
    keepBodies: "retention",
    maxJobs: 500_000,
  });
});

test("options of the driver are taken as they are, and what is undefined is as if left out", () => {
  const connection = { host: "db", ssl: { rejectUnauthorized: true } };
  const options = { directConnection: "postgresql://direct/app", keepDeadDays: 0.5, maxJobs: undefined };
  expect(resolvePostgresOptions(connection, options)).toMatchObject({
    connection,
    directConnection: { connectionString: "postgresql://direct/app" },
    keepDeadMs: DAY_MS / 2,
    maxJobs: 500_000,
  });
});

test.each([
  ["undefined", undefined],
  ["an empty text", ""],
  ["a list", [URL_OF_APP]],
  ["an object", new URL(URL_OF_APP)],
  ["a pool or a client", new pg.Pool()],
  ["a pool or a client", new pg.Client()],
])("a connection that is %s is refused, without showing it", (got, connection) => {
  expect(() => resolvePostgresOptions(connection as string, {})).toThrow(
    expect.objectContaining({
      code: "option-invalid",
      message: expect.stringMatching(new RegExp(`^postgresInbox got connection ${got}, expected a text "postgres://`)),
      fix: expect.stringContaining("pools of its own"),
    }),
  );
});

test.each([
  "postgres://app:a#b@localhost/app",
  "postgres://app:hush/hush@localhost/app",
  "postgres://localhost:599x/app",
])("the text %s is refused because it is no URL, and is not shown", (connection) => {
  expect(() => resolvePostgresOptions(connection, {})).toThrow(
    expect.objectContaining({
      code: "option-invalid",
      message: expect.stringMatching(/^postgresInbox got connection a text that is no URL\. Percent-encode/),
    }),
  );
});

test.each([
  "postgres://app:a b%@localhost/app",
  "postgres://app@/app?host=/run/postgresql",
  "/run/postgresql app",
  "socket:/run?db=app",
])("the text %s is taken, as the driver does", (connectionString) => {
  expect(resolvePostgresOptions(connectionString, {})).toMatchObject({ connection: { connectionString } });
  expect(() => new pg.Client({ connectionString })).not.toThrow();
});

test.each(["localhost:5432", "mysql://localhost/app", "webhooks:hush@localhost/app"])(
  "the text %s is refused with what it lacks, and is not shown",
  (connection) => {
    expect(() => resolvePostgresOptions(connection, {})).toThrow(
      expect.objectContaining({
        code: "option-invalid",
        message: expect.stringMatching(/^postgresInbox got connection a text that does not begin with "postgres:/),
        fix: expect.stringMatching(/^Look at the variable that it comes from, such as DATABASE_URL/),
      }),
    );
    expect(() => resolvePostgresOptions(connection, {})).not.toThrow(connection);
  },
);

test.each([
  ["directConnection", "direct", 'directConnection a text that does not begin with "postgres://"'],
  ["schema", "", "schema an empty text, expected the name"],
  ["schema", "pg_hookline", 'schema "pg_hookline", expected the name'],
  ["migrate", "false", "migrate a text, expected true or false"],
  ["leaseMs", 1_999, "leaseMs 1999, expected a whole number from 2000 to 86,400,000"],
  ["leaseMs", 86_400_001, "leaseMs 86400001, expected a whole number from 2000 to 86,400,000"],
  ["keepDoneDays", 0, "keepDoneDays 0, expected a positive number"],
  ["keepUnhandledDays", Number.NaN, "keepUnhandledDays NaN, expected a positive number"],
  ["keepDeadDays", Infinity, "keepDeadDays Infinity, expected a positive number"],
  ["maxJobs", 0.5, "maxJobs 0.5, expected a whole number from 1 on"],
  ["leasMs", 5_000, '"leasMs", which is no option'],
])("%s of %j is refused", (name, value, message) => {
  expect(() => resolvePostgresOptions(URL_OF_APP, { [name]: value })).toThrow(
    expect.objectContaining({
      code: "option-invalid",
      message: expect.stringContaining(`postgresInbox got ${message}`),
    }),
  );
});
