import { Hono, type Context } from "hono";
import { bodyLimit } from "hono/body-limit";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import * as z from "zod";
import { isHooklineError } from "../../errors.ts";
import type { GivenAnswers } from "./given-answers.ts";
import { guard } from "./guard.ts";

/** One method of one path. */
export interface Route {
  readonly method: "GET" | "POST" | "PUT" | "PATCH" | "DELETE";
  readonly path: string;
  /** For the OpenAPI document. */
  readonly description?: Description;
  /** Its result is the answer's JSON, unless it is a Response. @throws ApiError */
  readonly run: (context: Context) => unknown;
}

/** What a route takes and gives. */
export interface Description {
  readonly summary: string;
  readonly tag: string;
  readonly auth: "bearer" | "basic" | "none";
  readonly query?: z.ZodObject | undefined;
  /** Headers that must be there, and what each has. */
  readonly headers?: Readonly<Record<string, string>> | undefined;
  /** Those that may be left out. */
  readonly optionalHeaders?: Readonly<Record<string, string>> | undefined;
  readonly body?: z.ZodType | undefined;
  readonly answer?: z.ZodType | undefined;
  /** @default 200 */
  readonly status?: 200 | 201 | 303 | undefined;
  /** True: the service's description says all that a program can see of it. docs/emulator.md has what is assumed of the others. */
  readonly isExact?: true | undefined;
  /** Events that it causes, where somebody has subscribed to them. */
  readonly causes?: string | undefined;
  /** Of the answers that are errors, beside 400 and 401. */
  readonly errors?: readonly number[] | undefined;
}

/** An answer that is an error. Its body is `{ code, message, requestId }`. @see protocol 7, where the shape is "not shown" */
export class ApiError extends Error {
  override readonly name = "ApiError";
  readonly status: ContentfulStatusCode;
  readonly code: string;

  constructor(status: ContentfulStatusCode, code: string, message: string) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

/** More than a batch of 30,000 entries. */
const MAX_BODY_BYTES = 16 * 1024 ** 2;

/** What serving needs beside routes. */
export interface Serving {
  readonly answers: Pick<GivenAnswers, "serve">;
  readonly requestId: () => string;
}

/** Serves the routes, behind the answers that a program has given, and answers 404 and 405 for everything else. */
export function serveRoutes(routes: readonly Route[], { answers, requestId }: Serving): Hono {
  const app = new Hono();
  app.use(guard);
  app.use(answers.serve);
  app.use(
    bodyLimit({
      maxSize: MAX_BODY_BYTES,
      onError: () => {
        throw new ApiError(413, "badRequest", `The body has more than ${MAX_BODY_BYTES} bytes.`);
      },
    }),
  );
  for (const { method, path, run } of routes)
    app.on(method, path, async (context) => {
      const result = await run(context);
      return result instanceof Response ? result : context.json(result ?? {});
    });
  for (const path of new Set(routes.map((route) => route.path))) {
    const methods = routes.filter((route) => route.path === path).map(({ method }) => method);
    app.all(path, ({ req, header }) => {
      header("Allow", methods.join(", "));
      throw new ApiError(
        405,
        "methodNotAllowed",
        `${req.method} ${req.path} is not there, expected ${methods.join(", ")}.`,
      );
    });
  }
  app.notFound(({ req }) => {
    throw new ApiError(404, "not_found", `There is no ${req.path}.`);
  });
  app.onError((error, context) => {
    const { status, code, message } = toApiError(error);
    return context.json({ code, message, requestId: requestId() }, status, allowOf(context));
  });
  return app;
}

/** Set before the error was thrown. */
function allowOf({ res }: Context): Record<string, string> {
  const allow = res.headers.get("Allow");
  return allow === null ? {} : { Allow: allow };
}

function toApiError(error: Error): ApiError {
  if (error instanceof ApiError) return error;
  if (!isHooklineError(error))
    return new ApiError(500, "internal", `The emulator failed: ${error.stack ?? error.message}`);
  return new ApiError(error.code.endsWith("-not-found") ? 404 : 400, error.code, error.message);
}

/**
 * The JSON of a request, checked.
 *
 * @throws ApiError 400 that names the field
 */
export async function bodyOf<T>(context: Context, schema: z.ZodType<T>): Promise<T> {
  const text = await context.req.text();
  let json: unknown;
  try {
    json = text === "" ? {} : JSON.parse(text);
  } catch (error) {
    throw new ApiError(400, "badRequest", `The body is no JSON: ${(error as Error).message}`);
  }
  return checked(schema, json);
}

/** @throws ApiError 400 that names the field */
export function checked<T>(schema: z.ZodType<T>, given: unknown): T {
  const result = schema.safeParse(given);
  if (result.success) return result.data;
  const [issue] = result.error.issues;
  throw wrongField(issue?.path.join(".") ?? "", issue?.message ?? "");
}

/** 400 that names the field. @param why without a full stop */
export function wrongField(field: string, why: string): ApiError {
  return new ApiError(400, "badRequest", `${field === "" ? "The request" : `The field "${field}"`} is wrong: ${why}.`);
}
