import { make, setText } from "../../page/dom.js";
import { actionsColumn, COLUMNS, createTable, toHref } from "./parts.js";

/** @typedef {import("./api.js").Answer} Answer */
/** @typedef {{ ask: (wanted: import("./confirm.js").Wanted) => void, go: (href: string) => void }} Page */

const { id, type, account, subscription, error, attempts, since } = COLUMNS;

/** @type {Record<string, string>} */
const CAUSES = {
  refused: "Deliveries were refused",
  down: "No process was there",
  errored: "The service reported an error",
  silent: "Unusual silence",
  gone: "The subscription did not exist",
};
const FAMILIES = ["email", "calendarEvent", "contact", "task", "tracking", "booking", "unknown"];

/** Lanes whose first job waits for its next attempt. */
export function createLanesView() {
  const { parts, show } = createTable({
    id: "lanes",
    about:
      "Jobs of one lane run one after the other. The first of each of these failed and waits for its next attempt; those behind it wait too.",
    empty:
      "No lane is blocked. A lane is listed here as soon as its first job has failed and waits for another attempt.",
    keyOf: (job) => job.id,
    columns: [
      { ...id, head: "First job" },
      type,
      account,
      error,
      attempts,
      { head: "Next attempt", text: ({ nextAttemptAt }) => nextAttemptAt },
      { head: "Behind it", kind: "number", text: ({ behind }) => behind },
    ],
  });
  return { title: "Blocked lanes", parts, show: (/** @type {Answer} */ { lanes }) => show(lanes) };
}

const keyOf = (/** @type {any} */ one) => JSON.stringify([one.subscription, one.source]);

/**
 * Subscriptions that the service says fail, and those that are answered 422.
 *
 * @param {Page} page
 */
export function createSubscriptionsView({ ask }) {
  const errored = createTable({
    id: "errored",
    title: "Failing",
    about: "The service reported an error of these: changes may be missing.",
    empty: "No subscription reported an error. One is listed here from lifecycle.error until lifecycle.active.",
    keyOf,
    columns: [
      subscription,
      account,
      { head: "Source", text: ({ source }) => source || "–" },
      { head: "Resource", text: ({ resource = "hidden" }) => resource },
      { head: "Error of the service", text: ({ error: text = "hidden" }) => text },
      since,
    ],
  });
  const tombstones = createTable({
    id: "tombstones",
    title: "Unwanted",
    about: "Deliveries of these are answered 422, which makes the service delete the subscription.",
    empty:
      "No subscription is unwanted. One is listed here after receiver.unsubscribe(), or a decision of unsubscribeWhen().",
    keyOf,
    columns: [
      subscription,
      { head: "Source", text: ({ source }) => (source === undefined ? "every" : source || "none") },
      { head: "Reason", text: ({ reason = "hidden" }) => reason },
      since,
      { head: "Last delivery", text: ({ lastHit }) => lastHit },
      actionsColumn({
        Lift: (one) =>
          ask({
            verb: "lift",
            filter: { subscription: String(one.subscription), ...(one.source !== undefined && { source: one.source }) },
          }),
      }),
    ],
  });
  return {
    title: "Subscriptions",
    parts: [...errored.parts, ...tombstones.parts],
    show(/** @type {Answer} */ answer) {
      errored.show(answer["errored"]);
      tombstones.show(answer["tombstones"]);
    },
  };
}

/**
 * Where something may be missing.
 *
 * @param {Page} page
 */
export function createGapsView({ ask, go }) {
  const choice = make("select", {}, new Option("all", ""), ...FAMILIES.map((family) => new Option(family)));
  const clear = make("button", { className: "changes" });
  const { parts, show } = createTable({
    id: "gaps",
    about:
      "Windows in which something of a resource may be missing. A receiver ends those of email and calendarEvent by itself, if it has a handler of .changes or a delta sync for them.",
    empty:
      "Nothing is missing. A gap is listed here after an outage, refused deliveries, an error of a subscription, or unusual silence.",
    keyOf: (gap) => JSON.stringify(gap),
    columns: [
      { head: "Family", text: ({ family }) => family, sub: ({ resource }) => resource },
      account,
      subscription,
      { head: "Cause", text: ({ cause }) => CAUSES[cause] ?? cause },
      { head: "From", text: ({ from }) => from },
      { head: "Until", text: ({ until = "goes on" }) => until },
      actionsColumn({
        Clear: ({ family, cause, source, ...gap }) => {
          const ids = { subscription: String(gap.subscription), accountId: String(gap.accountId) };
          ask({ verb: "clear-gaps", filter: { family, cause, ...ids, ...(source !== undefined && { source }) } });
        },
      }),
    ],
  });
  choice.addEventListener("change", () => go(toHref("gaps", { family: choice.value || undefined })));
  clear.addEventListener("click", () => ask({ verb: "clear-gaps", filter: { family: choice.value } }));
  return {
    title: "Gaps",
    parts: [
      make("div", { className: "actions" }, make("label", { className: "inline" }, "Family ", choice), clear),
      ...parts,
    ],
    /**
     * @param {Answer} answer
     * @param {Record<string, string>} query
     */
    show({ gaps }, { family = "" }) {
      show(gaps);
      choice.value = family;
      clear.hidden = family === "" || gaps.length === 0;
      setText(clear, `Clear all of ${family}`);
    },
  };
}
