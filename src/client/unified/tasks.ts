import type { Send } from "../http/transport.ts";
import { createPaged, pageReader, type Paged } from "../paging.ts";
import type { DeletedRecord } from "../records/sync.ts";
import { readTask, readTaskList, type Task, type TaskList } from "../records/task.ts";
import type { RequestOptions } from "../request-options.ts";
import { toTimestamp, type Instant } from "../times.ts";
import { createDeltaSync, type DeltaSync } from "./delta-sync.ts";
import { createRecords, savedReader, toIfMatch, type SavedRecord, type UpdateOptions } from "./records.ts";

/** Tasks of one list. */
export interface Tasks {
  /** `GET /v1/tasklists/{taskListId}/tasks` */
  list(options?: RequestOptions): Paged<Task>;
  /** `GET /v1/tasklists/{taskListId}/tasks/{id}`. @throws NotFound */
  get(id: string, options?: RequestOptions): Promise<Task>;
  /** `POST /v1/tasklists/{taskListId}/tasks`. Never repeated by itself: it could make two. */
  create(task: object, options?: RequestOptions): Promise<SavedRecord<Task>>;
  /** `PATCH /v1/tasklists/{taskListId}/tasks/{id}`. @throws NotFound; PreconditionFailed when `ifMatch` was given, and the task has another `etag` by now */
  update(
    id: string,
    task: object,
    options?: RequestOptions & { ifMatch?: string | undefined },
  ): Promise<SavedRecord<Task>>;
  /** `DELETE /v1/tasklists/{taskListId}/tasks/{id}`. @throws NotFound */
  delete(id: string, options?: RequestOptions): Promise<void>;
  /** `POST /v1/tasklists/{taskListId}/sync` and its walks: changes since a token. */
  readonly sync: DeltaSync<Task, DeletedRecord, TaskSyncOptions | void>;
}

/** Which tasks are synced. */
export interface TaskSyncOptions {
  /** Without those that were completed before. */
  skipCompletedBeforeDate?: Instant | undefined;
}

/** Task lists of the account. */
export interface TaskLists {
  /** `GET /v1/tasklists` */
  list(options?: RequestOptions): Paged<TaskList>;
  /** `GET /v1/tasklists/{taskListId}`. @param id `default` is an alias. @throws NotFound */
  get(id: string, options?: RequestOptions): Promise<TaskList>;
  /** `POST /v1/tasklists`. Never repeated by itself: it could make two. */
  create(body: TaskListBody, options?: RequestOptions): Promise<TaskList>;
  /** `PATCH /v1/tasklists/{taskListId}`. @throws PreconditionFailed when the list has another `etag` by now; NotFound */
  update(id: string, body: TaskListBody, options: UpdateOptions): Promise<TaskList>;
  /** `DELETE /v1/tasklists/{taskListId}`. @throws NotFound */
  delete(id: string, options?: RequestOptions): Promise<void>;
}

/** What a list is created or updated with. */
export interface TaskListBody {
  title: string;
}

const LISTS = "/v1/tasklists";
const LIST = `${LISTS}/{taskListId}`;
const readSaved = savedReader(readTask);
const readPage = pageReader(readTask);
const readListPage = pageReader(readTaskList);

/** @param listId `default` is an alias */
export function createTasks(send: Send, listId: string): Tasks {
  const path = `${LIST}/tasks`;
  const params = { taskListId: listId };
  const records = createRecords(send, { path, params, read: readTask, readSaved });
  return {
    ...records,
    list: (options) =>
      createPaged((pageToken) => send({ method: "GET", path, params, query: { pageToken }, read: readPage, options })),
    get: (id, options) => records.get(id, options),
    update: async (id, task, { ifMatch, ...options } = {}) =>
      records.update(id, task, { ...options, headers: ifMatch === undefined ? undefined : toIfMatch(ifMatch, "task") }),
    sync: createDeltaSync(send, {
      path: `${LIST}/sync`,
      params,
      toQuery: (options: TaskSyncOptions | void) => ({
        skipCompletedBeforeDate:
          options?.skipCompletedBeforeDate && toTimestamp("skipCompletedBeforeDate", options.skipCompletedBeforeDate),
      }),
      read: readTask,
    }),
  };
}

export function createTaskLists(send: Send): TaskLists {
  const records = createRecords(send, {
    path: LISTS,
    idName: "taskListId",
    read: readTaskList,
    readSaved: readTaskList,
  });
  return {
    ...records,
    list: (options) =>
      createPaged((pageToken) =>
        send({ method: "GET", path: LISTS, query: { pageToken }, read: readListPage, options }),
      ),
    get: (id, options) => records.get(id, options),
    async update(id, body, given: UpdateOptions | undefined) {
      const { ifMatch, ...options } = given ?? ({} as UpdateOptions);
      return records.update(id, body, { ...options, headers: toIfMatch(ifMatch, "task list") });
    },
  };
}
