import { changeResource } from "./change.ts";
import { pathMatcher } from "./path.ts";

/** To-do items of one list, which may be the alias `default`. @see protocol 6.1 */
export const task = changeResource("task", pathMatcher("/tasklists/{taskListId}/tasks"));
