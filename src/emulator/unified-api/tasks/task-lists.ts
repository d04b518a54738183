import type { Mailbox, TaskList } from "../../accounts/mailbox.ts";
import { ApiError } from "../../http/routes.ts";

/** By its id, or the alias `default`. @throws ApiError 404 */
export function taskListOf(mailbox: Mailbox, id: string): TaskList {
  const list = mailbox.taskList(id);
  if (list !== undefined) return list;
  throw new ApiError(404, "not_found", `There is no task list ${JSON.stringify(id)}.`);
}
