import { UsageError } from "hookline";
import { describe, expect, test } from "vitest";
import { loadDriver } from "../../../adapters/inbox/postgres/connection/load-driver.ts";
import { isBroken } from "../../../adapters/inbox/postgres/connection/classify-error.ts";
import { toStorageError, type Step } from "../../../adapters/inbox/postgres/connection/to-storage-error.ts";

const failed = (code: string | undefined, message = "no") => Object.assign(new Error(message), { code });

describe("an error of the driver or the server", () => {
  test.each([
    ["53100", "disk-full"],
    ["53300", "too-many-connections"],
    ["25006", "server-read-only"],
    ["28000", "login-refused"],
    ["3D000", "database-missing"],
    ["42501", "permission-missing"],
    ["42P01", "schema-missing"],
    ["57P03", "server-unreachable"],
    ["08006", "server-unreachable"],
    ["EPIPE", "server-unreachable"],
    ["ECONNRESET", "server-unreachable"],
    ["ENOTFOUND", "server-unreachable"],
    ["SELF_SIGNED_CERT_IN_CHAIN", "server-unreachable"],
    [undefined, "server-unreachable"],
  ])("with the code %s is %s, with what to do where something can be done", (code, expected) => {
    expect(toStorageError(failed(code), "statement")).toMatchObject({
      name: "StorageError",
      code: expected,
      message: expect.stringContaining("PostgreSQL: no"),
    });
  });

  test("a file that the server may not open is no right that the role lacks", () => {
    const refused = Object.assign(failed("42501", "could not open file: Permission denied"), { file: "md.c" });
    expect(toStorageError(refused, "statement")).toMatchObject({ code: "storage-failed" });
  });

  test.each([
    ["53100", /Make room there: what is stored is not lost, what was refused is redelivered/],
    ["53300", /Raise `max_connections`.*or put a pooler/],
    ["53200", /asks for `max_locks_per_transaction`, raise that: each day of `keepDoneDays`/],
    ["25006", /Connect to the primary, by a name that follows it/],
    ["28P01", /Correct user and password/],
    ["3D000", /Create it \(`createdb`\).*makes its schema, never a database/],
    ["42501", /inbox migrate --print/],
    ["42P01", /Restart with `migrate: true`, which is the default, or run the SQL/],
    ["3F000", /Restart with `migrate: true`/],
    ["42883", /Restart with `migrate: true`/],
    ["57014", /`statement_timeout`.*too short, or another session holds a lock/],
    ["DEPTH_ZERO_SELF_SIGNED_CERT", /authority in NODE_EXTRA_CA_CERTS/],
    ["UNABLE_TO_VERIFY_LEAF_SIGNATURE", /authority in NODE_EXTRA_CA_CERTS/],
    ["ERR_TLS_CERT_ALTNAME_INVALID", /by the name that the certificate has/],
    ["55P03", /session that holds it. The `lock_timeout`.*too short/],
    [
      "08006",
      /Look whether it runs.*What receives or works goes on by itself.*`start\(\)` or a command that failed must be run again/,
    ],
  ])("with the code %s says what to do", (code, fix) => {
    expect(toStorageError(failed(code), "statement").fix).toMatch(fix);
  });

  test.each(["client password must be a string", "client password must be a non-empty string"])(
    "that the driver has no password (%s) is not said to be the server's",
    (message) => {
      expect(
        toStorageError(failed(undefined, `SASL: SCRAM-SERVER-FIRST-MESSAGE: ${message}`), "connect"),
      ).toMatchObject({
        code: "login-refused",
        message: expect.stringMatching(/^The server asks for a password, and none was given\. PostgreSQL: SASL/),
        fix: expect.stringContaining("`PGPASSWORD`"),
        mayHold: false,
      });
    },
  );

  test("of a transaction that was in the way needs nothing: it is tried again", () => {
    for (const code of ["40001", "40P01"])
      expect(toStorageError(failed(code), "commit")).toMatchObject({
        code: "storage-failed",
        message: expect.stringContaining("the statement is tried again"),
        fix: undefined,
      });
  });

  test("of a name with several addresses is that of the first one", () => {
    const each = [failed("ECONNREFUSED", "connect ECONNREFUSED ::1"), failed("ECONNREFUSED", "connect 127.0.0.1")];
    expect(toStorageError(Object.assign(new AggregateError(each), { code: "ECONNREFUSED" }), "connect")).toMatchObject({
      code: "server-unreachable",
      message: expect.stringContaining("connect ECONNREFUSED ::1"),
      mayHold: false,
    });
  });

  test("without a message is told by its code, and one without either by itself", () => {
    expect(toStorageError(failed("ECONNREFUSED", ""), "connect").message).toContain("PostgreSQL: ECONNREFUSED.");
    expect(toStorageError("gone", "statement").message).toContain("PostgreSQL: gone.");
  });

  test("that is a mistake of the program is not one of the network", () => {
    expect(toStorageError(new TypeError("not a function"), "statement")).toMatchObject({ code: "storage-failed" });
  });

  test("that has been told already stays as it is", () => {
    const told = toStorageError(failed("40001"), "commit");
    expect(toStorageError(told, "statement")).toBe(told);
  });

  test.each<[code: string | undefined, step: Step, mayHold: boolean, ends: boolean]>([
    [undefined, "connect", false, true],
    [undefined, "commit", true, true],
    ["08006", "statement", true, true],
    ["57P01", "commit", true, true],
    ["40003", "commit", true, false],
    ["XX000", "statement", true, false],
    ["40001", "commit", false, false],
    ["25006", "statement", false, true],
    ["25P03", "statement", false, true],
    ["25001", "statement", false, false],
    ["23505", "statement", false, false],
  ])("with the code %s at a %s may hold: %s, and ends the connection: %s", (code, step, mayHold, ends) => {
    const error = toStorageError(failed(code), step);
    expect(error.mayHold).toBe(mayHold);
    expect(isBroken(error)).toBe(ends);
  });
});

describe("the package pg", () => {
  const driver = { Client: Map } as never;

  test("is taken as a module of either kind", async () => {
    expect(await loadDriver(async () => ({ default: driver }) as never)).toBe(driver);
    expect(await loadDriver(async () => driver)).toBe(driver);
  });

  test.each(["ERR_MODULE_NOT_FOUND", "MODULE_NOT_FOUND"])("that is not installed (%s) is named", async (code) => {
    const cause = failed(code, "Cannot find package 'pg' imported from app.js");
    const error: unknown = await loadDriver(() => Promise.reject(cause)).catch((reason: unknown) => reason);
    expect(error).toBeInstanceOf(UsageError);
    expect(error).toMatchObject({ code: "peer-missing", fix: expect.stringContaining("npm install pg"), cause });
  });

  test.each([
    failed("ERR_MODULE_NOT_FOUND", "Cannot find package 'pg-types' imported from pg"),
    failed("ERR_REQUIRE_ESM", "of 'pg'"),
    failed(undefined, "broken 'pg'"),
  ])("that cannot be loaded for another reason gives that reason: %s", async (cause) => {
    await expect(loadDriver(() => Promise.reject(cause))).rejects.toBe(cause);
  });
});
