import { get } from "./api.js";
import { byId, setOptions, setText } from "../../page/dom.js";
import { toCount } from "../../page/format.js";
import { createJournalRows } from "./journal-rows.js";

/** @typedef {import("./api.js").Attempt} Attempt */
/** @typedef {import("./api.js").State} State */
/** @typedef {{ readonly number: number, readonly attempt: Attempt, readonly isNew: boolean }} Entry The number counts from the start. */

const MAX_ROWS = 500;
/** Of all bodies together: those of large batches would fill the browser's memory long before the rows do. */
const MAX_CHARACTERS = 32 * 1024 ** 2;

/**
 * The latest attempts, live.
 *
 * @param {{ fail: (error: unknown) => void, copy: (text: string, what: string) => void }} page
 */
export function createJournalPanel({ fail, copy }) {
  const rows = createJournalRows({ copy });
  const subscription = byId("filter-subscription");
  const outcome = byId("filter-outcome");
  /** @type {Entry[]} the oldest first */
  let entries = [];
  /** The number of the latest attempt that is known. */
  let last = 0;
  /** @type {Entry[] | undefined} those that arrive while the history is loaded */
  let arriving;
  let isDrawing = false;
  /** @type {State | undefined} */
  let latest;

  async function load() {
    if (arriving !== undefined) return;
    arriving = [];
    try {
      /** @type {{ attempts: Attempt[], total: number }} */
      const { attempts, total } = await get(`/emulator/journal?limit=${MAX_ROWS}`);
      const first = total - attempts.length + 1;
      const loaded = attempts.map((attempt, index) => ({ number: first + index, attempt, isNew: false }));
      entries = [...loaded, ...arriving.filter(({ number }) => number > total)];
      last = entries.at(-1)?.number ?? total;
      draw();
    } catch (error) {
      fail(error);
    } finally {
      arriving = undefined;
    }
  }

  /**
   * @param {number} number
   * @param {Attempt} attempt
   */
  function add(number, attempt) {
    if (arriving !== undefined) arriving.push({ number, attempt, isNew: true });
    // Some are missing, or the numbers began anew.
    else if (number !== last + 1) void load();
    else {
      entries.push({ number, attempt, isNew: true });
      last = number;
      draw();
    }
  }

  /** Many attempts in a moment are drawn once. A tab that is not seen does not draw, but it does forget. */
  function draw() {
    entries = latestOf(entries);
    if (isDrawing) return;
    isDrawing = true;
    requestAnimationFrame(() => {
      isDrawing = false;
      drawNow();
    });
  }

  function drawNow() {
    const seen = new Set([
      ...(latest?.subscriptions ?? []).map(({ id }) => id),
      ...entries.map(({ attempt }) => attempt.subscription),
    ]);
    setOptions(subscription, [
      { value: "", label: "all" },
      ...[...seen].toSorted((one, other) => one - other).map((id) => ({ value: String(id), label: String(id) })),
    ]);
    const shown = rows.show(
      entries,
      ({ attempt }) =>
        (subscription.value === "" || attempt.subscription === Number(subscription.value)) &&
        (outcome.value === "" || attempt.outcome === outcome.value),
    );
    const kept = last > entries.length ? `; of ${last.toLocaleString("en")} the latest are kept here` : "";
    setText(byId("journal-count"), `${countOf(shown, entries.length)}${kept}`);
    byId("no-attempts").hidden = shown > 0;
    setText(byId("no-attempts"), whyEmpty(entries.length, latest?.subscriptions.length ?? 0));
  }

  subscription.addEventListener("change", drawNow);
  outcome.addEventListener("change", drawNow);

  return {
    load,
    add,
    /** @param {State} state */
    show(state) {
      const isBehind = state.attempts > last && state.attempts === latest?.attempts;
      latest = state;
      if (state.attempts < last || isBehind) void load();
      else draw();
    },
  };
}

/**
 * @param {Entry[]} entries
 * @returns {Entry[]}
 */
function latestOf(entries) {
  let characters = 0;
  let first = entries.length;
  while (first > 0 && entries.length - first < MAX_ROWS) {
    characters += entries[first - 1]?.attempt.body.length ?? 0;
    if (characters > MAX_CHARACTERS && first < entries.length) break;
    first -= 1;
  }
  return first === 0 ? entries : entries.slice(first);
}

/**
 * @param {number} shown
 * @param {number} all
 */
function countOf(shown, all) {
  return shown === all ? toCount(all, "attempt") : `${shown.toLocaleString("en")} of ${toCount(all, "attempt")}`;
}

/**
 * @param {number} attempts
 * @param {number} subscriptions
 */
function whyEmpty(attempts, subscriptions) {
  if (attempts > 0) return "No attempt is like the filter. Choose all.";
  if (subscriptions === 0)
    return "Nothing was delivered yet. Deliveries appear here as soon as there is a subscription.";
  return "Nothing was delivered yet. Receive a mail, or emit an entry for a subscription.";
}
