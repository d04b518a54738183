import * as z from "zod";
import { etagOf } from "../../accounts/etag.ts";
import type { TaskList } from "../../accounts/mailbox.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import { ApiError, type Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { assertMatches, IF_MATCH } from "../if-match.ts";
import { pageOf } from "../pages.ts";
import { OK, OK_ANSWER, pageSchema, pageToken } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";
import { taskListOf } from "./task-lists.ts";
import { TASK_LIST, TASK_LIST_FIELDS } from "./task-schemas.ts";

const PATH = "/v1/tasklists";

/** Task lists of an account: no webhook is about them. @see protocol 4.1, where they are "not shown" */
export function taskListRoutes(service: EmulatedService, { pageSize }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Task lists",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context).mailbox,
  });

  return [
    operation({
      method: "GET",
      path: PATH,
      summary: "Lists task lists.",
      query: z.object({ pageToken }),
      answer: pageSchema(TASK_LIST),
      run({ caller, query }) {
        const page = pageOf(caller.taskLists().entries(), { list: "task lists", pageToken: query.pageToken, pageSize });
        return { ...page, records: page.records.map(toView) };
      },
    }),
    operation({
      method: "POST",
      path: PATH,
      summary: "Creates a task list.",
      isExact: true,
      body: TASK_LIST_FIELDS,
      answer: TASK_LIST,
      status: 201,
      run: ({ caller, body }) => toView(caller.addTaskList(body.title)),
    }),
    operation({
      method: "GET",
      path: `${PATH}/:taskListId`,
      summary: "Gets a task list.",
      isExact: true,
      answer: TASK_LIST,
      errors: [404],
      run: ({ caller, param }) => toView(taskListOf(caller, param("taskListId"))),
    }),
    operation({
      method: "PATCH",
      path: `${PATH}/:taskListId`,
      summary: "Updates a task list.",
      isExact: true,
      headers: IF_MATCH,
      body: TASK_LIST_FIELDS,
      answer: TASK_LIST,
      errors: [404, 412],
      run({ caller, body, param, context }) {
        const list = taskListOf(caller, param("taskListId"));
        assertMatches(context, tagOf(list), "task list");
        list.fields.title = body.title;
        list.fields.lastModifiedTime = new Date(service.clock.now()).toISOString();
        return toView(list);
      },
    }),
    operation({
      method: "DELETE",
      path: `${PATH}/:taskListId`,
      summary: "Deletes a task list, with its tasks.",
      causes: "task.deleted",
      answer: OK_ANSWER,
      errors: [403, 404],
      run({ caller, param }) {
        const list = taskListOf(caller, param("taskListId"));
        if (list.isDefault) throw new ApiError(403, "forbidden", "The default task list cannot be deleted.");
        caller.removeTaskList(list);
        return OK;
      },
    }),
  ];
}

function toView(list: TaskList): z.output<typeof TASK_LIST> {
  const { id, isDefault, fields } = list;
  return { id, etag: tagOf(list), owner: true, shared: false, defaultList: isDefault, emailsList: false, ...fields };
}

function tagOf({ id, fields }: TaskList): string {
  return etagOf({ id, ...fields });
}
