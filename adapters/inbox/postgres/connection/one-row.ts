import type { Queries } from "./pool.ts";

/** The row of a statement that always gives one, as a call of a function does. */
export async function oneRow<R>(queries: Queries, text: string, values?: readonly unknown[]): Promise<R> {
  const [row] = (await queries.query<R>(text, values)) as readonly [R];
  return row;
}
