import type { Context } from "hono";
import * as z from "zod";
import { bodyOf, checked, type Description, type Route } from "./routes.ts";

/** What the operations of one part of an API have in common. */
export interface OperationGroup<C> extends Pick<Description, "tag" | "auth"> {
  /** Who calls: asked before anything else of the request is looked at. @throws ApiError 401 */
  readonly caller: (context: Context) => C;
}

/** A call of an API: its query and its body are checked before it runs. */
export interface Operation<C, Q extends z.ZodObject, B extends z.ZodType>
  extends Pick<Route, "method" | "path">, Omit<Description, "tag" | "auth" | "query" | "body"> {
  readonly query?: Q;
  readonly body?: B;
  /** Its result is the answer's JSON, or the answer itself; nothing is an answer without a body. @throws ApiError */
  readonly run: (request: CheckedRequest<C, z.output<Q>, z.output<B>>) => unknown;
}

/** A request whose caller is known, and whose query and body are as the operation wants them. */
interface CheckedRequest<C, Q, B> {
  readonly caller: C;
  readonly query: Q;
  readonly body: B;
  /** A part of the path. */
  readonly param: (name: string) => string;
  readonly context: Context;
}

/** Makes routes of the operations of one group. */
export function operationsOf<C>(group: OperationGroup<C>) {
  const { tag, auth } = group;
  return function operation<Q extends z.ZodObject = z.ZodObject<{}>, B extends z.ZodType = z.ZodUndefined>({
    method,
    path,
    run,
    ...described
  }: Operation<C, Q, B>): Route {
    const { query = NO_QUERY, body, status = 200 } = described;
    return {
      method,
      path,
      description: { ...described, tag, auth },
      async run(context) {
        const request = {
          caller: group.caller(context),
          query: checked(query, queryOf(context, query)) as z.output<Q>,
          body: (body && (await bodyOf(context, body))) as z.output<B>,
          param: (name: string) => context.req.param(name) ?? "",
          context,
        };
        const result = await run(request);
        if (result instanceof Response) return result;
        return result === undefined ? context.body(null, status) : context.json(result, status);
      },
    };
  };
}

const NO_QUERY = z.object({});

/** A parameter that may be repeated is a list, however often it is there. */
function queryOf(context: Context, { shape }: z.ZodObject): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(context.req.queries()).map(([name, values]) => {
      const isList = isListSchema(shape[name]);
      return [name, isList || values.length > 1 ? values : values[0]];
    }),
  );
}

function isListSchema(schema: unknown): boolean {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodDefault) return isListSchema(schema.unwrap());
  return schema instanceof z.ZodArray;
}
