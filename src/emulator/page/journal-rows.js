import { createAttemptRow } from "./attempt-row.js";
import { byId } from "../../page/dom.js";

/** @typedef {import("./journal-panel.js").Entry} Entry */

/**
 * A table body for each attempt, the newest first.
 *
 * @param {{ copy: (text: string, what: string) => void }} page
 */
export function createJournalRows({ copy }) {
  const table = byId("attempts");
  /** @type {Map<string, HTMLElement>} */
  const rows = new Map();

  return {
    /**
     * Rows that are there already stay as they are, opened or not.
     *
     * @param {readonly Entry[]} entries the oldest first
     * @param {(entry: Entry) => boolean} isWanted
     * @returns {number} how many are shown
     */
    show(entries, isWanted) {
      const keys = new Set(entries.map(keyOf));
      for (const [key, row] of rows) {
        if (keys.has(key)) continue;
        row.remove();
        rows.delete(key);
      }
      let shown = 0;
      /** @type {HTMLElement | null} */
      let older = null;
      for (const entry of entries) {
        const key = keyOf(entry);
        const row = rows.get(key) ?? createAttemptRow(entry.attempt, { ...entry, copy });
        if (!rows.has(key)) table.insertBefore(row, older);
        rows.set(key, row);
        row.hidden = !isWanted(entry);
        if (!row.hidden) shown += 1;
        older = row;
      }
      table.hidden = shown === 0;
      return shown;
    },
  };
}

/**
 * After a reset the numbers begin anew, and most of what they number is another attempt.
 *
 * @param {Entry} entry
 */
function keyOf({ number, attempt: { subscription, delivery, attempt, at, durationMs } }) {
  return [number, subscription, delivery, attempt, at, durationMs].join(" ");
}
