import { expect, test } from "vitest";
import {
  fromDrizzle,
  fromKnex,
  fromKysely,
  fromPostgresJs,
  fromPrisma,
} from "../../../adapters/inbox/postgres/transaction-like.ts";

const TEXT = "select $2::text as b, $1::int as a, $1::text::jsonb ? 'x' as c";
const VALUES = [7, "it's \\ ü"];
const ROWS = [{ a: 7 }];
const RESULT = { rows: ROWS, rowCount: 1 };

/** Calls one method, and keeps what it was called with. */
function fake<N extends string>(name: N, answer: unknown) {
  const calls: unknown[][] = [];
  const method = async (...given: unknown[]): Promise<never> => {
    calls.push(given);
    return answer as never;
  };
  return { calls, tx: { [name]: method } as Record<N, (...given: unknown[]) => Promise<never>> };
}

test("postgres.js gets text and values, and answers with a list", async () => {
  const { calls, tx } = fake("unsafe", Object.assign([...ROWS], { count: 1 }));
  expect(await fromPostgresJs(tx).query(TEXT, VALUES)).toEqual(RESULT);
  expect(calls).toEqual([[TEXT, VALUES]]);
});

test("Kysely gets a compiled query, with a node for its plugins", async () => {
  const { calls, tx } = fake("executeQuery", { rows: ROWS, numAffectedRows: 1n });
  expect(await fromKysely(tx).query(TEXT, VALUES)).toEqual(RESULT);
  const query = { kind: "RawNode", sqlFragments: [TEXT], parameters: [] };
  expect(calls).toEqual([[expect.objectContaining({ sql: TEXT, parameters: VALUES, query })]]);
});

test("Prisma gets values one by one, and answers with a list", async () => {
  const { calls, tx } = fake("$queryRawUnsafe", ROWS);
  expect(await fromPrisma(tx).query(TEXT, VALUES)).toEqual(RESULT);
  expect(calls).toEqual([[TEXT, ...VALUES]]);
});

test.each([
  ["a result of pg", { rows: ROWS, rowCount: 1 }],
  ["a list of postgres.js", ROWS],
])("Drizzle gets a text with the values in it, and answers with %s", async (_, answer) => {
  const { calls, tx } = fake("execute", answer);
  expect(await fromDrizzle(tx).query(TEXT, VALUES)).toEqual(RESULT);
  expect(calls).toEqual([["select  E'it''s \\\\ ü'::text as b, 7::int as a, 7::text::jsonb ? 'x' as c"]]);
});

test("Knex gets a mark for each value, in their order, and its own marks are left alone", async () => {
  const { calls, tx } = fake("raw", { rows: ROWS, rowCount: 1 });
  expect(await fromKnex(tx).query(TEXT, VALUES)).toEqual(RESULT);
  expect(calls).toEqual([["select ?::text as b, ?::int as a, ?::text::jsonb \\? 'x' as c", ["it's \\ ü", 7, 7]]]);
});

test("Drizzle gets what is neither a number nor a text as JSON", async () => {
  const { calls, tx } = fake("execute", ROWS);
  await fromDrizzle(tx).query("select $1", [{ it: "'s" }]);
  expect(calls).toEqual([[`select  E'{"it":"''s"}'`]]);
});

test("a statement without rows gives none", async () => {
  const { tx } = fake("execute", undefined);
  expect(await fromDrizzle(tx).query("select $1", [null])).toEqual({ rows: [], rowCount: 0 });
});
