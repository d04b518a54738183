import type { Context } from "hookline";
import { complete, fromPostgresJs, type TransactionLike } from "hookline/postgres";
import type pg from "pg";
import type { Expect, Fits } from "./support.ts";

declare const ctx: Context;
declare const client: pg.Client;
declare const poolClient: pg.PoolClient;
declare const pool: pg.Pool;
declare const sql: { unsafe(text: string, values?: never[]): PromiseLike<readonly unknown[]> };

await complete(ctx, client);
await complete(ctx, poolClient);
await complete(ctx, fromPostgresJs(sql));
// @ts-expect-error -- each statement of a pool is a transaction of its own
await complete(ctx, pool);

export type Claims = [
  Expect<Fits<pg.Client, TransactionLike>>,
  Expect<Fits<pg.PoolClient, TransactionLike>>,
  Expect<Fits<pg.Pool, TransactionLike> extends false ? true : false>,
];
