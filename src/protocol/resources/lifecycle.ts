import * as z from "zod/mini";
import { LIFECYCLE_STATES } from "../names.ts";
import { fieldsReader, optional, type Loose } from "./fields.ts";
import type { Entry, EntryProblem } from "./resource.ts";

/**
 * True for a delivery that tells the state of its subscription. It stands beside the resources:
 * any of them can send it. @see protocol 3
 */
export function isLifecycle(delivery: Loose): boolean {
  return delivery["lifecycleEvent"] !== undefined && delivery["lifecycleEvent"] !== null;
}

/**
 * Reads the notice. An `error` without its text is still the news that a subscription died, so its text is then empty.
 *
 * @see protocol 6.2
 */
export function readLifecycle(delivery: Loose): Entry | EntryProblem {
  const fields = readNotice(delivery);
  if (fields === undefined) return "shape";
  const state = LIFECYCLE_STATES.find((known) => known === fields.lifecycleEvent);
  if (state === undefined) return "value";
  return { type: `lifecycle.${state}`, fields: state === "error" ? { error: "", ...fields } : fields };
}

interface WireNotice {
  readonly lifecycleEvent: string;
  readonly error?: string;
}

const readNotice = fieldsReader<WireNotice>({ lifecycleEvent: z.string(), error: optional(z.string()) });
