import * as z from "zod/mini";
import { LIFECYCLE_STATES } from "../event-names.ts";
import { EntryProblem } from "./entry-problem.ts";
import { fieldsReader, optional, type Loose } from "../fields.ts";
import type { Entry } from "./resource.ts";

/**
 * True for a delivery that tells the state of its subscription. It stands beside the resources:
 * any of them can send it. @see protocol 3
 */
export function isLifecycle(delivery: Loose): boolean {
  return delivery["lifecycleEvent"] !== undefined && delivery["lifecycleEvent"] !== null;
}

/**
 * Reads the notice, without the entries beside it: they are events of their own. An `error` without its text is still the
 * news that a subscription died, so its text is then empty.
 *
 * @see protocol 6.2
 */
export function readLifecycle(delivery: Loose): Entry | EntryProblem {
  const read = readNotice(delivery);
  if (read instanceof EntryProblem) return read;
  const state = LIFECYCLE_STATES.find((known) => known === read.lifecycleEvent);
  if (state === undefined) return new EntryProblem("value", "lifecycleEvent");
  const { payloads: _, ...fields } = read;
  return { type: `lifecycle.${state}`, fields: state === "error" ? { error: "", ...fields } : fields };
}

interface WireNotice {
  readonly lifecycleEvent: string;
  readonly error?: string;
}

const readNotice = fieldsReader<WireNotice>({ lifecycleEvent: z.string(), error: optional(z.string()) });
