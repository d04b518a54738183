import * as z from "zod";
import { time } from "../calendars/time-window.ts";

const moment = z.iso.datetime({ offset: true }).optional();
const STATUS = z.enum(["notStarted", "inProgress", "completed", "waitingOnOthers", "deferred"]);
const IMPORTANCE = z.enum(["low", "normal", "high"]);

/** Of a task that is created or updated. Fields that are not listed are kept as they are. */
export const TASK_FIELDS = z.looseObject({
  title: z.string().optional(),
  notes: z.string().optional(),
  status: STATUS.optional(),
  importance: IMPORTANCE.optional(),
  due: moment,
  startDateTime: moment,
  parentId: z.string().optional(),
  /** The task that it follows in the list: it moves nothing. */
  previousId: z.string().optional(),
  categories: z.array(z.string()).optional(),
});

/** A task as it is shown. */
export const TASK = z.looseObject({
  id: z.string(),
  etag: z.string(),
  lastModifiedTime: z.string(),
  title: z.string().optional(),
  status: STATUS.optional(),
  importance: IMPORTANCE.optional(),
  completed: z.string().optional(),
});

/** The answer to create and update. */
export const TASK_OR_ID = z.looseObject({ id: z.string(), etag: z.string(), record: TASK });

/** Of the start of a sync. */
export const TASK_SYNC = z.object({ skipCompletedBeforeDate: time.optional() });

export const TASK_LIST_FIELDS = z.looseObject({ title: z.string().min(1) });

/** A list as it is shown. */
export const TASK_LIST = z.looseObject({
  id: z.string(),
  etag: z.string(),
  title: z.string(),
  owner: z.boolean(),
  shared: z.boolean(),
  defaultList: z.boolean(),
  emailsList: z.boolean(),
  lastModifiedTime: z.string(),
});

/** Set by the service alone; and `previousId`, which is a wish. */
const NOT_STORED = new Set(["id", "etag", "createdTime", "lastModifiedTime", "completed", "previousId"]);

/** What is stored, with the time at which a task was completed. */
export function toTaskFields(
  body: z.output<typeof TASK_FIELDS>,
  { old = {}, now }: { readonly old?: Readonly<Record<string, unknown>>; readonly now: number },
): object {
  const { status = old["status"] } = body;
  const completed = status === "completed" ? (old["completed"] ?? new Date(now).toISOString()) : undefined;
  return { ...Object.fromEntries(Object.entries(body).filter(([name]) => !NOT_STORED.has(name))), completed };
}
