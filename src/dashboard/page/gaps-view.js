import { byId, copyOf, keyedList, setText } from "../../page/dom.js";
import { fill } from "./parts.js";

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
 * @param {{ ask: (wanted: import("./confirm.js").Wanted) => void }} page
 */
export function createGapsView({ ask }) {
  const rows = keyedList({
    list: byId("gaps"),
    keyOf: ({ subscription, source, accountId, family, cause, from, resource }) =>
      JSON.stringify([subscription, source, accountId, family, cause, from, resource]),
    create({ subscription, source, accountId, family, cause }) {
      const { root, part } = copyOf("gap-template");
      const ids = { subscription: String(subscription), accountId: String(accountId) };
      const filter = { family, ...ids, cause, ...(source !== undefined && { source }) };
      part("clear").addEventListener("click", () => ask({ verb: "clear-gaps", filter }));
      return {
        root,
        show: ({ from, until, resource }) =>
          fill(part, {
            family,
            account: ids.accountId,
            subscription: ids.subscription,
            cause: CAUSES[cause] ?? cause,
            from,
            until,
            resource,
          }),
      };
    },
  });
  const choice = byId("gap-family");
  choice.addEventListener("change", () => {
    const link = byId("gap-link");
    link.href = choice.value === "" ? "./gaps" : `./gaps?family=${choice.value}`;
    link.click();
  });
  byId("clear-family").addEventListener("click", () => ask({ verb: "clear-gaps", filter: { family: choice.value } }));
  return {
    title: "Gaps",
    path: (/** @type {URLSearchParams} */ query) => (query.size === 0 ? "gaps" : `gaps?${query}`),
    /**
     * @param {import("./api.js").Answer} answer
     * @param {Record<string, string>} query
     */
    show({ gaps, isCut }, { family = "" }) {
      rows(gaps);
      if (document.activeElement !== choice) choice.value = family;
      byId("gaps-table").hidden = gaps.length === 0;
      byId("no-gaps").hidden = gaps.length > 0;
      byId("clear-family").hidden = family === "" || gaps.length === 0;
      setText(byId("clear-family"), `Clear all of ${family}`);
      setText(byId("gaps-cut"), isCut ? `The first ${gaps.length}. Choose a family to see others.` : "");
    },
  };
}
