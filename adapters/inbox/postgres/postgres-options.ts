import { assertOptions, kindOf, oneText, wholeNumber } from "../../../src/adapter.ts";
import { DEFAULT_MAX_JOBS } from "../../../src/inbox/parking.ts";
import { DEFAULT_KEEP_DAYS } from "../../../src/inbox/upkeep/retention.ts";
import { UsageError } from "../../../src/index.ts";
import { DEFAULT_LEASE_MS } from "./work/intervals.ts";
import type { PostgresOptions } from "./postgres-inbox.ts";

/** Limits of a PostgreSQL inbox. */
export interface PostgresInboxOptions {
  /**
   * A connection string past a transaction pooler, such as PgBouncer: a worker that died is then noticed within 2 s instead of `leaseMs`.
   * Never needed for safety. @default the connection itself
   */
  directConnection?: string | undefined;
  /** Each receiver's tables are in a schema of this name; of `<schema>_<name>` where the receiver has a `name`. @default "hookline" */
  schema?: string | undefined;
  /** Makes and upgrades the schema. With false run the SQL of `hookline inbox migrate --print` before a deploy. @default true */
  migrate?: boolean | undefined;
  /** A worker that did not commit for so long is taken over. @default 5_000 */
  leaseMs?: number | undefined;
  /** Done and skipped jobs, and their deliveries. @default 7 */
  keepDoneDays?: number | undefined;
  /** Unhandled jobs. @default 7 */
  keepUnhandledDays?: number | undefined;
  /** Dead letters, since they were settled. @default no limit */
  keepDeadDays?: number | undefined;
  /** As of `sqliteInbox`. @default "retention" */
  keepBodies?: "retention" | "until-done" | undefined;
  /** Waiting in memory, in each worker; more wait on the server alone, those that wait for a retry first. @default 500_000 */
  maxJobs?: number | undefined;
}

/** A connection string, or what `new pg.Pool()` takes. */
export type PostgresConnection = string | { readonly [option: string]: unknown };

/**
 * The options of `postgresInbox`, checked and with their defaults.
 * @throws UsageError `option-invalid`
 */
export function resolvePostgresOptions(connection: PostgresConnection, options: PostgresInboxOptions): PostgresOptions {
  assertOptions("postgresInbox", options, ALLOWED);
  const { directConnection, schema = "hookline", migrate = true, leaseMs = DEFAULT_LEASE_MS } = options;
  const { keepDoneDays = DEFAULT_KEEP_DAYS, keepUnhandledDays = DEFAULT_KEEP_DAYS, keepDeadDays = Infinity } = options;
  const { maxJobs = DEFAULT_MAX_JOBS } = options;
  return {
    connection: toConnection("connection", connection),
    directConnection: directConnection === undefined ? undefined : toConnection("directConnection", directConnection),
    schema: toSchema(schema),
    migrate: toBoolean(migrate),
    leaseMs: wholeNumber({
      where: "postgresInbox",
      name: "leaseMs",
      value: leaseMs,
      least: SHORTEST_LEASE_MS,
      most: DAY_MS,
    }),
    keepDoneMs: positive("keepDoneDays", keepDoneDays) * DAY_MS,
    keepUnhandledMs: positive("keepUnhandledDays", keepUnhandledDays) * DAY_MS,
    keepDeadMs: options.keepDeadDays === undefined ? keepDeadDays : positive("keepDeadDays", keepDeadDays) * DAY_MS,
    keepBodies: oneText(["retention", "until-done"], {
      where: "postgresInbox",
      name: "keepBodies",
      value: options.keepBodies ?? "retention",
    }),
    maxJobs: wholeNumber({ where: "postgresInbox", name: "maxJobs", value: maxJobs, least: 1 }),
  };
}

const ALLOWED: Readonly<Record<keyof PostgresInboxOptions, true>> = {
  directConnection: true,
  schema: true,
  migrate: true,
  leaseMs: true,
  keepDoneDays: true,
  keepUnhandledDays: true,
  keepDeadDays: true,
  keepBodies: true,
  maxJobs: true,
};

const DAY_MS = 24 * 60 * 60 * 1_000;

/** A worker shows twice a second that it is alive. */
const SHORTEST_LEASE_MS = 2_000;

/** As libpq takes it, or the folder of a Unix socket. Anything else the driver would take for a name of a database. */
const STRING = /^(?:postgres(?:ql)?:\/\/|socket:|\/)/;

export function toConnection(name: string, given: unknown): Readonly<Record<string, unknown>> {
  if (typeof given === "string" && STRING.test(given)) {
    if (canParse(given)) return { connectionString: given };
    throw new UsageError("option-invalid", `postgresInbox got ${name} a text that is no URL.`, {
      fix: "Percent-encode its user and password, such as %23 for #; a port is a number.",
    });
  }
  // A pool of the application's would make what is stored wait behind its handlers.
  const isPool = typeof (given as { readonly connect?: unknown } | null | undefined)?.connect === "function";
  const isObject = typeof given === "object" && given !== null && !Array.isArray(given) && !(given instanceof URL);
  if (isObject && !isPool) return { ...given };
  if (typeof given === "string" && given !== "")
    throw new UsageError(
      "option-invalid",
      `postgresInbox got ${name} a text that does not begin with "postgres://" or "postgresql://".`,
      {
        fix: 'Look at the variable that it comes from, such as DATABASE_URL: "postgres://user@host/database" is whole.',
      },
    );
  const got = isPool ? "a pool or a client" : kindOf(given);
  throw new UsageError(
    "option-invalid",
    `postgresInbox got ${name} ${got}, expected a text "postgres://..." or the options of \`new pg.Pool()\`.`,
    { fix: 'Write postgresInbox(process.env.DATABASE_URL ?? "postgres://localhost/app"); it makes pools of its own.' },
  );
}

/** As the driver does, which takes a host that is left out. */
function canParse(text: string): boolean {
  return [text, text.replace("@/", "@host/")].some((one) => URL.canParse(one, "postgres://base"));
}

function toSchema(schema: unknown): string {
  if (typeof schema === "string" && schema !== "" && !/^(?:pg_|information_schema$)/.test(schema)) return schema;
  const got = typeof schema === "string" && schema !== "" ? `"${schema}"` : kindOf(schema);
  throw new UsageError("option-invalid", `postgresInbox got schema ${got}, expected the name of a schema of its own.`, {
    fix: 'Leave `schema` out for "hookline".',
  });
}

/** "false" of an environment variable is true. */
function toBoolean(migrate: unknown): boolean {
  if (typeof migrate === "boolean") return migrate;
  throw new UsageError("option-invalid", `postgresInbox got migrate ${kindOf(migrate)}, expected true or false.`);
}

/** Days may be parts of one. */
function positive(name: string, value: unknown): number {
  if (typeof value === "number" && Number.isFinite(value) && value > 0) return value;
  throw new UsageError("option-invalid", `postgresInbox got ${name} ${kindOf(value)}, expected a positive number.`);
}
