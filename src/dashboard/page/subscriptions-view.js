import { byId, setText } from "../../page/dom.js";
import { toCount } from "../../page/format.js";
import { createTable, idText } from "./parts.js";

/** @type {Record<"subscription" | "source" | "account" | "since", import("./parts.js").Column>} */
const COLUMNS = {
  subscription: { head: "Subscription", text: ({ subscription }) => idText(subscription) },
  source: { head: "Source", text: ({ source }) => source || "–" },
  account: { head: "Account", text: ({ accountId }) => idText(accountId) },
  since: { head: "Since", kind: "time", text: ({ since }) => since },
};

const keyOf = (/** @type {any} */ one) => JSON.stringify([one.subscription, one.source]);

/**
 * Subscriptions that are answered 422, and those that the service says fail.
 *
 * @param {{ ask: (wanted: import("./confirm.js").Wanted) => void }} page
 */
export function createSubscriptionsView({ ask }) {
  const { subscription, source, account, since } = COLUMNS;
  const tables = {
    errored: createTable({
      id: "errored",
      keyOf,
      columns: [
        subscription,
        account,
        source,
        { head: "Resource", text: ({ resource = "hidden" }) => resource },
        { head: "Error of the service", text: ({ error = "hidden" }) => error },
        since,
      ],
    }),
    tombstones: createTable({
      id: "tombstones",
      keyOf,
      columns: [
        subscription,
        { ...source, text: (one) => (one.source === undefined ? "every" : one.source || "none") },
        { head: "Reason", text: ({ reason = "hidden" }) => reason },
        since,
        { head: "Last delivery", kind: "time", text: ({ lastHit }) => lastHit },
      ],
      actions: {
        Lift: (one) =>
          ask({
            verb: "lift",
            filter: { subscription: String(one.subscription), ...(one.source !== undefined && { source: one.source }) },
          }),
      },
    }),
  };
  return {
    title: "Subscriptions",
    path: () => "subscriptions",
    /** @param {import("./api.js").Answer} answer */
    show(answer) {
      for (const [name, show] of Object.entries(tables)) {
        const [rows, count] = [answer[name], answer["count"][name]];
        show(rows);
        setText(byId(`${name}-cut`), count > rows.length ? `${rows.length} of ${toCount(count, "subscription")}` : "");
      }
    },
  };
}
