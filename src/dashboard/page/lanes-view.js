import { byId, copyOf, keyedList, setText } from "../../page/dom.js";
import { fill, fillError, toHref } from "./parts.js";

/** Lanes whose first job waits for its next attempt. */
export function createLanesView() {
  const rows = keyedList({
    list: byId("lanes"),
    keyOf: ({ job }) => job.id,
    create({ job }) {
      const { root, part } = copyOf("lane-template");
      part("id").href = toHref("job", { id: job.id });
      return {
        root,
        show({ job: { id, type, consumer, accountId, attempts, error, nextAttemptAt, lane }, behind }) {
          fill(part, {
            id,
            type,
            consumer,
            account: accountId && String(accountId),
            attempts,
            next: nextAttemptAt,
            behind,
            lane,
          });
          part("lane").title = lane ?? "";
          fillError(part, error);
        },
      };
    },
  });
  return {
    title: "Lanes",
    path: () => "lanes",
    /** @param {import("./api.js").Answer} answer */
    show({ lanes, isCut, counts }) {
      rows(lanes);
      byId("lanes-table").hidden = lanes.length === 0;
      byId("no-lanes").hidden = lanes.length > 0;
      setText(
        byId("lanes-cut"),
        isCut ? `The ${lanes.length} with the soonest attempt, of ${counts.blockedLanes.toLocaleString("en")}.` : "",
      );
    },
  };
}
