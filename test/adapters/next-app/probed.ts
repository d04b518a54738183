import type { Receiver } from "hookline";
import { type AfterHandlers } from "hookline/adapter";
import type { ProbedApp } from "../../suites/http/http-subject.ts";
import { createProbedReceiver } from "../../suites/http/probed-receiver.ts";

/** What the suite wants to be mounted now. */
interface Probed {
  readonly receiver: Receiver<"network">;
  /** As the suite gives them: without `answer` they are those of a network inbox. */
  readonly options: AfterHandlers & { readonly path?: string; readonly source?: string };
}

// Next gives each route a copy of this module: what they share is global.
const shared = globalThis as { probed?: Probed };

/** Of the case that runs. */
export function probed(): Probed {
  if (shared.probed === undefined) throw new Error("Nothing was posted to /control yet.");
  return shared.probed;
}

export function probe(app: Omit<ProbedApp, "receiver">): void {
  shared.probed = { receiver: createProbedReceiver(app), options: app.options as Probed["options"] };
}
