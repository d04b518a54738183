import { byId, copyOf, keyedList, setText } from "../../page/dom.js";
import { toCount } from "../../page/format.js";
import { get } from "./api.js";
import { fill, fillError, toHref, toWords } from "./parts.js";

/** @typedef {import("./confirm.js").Wanted} Wanted */
/** @typedef {Record<string, string>} Filter */

/**
 * Dead jobs in groups; those of a filter one by one.
 *
 * @param {{ ask: (wanted: Wanted) => void }} page
 */
export function createDeadView({ ask }) {
  /** @type {Set<string>} ids */
  const selected = new Set();
  /** @type {Filter} */
  let filter = {};
  /** What the list of jobs was read for. */
  let listed = "";

  const groups = keyedList({
    list: byId("groups"),
    keyOf: ({ consumer, type, error }) => JSON.stringify([consumer, type, error]),
    create({ consumer, type, error }) {
      const { root, part } = copyOf("group-template");
      const own = () => ({ ...filter, ...(consumer && { consumer }), type, ...(error && { error }) });
      const link = part("type");
      part("replay").addEventListener("click", () => ask({ verb: "replay", filter: own() }));
      part("drop").addEventListener("click", () => ask({ verb: "drop", filter: own() }));
      // A name that is hidden selects nothing.
      part("actions").hidden = error === "(hidden)";
      return {
        root,
        show({ count, newestAt }) {
          link.href = toHref("dead", own());
          fill(part, { consumer, type, error: error ?? "–", count, newest: newestAt });
        },
      };
    },
  });
  const jobs = keyedList({
    list: byId("dead-jobs"),
    keyOf: ({ id }) => id,
    create({ id }) {
      const { root, part } = copyOf("dead-job-template");
      const box = part("select");
      part("id").href = toHref("job", { id });
      box.setAttribute("aria-label", `Select job ${id}`);
      box.addEventListener("change", () => {
        if (box.checked) selected.add(id);
        else selected.delete(id);
        showSelected();
      });
      return {
        root,
        show({ type, consumer, accountId, attempts, error, receivedAt }) {
          box.checked = selected.has(id);
          fill(part, {
            id,
            type,
            consumer,
            account: accountId && String(accountId),
            attempts,
            received: receivedAt,
            failed: error?.at,
          });
          fillError(part, error);
        },
      };
    },
  });

  for (const verb of /** @type {const} */ (["replay", "drop"])) {
    byId(`${verb}-selected`).addEventListener("click", () => ask({ verb, ids: [...selected] }));
    byId(`${verb}-all`).addEventListener("click", () => ask({ verb, filter }));
  }
  byId("select-all").addEventListener("change", () => {
    for (const box of byId("dead-jobs").querySelectorAll("input"))
      if (box.checked !== byId("select-all").checked) box.click();
  });
  byId("filter").addEventListener("submit", (/** @type {SubmitEvent} */ event) => {
    event.preventDefault();
    const fields = [...byId("filter").elements].map(({ name, value }) => [name, value.trim()]);
    const link = document.createElement("a");
    link.href = toHref("dead", Object.fromEntries(fields.filter(([name, value]) => name !== "" && value !== "")));
    // As a click on a link into the view.
    byId("main").append(link);
    link.click();
    link.remove();
  });

  function showSelected() {
    setText(byId("selected"), selected.size === 0 ? "" : `${selected.size} selected`);
    for (const verb of ["replay", "drop"]) byId(`${verb}-selected`).disabled = selected.size === 0;
  }

  /** @param {string} query */
  async function list(query) {
    const { jobs: found, next } = await get(`jobs${query}`, AbortSignal.timeout(30_000));
    if (query !== location.search) return;
    const ids = new Set(found.map((/** @type {{ id: string }} */ { id }) => id));
    for (const id of selected) if (!ids.has(id)) selected.delete(id);
    jobs(found);
    byId("select-all").checked = found.length > 0 && selected.size === found.length;
    byId("next-page").hidden = next === undefined;
    if (next !== undefined) byId("next-page").href = toHref("dead", { ...filter, after: next });
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
    show({ groups: found, count, isCut }, query) {
      const { after: _, ...asked } = query;
      filter = asked;
      if (listed !== location.search) {
        listed = location.search;
        selected.clear();
        jobs([]);
        for (const field of byId("filter").elements) if (field.name !== "") field.value = asked[field.name] ?? "";
      }
      const isFiltered = Object.keys(asked).length > 0;
      groups(found);
      byId("groups-table").hidden = count === 0;
      byId("no-dead").hidden = count > 0 || isFiltered;
      byId("none-like-it").hidden = count > 0 || !isFiltered;
      byId("filter-line").hidden = !isFiltered;
      setText(byId("filter-words"), toWords(asked));
      setText(
        byId("dead-count"),
        `${toCount(count, "dead job")} in ${isCut ? "more than " : ""}${toCount(found.length, "group")}`,
      );
      byId("jobs-of-filter").hidden = !isFiltered || count === 0;
      setText(byId("replay-all"), `Replay all ${count.toLocaleString("en")}`);
      setText(byId("drop-all"), `Drop all ${count.toLocaleString("en")}`);
      if (isFiltered && count > 0) void list(location.search).catch(() => {});
    },
  };
}
