import type { SqlTransaction } from "../../../src/adapter.ts";

/** A client with an open transaction: one of `pg` as it is, others by the functions below. Values are `$1`, `$2` ... in the text. */
export interface TransactionLike extends SqlTransaction {
  // oxlint-disable-next-line typescript/no-explicit-any -- clients of `pg` give rows of any type
  query(text: string, values: unknown[]): Promise<{ readonly rows: any[]; readonly rowCount?: number | null }>;
  /** A pool has it: each of its statements is a transaction of its own. */
  readonly totalCount?: never;
}

/** A `TransactionSql` of postgres.js. */
export interface PostgresJsLike {
  /** Runs a text with values. */
  unsafe(text: string, values: never[]): PromiseLike<readonly unknown[]>;
}

/** A `Transaction` of Kysely. */
export interface KyselyLike {
  /** Runs a compiled query. */
  executeQuery(query: never): PromiseLike<{ readonly rows: readonly unknown[] }>;
}

/** A transaction of Drizzle. */
export interface DrizzleLike {
  /** Runs a text. */
  execute(statement: string): PromiseLike<unknown>;
}

/** A client of an interactive transaction of Prisma. */
export interface PrismaLike {
  /** Runs a text with values, and gives its rows. */
  $queryRawUnsafe(text: string, ...values: unknown[]): PromiseLike<unknown>;
}

/** A `Transaction` of Knex. */
export interface KnexLike {
  /** Runs a text with `?` for its values. */
  raw(text: string, values: never): PromiseLike<unknown>;
}

/**
 * The `tx` of postgres.js.
 * @example await sql.begin(async (tx) => { ...; await complete(ctx, fromPostgresJs(tx)); });
 */
export function fromPostgresJs(tx: PostgresJsLike): TransactionLike {
  return { query: async (text, values) => toRows(await tx.unsafe(text, values as never[])) };
}

/**
 * The `trx` of Kysely.
 * @example await db.transaction().execute(async (trx) => { ...; await complete(ctx, fromKysely(trx)); });
 */
export function fromKysely(trx: KyselyLike): TransactionLike {
  return {
    async query(text, values) {
      // What Kysely's `CompiledQuery.raw` makes; plugins want to see a node.
      const node = { kind: "RawNode", sqlFragments: [text], parameters: [] };
      const query = { sql: text, parameters: values, query: node, queryId: { queryId: "hookline" } };
      return toRows(await trx.executeQuery(query as never));
    },
  };
}

/**
 * The `tx` of Drizzle, whichever driver is under it.
 * @example await db.transaction(async (tx) => { ...; await complete(ctx, fromDrizzle(tx)); });
 */
export function fromDrizzle(tx: DrizzleLike): TransactionLike {
  // Values need Drizzle's own `sql`, which an object of the application's copy would have to come from.
  return {
    query: async (text, values) =>
      toRows(await tx.execute(text.replaceAll(PLACEHOLDER, (_, place: string) => literal(values[Number(place) - 1])))),
  };
}

/**
 * The `tx` of an interactive transaction of Prisma.
 * @example await prisma.$transaction(async (tx) => { ...; await complete(ctx, fromPrisma(tx)); });
 */
export function fromPrisma(tx: PrismaLike): TransactionLike {
  return { query: async (text, values) => toRows(await tx.$queryRawUnsafe(text, ...values)) };
}

/**
 * The `trx` of Knex.
 * @example await knex.transaction(async (trx) => { ...; await complete(ctx, fromKnex(trx)); });
 */
export function fromKnex(trx: KnexLike): TransactionLike {
  return {
    async query(text, values) {
      const given: unknown[] = [];
      const withMarks = text.replaceAll("?", "\\?").replaceAll(PLACEHOLDER, (_, place: string) => {
        given.push(values[Number(place) - 1]);
        return "?";
      });
      return toRows(await trx.raw(withMarks, given as never));
    },
  };
}

const PLACEHOLDER = /\$(\d+)/g;

/** A list, or the result of `pg` with one in it. */
function toRows(result: unknown): { readonly rows: unknown[]; readonly rowCount: number } {
  const { rows = result } = (result ?? {}) as { readonly rows?: unknown };
  const list = Array.isArray(rows) ? [...(rows as unknown[])] : [];
  return { rows: list, rowCount: list.length };
}

/** A null, a number, or a text; a backslash is one in every server's settings. */
function literal(value: unknown): string {
  if (value === null || value === undefined) return "null";
  if (typeof value === "number") return String(value);
  const text = typeof value === "string" ? value : JSON.stringify(value);
  return ` E'${text.replaceAll("\\", "\\\\").replaceAll("'", "''")}'`;
}
