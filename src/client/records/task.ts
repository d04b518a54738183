import * as z from "zod/mini";
import { flag, recordReader, text, texts, type Open, type Reader } from "./reader.ts";

interface TaskFields {
  readonly id: string;
  /** For `update`. */
  readonly etag?: string;
  readonly title?: string;
  readonly notes?: string;
  readonly status?: Open<"notStarted" | "inProgress" | "completed" | "waitingOnOthers" | "deferred">;
  readonly importance?: Open<"low" | "normal" | "high">;
  readonly due?: string;
  readonly startDateTime?: string;
  readonly completed?: string;
  readonly parentId?: string;
  readonly categories?: readonly string[];
  readonly lastModifiedTime?: string;
}

/** A task. Fields that are not listed here are kept. */
export interface Task extends TaskFields {
  readonly [field: string]: unknown;
}

export const readTask: Reader<Task> = recordReader<TaskFields>({
  id: z.string(),
  etag: text,
  title: text,
  notes: text,
  status: text,
  importance: text,
  due: text,
  startDateTime: text,
  completed: text,
  parentId: text,
  categories: texts,
  lastModifiedTime: text,
});

interface TaskListFields {
  readonly id: string;
  /** For `update`. */
  readonly etag?: string;
  readonly title?: string;
  /** The one that the alias `default` names. */
  readonly defaultList?: boolean;
  readonly lastModifiedTime?: string;
}

/** A list of tasks. Fields that are not listed here are kept. */
export interface TaskList extends TaskListFields {
  readonly [field: string]: unknown;
}

export const readTaskList: Reader<TaskList> = recordReader<TaskListFields>({
  id: z.string(),
  etag: text,
  title: text,
  defaultList: flag,
  lastModifiedTime: text,
});
