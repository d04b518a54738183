import * as z from "zod";
import type { Description, Route } from "./routes.ts";

const ERROR = z.looseObject({ code: z.string(), message: z.string(), requestId: z.string() });
const ERROR_TEXTS: Readonly<Record<number, string>> = {
  400: "A field is wrong: the message names it.",
  401: "The token is missing or invalid.",
  403: "Refused.",
  404: "There is no such thing.",
  408: "Not known yet: `Retry-After` tells when to ask again.",
  410: "The token has expired: start the sync again.",
  412: "The entity tag is another one.",
  429: "Too many calls: `Retry-After` tells when to go on.",
};
const EVERY_ERROR = [400, 401, 429];

/**
 * The document of all routes that are described.
 *
 * @param baseUrl where the emulator listens
 * @see https://spec.openapis.org/oas/v3.1.1
 */
export function toOpenApi(routes: readonly Route[], baseUrl: string): object {
  const paths: Record<string, Record<string, object>> = {};
  for (const { method, path, description } of routes) {
    if (description === undefined) continue;
    const template = path.replaceAll(/:(\w+)/g, "{$1}");
    (paths[template] ??= {})[method.toLowerCase()] = toOperation(method, template, description);
  }
  return {
    openapi: "3.1.1",
    info: {
      title: "Unified mailbox and calendar API",
      version: "1",
      description: "As the emulator plays it. The sync-configuration API is under /v2.",
    },
    servers: [{ url: baseUrl }],
    paths,
    components: {
      securitySchemes: {
        bearer: { type: "http", scheme: "bearer", description: "Each account has one." },
        basic: {
          type: "http",
          scheme: "basic",
          description:
            "Under `/v2` a user's token of `POST /v2/signup`, and the password `X`; otherwise the application's id and secret.",
        },
      },
      schemas: { Error: schemaOf(ERROR, "output") },
    },
  };
}

function toOperation(method: string, path: string, description: Description): object {
  const { summary, tag, auth, body } = description;
  const names = path.split(/\W+/).filter((part) => part !== "");
  return {
    operationId: [method.toLowerCase(), ...names].join("_"),
    summary,
    tags: [tag],
    security: auth === "none" ? [] : [{ [auth]: [] }],
    parameters: [...pathParameters(path), ...queryParameters(description), ...headerParameters(description)],
    ...(body !== undefined && { requestBody: { required: true, content: json(schemaOf(body, "input")) } }),
    responses: responsesOf(description),
  };
}

function pathParameters(path: string): readonly object[] {
  return [...path.matchAll(/\{(\w+)\}/g)].map(([, name]) => ({
    name,
    in: "path",
    required: true,
    schema: { type: "string" },
  }));
}

function queryParameters({ query }: Description): readonly object[] {
  if (query === undefined) return [];
  const { properties = {}, required = [] } = schemaOf(query, "input") as {
    readonly properties?: Readonly<Record<string, object>>;
    readonly required?: readonly string[];
  };
  return Object.entries(properties).map(([name, schema]) => ({
    name,
    in: "query",
    required: required.includes(name),
    schema,
  }));
}

function headerParameters({ headers = {}, optionalHeaders = {} }: Description): readonly object[] {
  return Object.entries({ ...headers, ...optionalHeaders }).map(([name, description]) => ({
    name,
    in: "header",
    required: name in headers,
    description,
    schema: { type: "string" },
  }));
}

function responsesOf({ answer, status = 200, errors = [] }: Description): object {
  const error = (text: string) => ({ description: text, content: json({ $ref: "#/components/schemas/Error" }) });
  return {
    [status]: {
      description: status === 303 ? "Back to the application." : "Done.",
      ...(answer !== undefined && { content: json(schemaOf(answer, "output")) }),
    },
    ...Object.fromEntries([...EVERY_ERROR, ...errors].map((code) => [code, error(ERROR_TEXTS[code] ?? "An error.")])),
    default: error("An error."),
  };
}

function json(schema: object): object {
  return { "application/json": { schema } };
}

function schemaOf(schema: z.ZodType, io: "input" | "output"): object {
  const { $schema: _, ...found } = z.toJSONSchema(schema, { io, unrepresentable: "any" });
  return found;
}
