import * as z from "zod/mini";
import type { Send } from "../http/transport.ts";
import { recordReader, type Reader } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";

/** A contact or a task: its fields are not documented. */
export interface PlainRecord {
  readonly id: string;
  readonly [field: string]: unknown;
}

/** Contacts, or the tasks of a list. */
export interface PlainRecords {
  /** @throws NotFound */
  get(id: string, options?: RequestOptions): Promise<PlainRecord>;
}

const readRecord: Reader<PlainRecord> = recordReader<{ readonly id: string }>({ id: z.string() });

/** `GET /v1/contacts/{id}`, which protocol 4.1 names as "not shown" */
export function createContacts(send: Send): PlainRecords {
  return {
    get: (id, options) => send({ method: "GET", path: "/v1/contacts/{id}", params: { id }, read: readRecord, options }),
  };
}

/** `GET /v1/tasklists/{id}/tasks/{taskId}`, which protocol 4.1 names as "not shown". @param listId `default` is an alias */
export function createTasks(send: Send, listId: string): PlainRecords {
  return {
    get: (taskId, options) =>
      send({
        method: "GET",
        path: "/v1/tasklists/{listId}/tasks/{taskId}",
        params: { listId, taskId },
        read: readRecord,
        options,
      }),
  };
}
