import { byId, setText } from "../../page/dom.js";
import { createTable, JOB_COLUMNS } from "./parts.js";

/** Lanes whose first job waits for its next attempt. */
export function createLanesView() {
  const { id, type, account, error, attempts } = JOB_COLUMNS;
  const show = createTable({
    id: "lanes",
    keyOf: (job) => job.id,
    columns: [
      { ...id, head: "First job" },
      type,
      account,
      error,
      attempts,
      { head: "Next attempt", kind: "time", text: ({ nextAttemptAt }) => nextAttemptAt },
      { head: "Behind it", kind: "number", text: ({ behind }) => behind },
    ],
  });
  return {
    title: "Lanes",
    path: () => "lanes",
    /** @param {import("./api.js").Answer} answer */
    show({ lanes, isCut, counts }) {
      show(lanes.map((/** @type {{ job: object, behind: number }} */ { job, behind }) => ({ ...job, behind })));
      const all = counts.blockedLanes.toLocaleString("en");
      setText(byId("lanes-cut"), isCut ? `The ${lanes.length} with the soonest attempt, of ${all}.` : "");
    },
  };
}
