import { StorageError, type ErrorOptions } from "../../../../src/adapter.ts";
import { describe } from "./classify-error.ts";

/** A statement failed. `cause` is the driver's error, with the SQLSTATE as its `code` where the server sent one. */
export class StatementError extends StorageError {
  /** False: it changed nothing, and never will. True: it may hold, or be committed later. */
  readonly mayHold: boolean;

  constructor(code: string, message: string, { mayHold, ...options }: ErrorOptions & { readonly mayHold: boolean }) {
    super(code, message, options);
    this.mayHold = mayHold;
  }
}

/** What was being done when the error came: without a connection no statement reached the server. */
export type Step = "connect" | "statement" | "commit";

/** An error of the driver or of the server, with what to do about it. */
export function toStorageError(error: unknown, step: Step): StatementError {
  if (error instanceof StatementError) return error;
  const { sqlState, code, detail } = describe(error);
  const options = { cause: error, mayHold: step !== "connect" && isInDoubt(sqlState) };
  if (STATEMENT_MODE.test(detail)) return statementMode(detail, options);
  for (const [codes, make] of KINDS) if (codes.test(code)) return make(detail, options);
  if (sqlState === undefined && NO_PASSWORD.test(detail)) return passwordMissing(detail, options);
  if (sqlState === undefined && !(error instanceof TypeError)) return unreachable(detail, options);
  return new StatementError("storage-failed", detail, options);
}

/** For a statement without an answer: whether it holds, or will, is for the server to know. */
export function noAnswer(ms: number): StatementError {
  return new StatementError(
    "storage-failed",
    `PostgreSQL gave no answer for ${ms / 1_000} s; the connection was closed.`,
    {
      fix: "See in `pg_stat_activity` what the server waits for, such as a lock or a synchronous standby. Then check the network.",
      mayHold: true,
    },
  );
}

/** A warning came with the answer: the commit is on the server's disk, and perhaps on no standby. */
export function notReplicated(detail: string): StatementError {
  return new StatementError(
    "storage-failed",
    `A synchronous standby did not confirm a commit. PostgreSQL: ${detail}.`,
    {
      fix: "Look at `pg_stat_replication`, and for what cancels statements that wait, such as `statement_timeout`.",
      mayHold: true,
    },
  );
}

/** A transaction was rolled back where it should have been committed. */
export function notCommitted(command: string): StatementError {
  return new StatementError("storage-failed", `PostgreSQL answered "commit" with "${command}": nothing was changed.`, {
    mayHold: false,
  });
}

type Make = (detail: string, options: { readonly cause: unknown; readonly mayHold: boolean }) => StatementError;

/** The SQLSTATE of a standby, and of a role that may only read. */
export const READ_ONLY = "25006";

/** 40003: completion unknown. With an ordinary error the server has rolled the statement back. */
const IN_DOUBT = /^(08|40003|57P|58|XX)/;

