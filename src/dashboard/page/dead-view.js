import { byId, make, setText } from "../../page/dom.js";
import { toCount } from "../../page/format.js";
import { actionsColumn, COLUMNS, createTable, toHref, toWords } from "./parts.js";

/** @typedef {Record<string, string>} Filter */

/** Fields of the filter: their names, and an example. @type {Record<string, readonly [string, string]>} */
const FIELDS = {
  type: ["Event", "email.created, email"],
  consumer: ["Consumer", "default"],
  error: ["Name of the error", "TypeError"],
  accountId: ["Account", "2002"],
  subscription: ["Subscription", "1001"],
  receivedAfter: ["Received after (UTC)", "2026-11-20T14:30Z"],
  receivedBefore: ["Received before (UTC)", "2026-11-21"],
};
const NONE = "Jobs that failed for good.";
const VERBS = /** @type {const} */ (["replay", "drop"]);
const NAMES = { replay: "Replay", drop: "Drop" };

/**
 * Dead jobs in groups; those of a filter one by one.
 *
 * @param {{ ask: (wanted: import("./confirm.js").Wanted) => void, go: (href: string) => void }} page
 */
export function createDeadView({ ask, go }) {
  /** @type {Set<string>} ids */
  const selected = new Set();
  /** @type {Filter} */
  let filter = {};
  /** The address that the form and the selection are of. */
  let shown = "";

  const count = make("p", { id: "dead-count", className: "hint" }, NONE);
  const words = make("strong", { id: "filter-words" });
  const line = make("p", { hidden: true }, "Only ", words, " ", make("a", { href: "./dead" }, "Show all"));
  const fields = Object.entries(FIELDS).map(([name, [label, placeholder]]) =>
    make("label", {}, label, make("input", { name, placeholder, autocomplete: "off" })),
  );
  /** @type {any} */
  const form = make(
    "form",
    { className: "fields", onsubmit: search },
    ...fields,
    make("button", { className: "main" }, "Show"),
  );
  const ownFilter = (/** @type {any} */ { consumer, type, error }) => ({
    ...filter,
    ...(consumer !== undefined && { consumer }),
    type,
    // A name that is hidden selects nothing: the group is opened without it.
    ...(error !== undefined && error !== "(hidden)" && { error }),
  });
  const groups = createTable({
    id: "groups",
    empty:
      "No job is dead, or none is like this filter. A job is listed here when its last attempt failed, or its handler threw GiveUp.",
    keyOf: ({ consumer, type, error }) => JSON.stringify([consumer, type, error]),
    columns: [
      { ...COLUMNS.type, href: (group) => toHref("dead", ownFilter(group)) },
      { head: "Error", kind: "failed", text: ({ error = "–" }) => error },
      { head: "Jobs", kind: "number", text: (group) => group.count },
      { head: "Newest", text: ({ newestAt = "–" }) => newestAt },
      actionsColumn({
        Replay: (group) => ask({ verb: "replay", filter: ownFilter(group) }),
        Drop: (group) => ask({ verb: "drop", filter: ownFilter(group) }),
      }),
    ],
  });
  const { id, type, account, error, attempts } = COLUMNS;
  const jobs = createTable({
    id: "dead-jobs",
    empty: "There are none on this page.",
    keyOf: (job) => job.id,
    columns: [
      { head: "", kind: "changes", controls: (job) => [createBox(job)] },
      id,
      type,
      account,
      error,
      attempts,
      { head: "Received", text: ({ receivedAt }) => receivedAt },
      { head: "Failed", text: (job) => job.error?.at ?? "–" },
    ],
  });
  const button = (/** @type {"replay" | "drop"} */ verb, /** @type {() => object} */ what) =>
    make("button", { className: verb === "drop" ? "danger" : "", onclick: () => ask({ verb, ...what() }) });
  const buttons = VERBS.map((verb) => ({
    verb,
    ofSelected: button(verb, () => ({ ids: [...selected] })),
    ofAll: button(verb, () => ({ filter })),
  }));
  const selectAll = make("input", { type: "checkbox", onchange: toggleAll });
  const ofFilter = make(
    "div",
    { className: "list", hidden: true },
    make("h3", {}, "Jobs, the newest first"),
    make("div", { className: "actions changes" }, ...buttons.flatMap(({ ofSelected, ofAll }) => [ofSelected, ofAll])),
    make("label", { className: "inline changes" }, selectAll, " Select all that are listed"),
    ...jobs.parts,
  );

  /** @param {Event} event */
  function search(event) {
    event.preventDefault();
    const given = Object.keys(FIELDS).map((name) => [name, form.elements[name].value.trim() || undefined]);
    go(toHref("dead", Object.fromEntries(given)));
  }

  /** @param {{ id: string }} job */
  function createBox(job) {
    const box = make("input", { type: "checkbox", ariaLabel: `Select job ${job.id}` });
    box.addEventListener("change", () => {
      if (box.checked) selected.add(job.id);
      else selected.delete(job.id);
      showSelected();
    });
    return box;
  }

  function toggleAll() {
    for (const box of byId("dead-jobs").querySelectorAll("input")) if (box.checked !== selectAll.checked) box.click();
  }

  function showSelected() {
    for (const { verb, ofSelected } of buttons) {
      setText(ofSelected, `${NAMES[verb]} selected${selected.size === 0 ? "" : ` (${selected.size})`}`);
      ofSelected.disabled = selected.size === 0;
    }
  }

  return {
    title: "Dead letters",
    parts: [
      count,
      make("details", { className: "card" }, make("summary", {}, "Filter"), form),
      line,
      ...groups.parts,
      ofFilter,
    ],
    /**
     * @param {import("./api.js").Answer} answer
     * @param {Filter} query
     */
    show(answer, query) {
      const asked = { ...query };
      delete asked["after"];
      filter = asked;
      if (shown !== location.search) {
        selected.clear();
        for (const name of Object.keys(FIELDS)) form.elements[name].value = asked[name] ?? "";
      }
      shown = location.search;
      const isFiltered = Object.keys(asked).length > 0;
      const all = answer["count"];
      groups.show(answer["groups"]);
      line.hidden = !isFiltered;
      setText(words, toWords(asked));
      const inGroups = `${answer["isCut"] ? "more than " : ""}${toCount(answer["groups"].length, "group")}`;
      setText(count, all === 0 ? NONE : `${toCount(all, "dead job")} in ${inGroups}, the newest error first.`);
      ofFilter.hidden = !isFiltered || all === 0;
      jobs.show(answer["jobs"]);
      const ids = new Set(answer["jobs"].map((/** @type {{ id: string }} */ job) => job.id));
      for (const one of selected) if (!ids.has(one)) selected.delete(one);
      selectAll.checked = ids.size > 0 && selected.size === ids.size;
      showSelected();
      for (const { verb, ofAll } of buttons) setText(ofAll, `${NAMES[verb]} all ${all.toLocaleString("en")}`);
    },
  };
}
