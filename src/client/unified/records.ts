import * as z from "zod/mini";
import { UsageError } from "../../errors.ts";
import type { Send } from "../http/transport.ts";
import type { PathParams, Query } from "../http/url.ts";
import { readNothing, recordReader, text, type Reader } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";

/** What `create` and `update` give. */
export interface SavedRecord<T> {
  readonly id: string;
  /** For the next `update`. */
  readonly etag?: string;
  /** Where the service gives it. */
  readonly record?: T;
}

/** How a record is updated. */
export interface UpdateOptions extends RequestOptions {
  /** The `etag` of the record as it was read. */
  ifMatch: string;
}

/** @throws UsageError `option-invalid` */
export function toIfMatch(ifMatch: unknown, what: string): { readonly "If-Match": string } {
  if (typeof ifMatch === "string" && ifMatch !== "") return { "If-Match": ifMatch };
  throw new UsageError("option-invalid", `update() got no ifMatch, expected the \`etag\` of the ${what}.`);
}

interface IfMatch {
  readonly headers?: ReturnType<typeof toIfMatch> | undefined;
}

interface RecordsParts<T, S> {
  /** Of all of them. */
  readonly path: string;
  readonly params?: PathParams;
  /** Of the parameter that names one. @default "id" */
  readonly idName?: string;
  readonly read: Reader<T>;
  readonly readSaved: Reader<S>;
}

/** The four calls that records of a kind have in common. */
export function createRecords<T, S>(send: Send, { path, params, idName = "id", read, readSaved }: RecordsParts<T, S>) {
  const one = `${path}/{${idName}}`;
  return {
    get: (id: string, options?: RequestOptions, query?: Query) =>
      send({ method: "GET", path: one, params: { ...params, [idName]: id }, query: query ?? {}, read, options }),
    create: (body: object, options?: RequestOptions) =>
      send({ method: "POST", path, params: params ?? {}, body, read: readSaved, options }),
    update: (id: string, body: object, { headers, ...options }: RequestOptions & IfMatch) =>
      send({
        method: "PATCH",
        path: one,
        params: { ...params, [idName]: id },
        headers,
        body,
        read: readSaved,
        options,
      }),
    delete: (id: string, options?: RequestOptions): Promise<void> =>
      send({
        method: "DELETE",
        path: one,
        params: { ...params, [idName]: id },
        read: readNothing,
        answerOptional: true,
        options,
      }),
  };
}

/** Reads what `create` and `update` give. */
export function savedReader<T>(read: Reader<T>): Reader<SavedRecord<T>> {
  const readFields = recordReader<{ id: string; etag?: string }>({ id: z.string(), etag: text });
  return (json) => {
    const { id, etag, record } = readFields(json);
    return {
      id,
      ...(etag !== undefined && { etag }),
      ...(typeof record === "object" && record !== null && { record: read(record) }),
    };
  };
}