/** By SQLSTATE, or by the code of the network's error. The first that fits. @see https://www.postgresql.org/docs/current/errcodes-appendix.html */
const KINDS: readonly (readonly [codes: RegExp, make: Make])[] = [
  [
    /^53100$/,
    (detail, options) =>
      new StatementError("disk-full", `The disk of the server has no room left. ${detail}`, {
        ...options,
        fix: "Make room there: what is stored is not lost, what was refused is redelivered, and an inbox that is open goes on by itself.",
      }),
  ],
  [
    /^53300$/,
    (detail, options) =>
      new StatementError("too-many-connections", `The server has no connection to spare. ${detail}`, {
        ...options,
        fix: "Raise `max_connections` of the server or of the role, or put a pooler such as PgBouncer before it: a process that works needs up to seven, and a command two.",
      }),
  ],
  [
    /^53200$/,
    (detail, options) =>
      new StatementError("storage-failed", `The server is short of memory, or of locks. ${detail}`, {
        ...options,
        fix: "If it asks for `max_locks_per_transaction`, raise that: each day of `keepDoneDays` needs up to seven. Else the server needs more memory.",
      }),
  ],
  [
    /^25006$/,
    (detail, options) =>
      new StatementError("server-read-only", `The server takes no writes. ${detail}`, { ...options, fix: WRITABLE }),
  ],
  [/^28/, loginRefused],
  [
    /^3D000$/,
    (detail, options) =>
      new StatementError("database-missing", `The database is not there. ${detail}`, {
        ...options,
        fix: "Create it (`createdb`), or correct its name in the connection. Hookline makes its schema, never a database.",
      }),
  ],
  [
    /^42501$/,
    (detail, options) =>
      new StatementError("permission-missing", `The role of the connection lacks a permission. ${detail}`, {
        ...options,
        fix: "As the owner of the tables, or a role that may create schemas, run the SQL of `npx hookline inbox migrate --print --role ROLE`, with the role of the connection for ROLE, and with the receiver's `--name` and `--schema`, if it has them.",
      }),
  ],
  [
    /^(3F000|42P01|42883)$/,
    (detail, options) =>
      new StatementError("schema-missing", `A part of the inbox's schema is not there. ${detail}`, {
        ...options,
        fix: "Restart with `migrate: true`, which is the default, or run the SQL of `npx hookline inbox migrate --print`, with the receiver's `--name` and `--schema`, if it has them. Look for what dropped it.",
      }),
  ],
  [
    /^(40001|40P01)$/,
    (detail, options) =>
      new StatementError(
        "storage-failed",
        `Another transaction was in the way; the statement is tried again. ${detail}`,
        options,
      ),
  ],
  [
    /^55P03$/,
    (detail, options) =>
      new StatementError(
        "storage-failed",
        `Another session holds a lock, and the statement stopped waiting for it. ${detail}`,
        {
          ...options,
          fix: "Look in `pg_locks` and `pg_stat_activity` for the session that holds it. The `lock_timeout` of the role or the database may be too short.",
        },
      ),
  ],
  [
    /^57014$/,
    (detail, options) =>
      new StatementError("storage-failed", `The server cancelled a statement. ${detail}`, {
        ...options,
        fix: "The `statement_timeout` of the role or the database may be too short, or another session holds a lock: see `pg_stat_activity`.",
      }),
  ],
  [
    /^57P03$/,
    (detail, options) =>
      new StatementError("server-unreachable", `The server is starting, stopping or recovering. ${detail}`, {
        ...options,
        fix: "What receives or works goes on by itself when it is up.",
      }),
  ],
  [
    /CERT|^UNABLE_TO_/,
    (detail, options) =>
      new StatementError("server-unreachable", `The server's certificate is not trusted. ${detail}`, {
        ...options,
        fix: "Name the file of its authority in NODE_EXTRA_CA_CERTS before the process starts, and connect by the name that the certificate has.",
      }),
  ],
  [/^(08|57P|ECONN|EPIPE|ETIMEDOUT|EHOST|ENET|EADDR|ENOTFOUND|EAI_|ENOENT)/, unreachable],
];

/** What is to be done about a server that takes no writes. */
export const WRITABLE = "Connect to the primary, by a name that follows it after a fail-over.";

function unreachable(detail: string, options: { readonly cause: unknown; readonly mayHold: boolean }): StatementError {
  return new StatementError("server-unreachable", `The server cannot be reached, or ended the connection. ${detail}`, {
    ...options,
    fix: "Look whether it runs, and at host, port and TLS of the connection. What receives or works goes on by itself, and what was refused is redelivered; a `start()` or a command that failed must be run again.",
  });
}

function loginRefused(detail: string, options: { readonly cause: unknown; readonly mayHold: boolean }): StatementError {
  return new StatementError("login-refused", `The server refused the user or the password. ${detail}`, {
    ...options,
    fix: "Correct user and password of the connection, or the line for them in the server's pg_hba.conf.",
  });
}

function passwordMissing(
  detail: string,
  options: { readonly cause: unknown; readonly mayHold: boolean },
): StatementError {
  return new StatementError("login-refused", `The server asks for a password, and none was given. ${detail}`, {
    ...options,
    fix: "Set `PGPASSWORD`, or write the password into the connection.",
  });
}

/** Of PgBouncer. */
const STATEMENT_MODE = /statement pooling mode/;

function statementMode(
  detail: string,
  options: { readonly cause: unknown; readonly mayHold: boolean },
): StatementError {
  return new StatementError("server-unsupported", `The pooler gives no transaction. ${detail}`, {
    ...options,
    fix: "Set `pool_mode = transaction` for this database.",
  });
}

/** The driver has none where the server asks for one. */
const NO_PASSWORD = /password must be a/;

function isInDoubt(sqlState: string | undefined): boolean {
  return sqlState === undefined || IN_DOUBT.test(sqlState);
}
