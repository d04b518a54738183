import * as z from "zod";
import { etagOf } from "../../accounts/etag.ts";
import type { MailboxRecord, TaskList } from "../../accounts/mailbox.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, type Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { assertMatchesIfGiven, IF_MATCH } from "../if-match.ts";
import { pageOf } from "../pages.ts";
import { OK, OK_ANSWER, pageSchema, pageToken } from "../schemas.ts";
import { syncRoutes } from "../sync-routes.ts";
import type { UnifiedOptions } from "../unified-routes.ts";
import { taskListOf } from "./task-lists.ts";
import { TASK, TASK_FIELDS, TASK_OR_ID, TASK_SYNC, toTaskFields } from "./task-schemas.ts";

const PATH = "/v1/tasklists/:taskListId/tasks";

/** Tasks of a list. @see protocol 4.1, where they are "not shown" */
export function taskRoutes(service: EmulatedService, options: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Tasks",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context).mailbox,
  });
  const now = (): number => service.clock.now();

  return [
    operation({
      method: "GET",
      path: PATH,
      summary: "Lists tasks.",
      query: z.object({ pageToken }),
      answer: pageSchema(TASK),
      errors: [404],
      run({ caller, query, param }) {
        const { id, records, nthOf } = taskListOf(caller, param("taskListId"));
        const placed = [...records.values()].map((task) => [nthOf.get(task.id) ?? 0, task] as const);
        const page = pageOf(placed, { list: `tasks of ${id}`, pageToken: query.pageToken, pageSize: options.pageSize });
        return { ...page, records: page.records.map(toTask) };
      },
    }),
    operation({
      method: "POST",
      path: PATH,
      summary: "Creates a task.",
      causes: "task.created",
      body: TASK_FIELDS,
      answer: TASK_OR_ID,
      status: 201,
      errors: [404],
      run({ caller, body, param }) {
        const list = taskListOf(caller, param("taskListId"));
        return toTaskOrId(caller.create(list, { status: "notStarted", ...toTaskFields(body, { now: now() }) }));
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/:id`,
      summary: "Gets a task.",
      isExact: true,
      answer: TASK,
      errors: [404],
      run: ({ caller, param }) => toTask(taskOf(taskListOf(caller, param("taskListId")), param("id"))),
    }),
    operation({
      method: "PATCH",
      path: `${PATH}/:id`,
      summary: "Updates a task.",
      causes: "task.updated",
      optionalHeaders: IF_MATCH,
      body: TASK_FIELDS,
      answer: TASK_OR_ID,
      errors: [404, 412],
      run({ caller, body, param, context }) {
        const list = taskListOf(caller, param("taskListId"));
        const old = taskOf(list, param("id"));
        assertMatchesIfGiven(context, etagOf(old), "task");
        caller.update(list, old.id, toTaskFields(body, { old, now: now() }));
        return toTaskOrId(taskOf(list, old.id));
      },
    }),
    operation({
      method: "DELETE",
      path: `${PATH}/:id`,
      summary: "Deletes a task.",
      isExact: true,
      causes: "task.deleted",
      answer: OK_ANSWER,
      errors: [404],
      run({ caller, param }) {
        const list = taskListOf(caller, param("taskListId"));
        caller.remove(list, taskOf(list, param("id")).id);
        return OK;
      },
    }),
    ...syncRoutes(service, options, {
      tag: "Tasks",
      path: "/v1/tasklists/:taskListId/sync",
      records: "tasks",
      query: TASK_SYNC,
      window: z.strictObject({ completedFrom: z.number().optional() }),
      toWindow: ({ skipCompletedBeforeDate }) => ({ completedFrom: skipCompletedBeforeDate }),
      isInside: ({ completed }, { completedFrom = -Infinity }) =>
        typeof completed !== "string" || !(Date.parse(completed) < completedFrom),
      find({ mailbox }, param) {
        const collection = taskListOf(mailbox, param("taskListId"));
        return { collection, name: `task list ${collection.id}` };
      },
      record: TASK,
      toRecord: toTask,
      errors: [404],
    }),
  ];
}

/** @throws ApiError 404 */
function taskOf({ records }: TaskList, id: string): MailboxRecord {
  const task = records.get(id);
  if (task !== undefined) return task;
  throw new ApiError(404, "not_found", `There is no task ${JSON.stringify(id)}.`);
}

/** The service does not say when a task was created. */
function toTask(record: MailboxRecord): object {
  const { createdTime: _, ...task } = record;
  return { ...task, etag: etagOf(record) };
}

function toTaskOrId(record: MailboxRecord): object {
  return { id: record.id, etag: etagOf(record), record: toTask(record) };
}
