import { byId, setText } from "../../page/dom.js";
import { createTable, idText } from "./parts.js";

/** @type {Record<string, string>} */
const CAUSES = {
  refused: "Deliveries were refused",
  down: "No process was there",
  errored: "The service reported an error",
  silent: "Unusual silence",
  gone: "The subscription did not exist",
};

/**
 * Where something may be missing.
 *
 * @param {{ ask: (wanted: import("./confirm.js").Wanted) => void, go: (href: string) => void }} page
 */
export function createGapsView({ ask, go }) {
  const show = createTable({
    id: "gaps",
    keyOf: (gap) => JSON.stringify(gap),
    columns: [
      { head: "Family", text: ({ family }) => family, sub: ({ resource }) => resource },
      { head: "Account", text: ({ accountId }) => idText(accountId) },
      { head: "Subscription", text: ({ subscription }) => idText(subscription) },
      { head: "Cause", text: ({ cause }) => CAUSES[cause] ?? cause },
      { head: "From", kind: "time", text: ({ from }) => from },
      { head: "Until", kind: "time", text: ({ until }) => until ?? "goes on" },
    ],
    actions: {
      Clear: ({ family, cause, subscription, accountId, source }) => {
        const ids = { subscription: String(subscription), accountId: String(accountId) };
        ask({ verb: "clear-gaps", filter: { family, cause, ...ids, ...(source !== undefined && { source }) } });
      },
    },
  });
  const choice = byId("gap-family");
  choice.addEventListener("change", () => go(choice.value === "" ? "./gaps" : `./gaps?family=${choice.value}`));
  byId("clear-family").addEventListener("click", () => ask({ verb: "clear-gaps", filter: { family: choice.value } }));
  return {
    title: "Gaps",
    path: (/** @type {URLSearchParams} */ query) => (query.size === 0 ? "gaps" : `gaps?${query}`),
    /**
     * @param {import("./api.js").Answer} answer
     * @param {Record<string, string>} query
     */
    show({ gaps, isCut }, { family = "" }) {
      show(gaps);
      choice.value = family;
      byId("clear-family").hidden = family === "" || gaps.length === 0;
      setText(byId("clear-family"), `Clear all of ${family}`);
      setText(byId("gaps-cut"), isCut ? `The first ${gaps.length}: choose a family to see others.` : "");
    },
  };
}
