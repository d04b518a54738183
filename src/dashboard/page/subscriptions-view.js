import { byId, copyOf, keyedList, setText } from "../../page/dom.js";
import { toCount } from "../../page/format.js";
import { fill } from "./parts.js";

/**
 * Subscriptions that are answered 422, and those that the service says fail.
 *
 * @param {{ ask: (wanted: import("./confirm.js").Wanted) => void }} page
 */
export function createSubscriptionsView({ ask }) {
  const tombstones = keyedList({
    list: byId("tombstones"),
    keyOf: ({ subscription, source }) => JSON.stringify([subscription, source]),
    create({ subscription, source }) {
      const { root, part } = copyOf("tombstone-template");
      const filter = { subscription: String(subscription), ...(source !== undefined && { source }) };
      part("lift").addEventListener("click", () => ask({ verb: "lift", filter }));
      return {
        root,
        show: ({ reason, since, lastHit }) =>
          fill(part, {
            subscription: String(subscription),
            source: sourceText(source),
            reason: reason ?? "hidden",
            since,
            hit: lastHit,
          }),
      };
    },
  });
  const errored = keyedList({
    list: byId("errored"),
    keyOf: ({ subscription, source }) => JSON.stringify([subscription, source]),
    create({ subscription, source }) {
      const { root, part } = copyOf("errored-template");
      return {
        root,
        show: ({ accountId, resource, error, since }) =>
          fill(part, {
            subscription: String(subscription),
            source: source ?? "–",
            account: String(accountId),
            resource: resource ?? "hidden",
            error: error ?? "hidden",
            since,
          }),
      };
    },
  });
  return {
    title: "Subscriptions",
    path: () => "subscriptions",
    /** @param {import("./api.js").Answer} answer */
    show({ tombstones: unwanted, errored: failing, count }) {
      tombstones(unwanted);
      errored(failing);
      byId("tombstones-table").hidden = unwanted.length === 0;
      byId("no-tombstones").hidden = unwanted.length > 0;
      byId("errored-table").hidden = failing.length === 0;
      byId("no-errored").hidden = failing.length > 0;
      const all = { tombstones: unwanted, errored: failing };
      for (const [name, shown] of Object.entries(all))
        setText(
          byId(`${name}-count`),
          count[name] > shown.length ? `${shown.length} of ${toCount(count[name], "subscription")}` : "",
        );
    },
  };
}

/** @param {string | undefined} source */
function sourceText(source) {
  return source === undefined ? "every" : source || "none";
}
