import { byId, setText, textElement } from "../../page/dom.js";
import { toCount } from "../../page/format.js";
import { get } from "./api.js";
import { createTable, JOB_COLUMNS, toHref, toWords } from "./parts.js";

/** @typedef {import("./confirm.js").Wanted} Wanted */
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
const VERBS = /** @type {const} */ (["replay", "drop"]);

/**
 * Dead jobs in groups; those of a filter one by one.
 *
 * @param {{ ask: (wanted: Wanted) => void, go: (href: string) => void }} page
 */
export function createDeadView({ ask, go }) {
  /** @type {Set<string>} ids */
  const selected = new Set();
  /** @type {Filter} */
  let filter = {};
  /** What the list of jobs was read for. */
  let listed = "";

  const ownFilter = (/** @type {any} */ { consumer, type, error }) => ({
    ...filter,
    ...(consumer !== undefined && { consumer }),
    type,
    // A name that is hidden selects nothing: the group is opened without it.
    ...(error !== undefined && error !== "(hidden)" && { error }),
  });
  const showGroups = createTable({
    id: "groups",
    keyOf: ({ consumer, type, error }) => JSON.stringify([consumer, type, error]),
    columns: [
      { ...JOB_COLUMNS.type, href: (group) => toHref("dead", ownFilter(group)) },
      { head: "Error", kind: "error", text: ({ error = "–" }) => error },
      { head: "Jobs", kind: "number", text: ({ count }) => count },
      { head: "Newest", kind: "time", text: ({ newestAt }) => newestAt ?? "–" },
    ],
    actions: {
      Replay: (group) => ask({ verb: "replay", filter: ownFilter(group) }),
      Drop: (group) => ask({ verb: "drop", filter: ownFilter(group) }),
    },
  });
  const { id, type, account, error, attempts } = JOB_COLUMNS;
  const showJobs = createTable({
    id: "dead-jobs",
    keyOf: (job) => job.id,
    columns: [
      id,
      type,
      account,
      error,
      attempts,
      { head: "Received", kind: "time", text: ({ receivedAt }) => receivedAt },
      { head: "Failed", kind: "time", text: (job) => job.error?.at ?? "–" },
    ],
    first: createBox,
  });

  for (const verb of VERBS) {
    byId(`${verb}-selected`).addEventListener("click", () => ask({ verb, ids: [...selected] }));
    byId(`${verb}-all`).addEventListener("click", () => ask({ verb, filter }));
  }
  byId("select-all").addEventListener("change", () => {
    for (const box of byId("dead-jobs").querySelectorAll("input"))
      if (box.checked !== byId("select-all").checked) box.click();
  });
  const form = byId("filter");
  form.prepend(
    ...Object.entries(FIELDS).map(([name, [label, placeholder]]) => {
      const field = textElement("label", label);
      field.append(Object.assign(document.createElement("input"), { name, placeholder, autocomplete: "off" }));
      return field;
    }),
  );
  form.addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const fields = Object.keys(FIELDS).map((name) => [name, form.elements[name].value.trim() || undefined]);
    go(toHref("dead", Object.fromEntries(fields)));
  });

  /** @param {{ id: string }} job */
  function createBox(job) {
    const box = document.createElement("input");
    box.type = "checkbox";
    box.setAttribute("aria-label", `Select job ${job.id}`);
    box.addEventListener("change", () => {
      if (box.checked) selected.add(job.id);
      else selected.delete(job.id);
      showSelected();
    });
    return box;
  }

  function showSelected() {
    setText(byId("selected"), selected.size === 0 ? "" : `${selected.size} selected`);
    for (const verb of VERBS) byId(`${verb}-selected`).disabled = selected.size === 0;
  }

  /** @param {string} query */
  async function list(query) {
    const { jobs, next } = await get(`jobs${query}`, AbortSignal.timeout(30_000));
    if (query !== location.search) return;
    const ids = new Set(jobs.map((/** @type {{ id: string }} */ job) => job.id));
    for (const one of selected) if (!ids.has(one)) selected.delete(one);
    showJobs(jobs);
    byId("select-all").checked = jobs.length > 0 && selected.size === jobs.length;
    byId("next-page").hidden = next === undefined;
    byId("next-page").href = toHref("dead", { ...filter, after: next });
    showSelected();
  }

  return {
    title: "Dead letters",
    path(/** @type {URLSearchParams} */ query) {
      const own = new URLSearchParams(query);
      own.delete("after");
      return own.size === 0 ? "dead" : `dead?${own}`;
    },
    /**
     * @param {import("./api.js").Answer} answer
     * @param {Filter} query
     */
    show({ groups, count, isCut }, query) {
      const { after: _, ...asked } = query;
      filter = asked;
      if (listed !== location.search) {
        listed = location.search;
        selected.clear();
        showJobs([]);
        for (const name of Object.keys(FIELDS)) form.elements[name].value = asked[name] ?? "";
      }
      const isFiltered = Object.keys(asked).length > 0;
      showGroups(groups);
      setText(byId("no-groups-why"), isFiltered ? "No dead job is like this filter." : "No job is dead.");
      byId("filter-line").hidden = !isFiltered;
      setText(byId("filter-words"), toWords(asked));
      const inGroups = `in ${isCut ? "more than " : ""}${toCount(groups.length, "group")}`;
      setText(byId("dead-count"), `${toCount(count, "dead job")} ${inGroups}`);
      byId("jobs-of-filter").hidden = !isFiltered || count === 0;
      for (const verb of VERBS)
        setText(byId(`${verb}-all`), `${verb === "drop" ? "Drop" : "Replay"} all ${count.toLocaleString("en")}`);
      if (isFiltered && count > 0) void list(location.search).catch(() => {});
    },
  };
}
