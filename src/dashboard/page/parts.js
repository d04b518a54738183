import { byId, keyedList, setText, textElement } from "../../page/dom.js";
import { toFullTime, toSpan } from "../../page/format.js";

/** @typedef {string | number | undefined} Value */
/**
 * @typedef {object} Column
 * @property {string} head
 * @property {(item: any) => Value} text
 * @property {"number" | "time" | "error" | "name"} [kind]
 * @property {(item: any) => string | undefined} [sub] a second line
 * @property {(item: any) => string} [href] in a view
 */

/** By the server's clock, which the times are of. */
let now = Date.now();

/** @param {string} iso */
export function setNow(iso) {
  now = Date.parse(iso);
}

/**
 * A table whose rows stay the same while what is in them changes. Without a row the text with the id `no-…` is there instead.
 *
 * @param {{ id: string, columns: readonly Column[], keyOf: (item: any) => unknown, first?: (item: any) => Element, actions?: Record<string, (item: any) => void> }} how
 */
export function createTable({ id, columns, keyOf, first, actions = {} }) {
  const head = document.createElement("tr");
  head.append(...columns.map(({ head: name, kind = "" }) => classed(textElement("th", name), kind)));
  if (first !== undefined) head.prepend(classed(document.createElement("td"), "changes"));
  if (Object.keys(actions).length > 0) head.append(classed(document.createElement("td"), "changes"));
  const [thead, tbody] = [document.createElement("thead"), document.createElement("tbody")];
  thead.append(head);
  byId(id).append(thead, tbody);
  const rows = keyedList({
    list: tbody,
    keyOf,
    create(item) {
      const row = document.createElement("tr");
      const cells = columns.map(createCell);
      if (first !== undefined) row.append(inCell(first(item)));
      row.append(...cells.map(({ root }) => root));
      const buttons = Object.entries(actions).map(([name, run]) => {
        const button = classed(textElement("button", name), name === "Drop" ? "small danger" : "small");
        button.addEventListener("click", () => run(item));
        return button;
      });
      if (buttons.length > 0) row.append(inCell(...buttons));
      return { root: row, show: (latest) => cells.forEach(({ show }) => show(latest)) };
    },
  });
  return (/** @type {readonly any[]} */ items) => {
    rows(items);
    byId(id).hidden = items.length === 0;
    byId(`no-${id}`).hidden = items.length > 0;
  };
}

/** @param {Column} column */
function createCell({ head, text, kind, sub, href }) {
  const root = classed(document.createElement("td"), kind ?? "");
  root.dataset["label"] = head;
  const value = document.createElement(kind === "time" ? "time" : href === undefined ? "span" : "a");
  const second = classed(document.createElement("span"), "sub");
  const cell = document.createElement("div");
  cell.append(value, ...(sub === undefined ? [] : [second]));
  root.append(cell);
  return {
    root,
    show(/** @type {any} */ item) {
      showValue(value, text(item));
      if (href !== undefined) value.setAttribute("href", href(item));
      setText(second, sub?.(item) ?? "");
      second.title = second.textContent ?? "";
    },
  };
}

/** @param {readonly Element[]} elements */
function inCell(...elements) {
  const [cell, row] = [
    classed(document.createElement("td"), "changes"),
    classed(document.createElement("div"), "actions"),
  ];
  row.append(...elements);
  cell.append(row);
  return cell;
}

/**
 * Names and values in a `dl`. A value that is a text in ISO 8601 is a time.
 *
 * @param {string} id
 * @param {Record<string, Value>} facts
 */
export function showFacts(id, facts) {
  const list = byId(id);
  for (const [name, value] of Object.entries(facts)) {
    /** @type {HTMLElement | null} */
    let dd = list.querySelector(`[data-fact="${name}"]`);
    if (dd === null) {
      const pair = classed(document.createElement("div"), "card");
      dd = document.createElement("dd");
      dd.dataset["fact"] = name;
      dd.append(document.createElement(/^\d{4}-\d\d-\d\dT/.test(String(value)) ? "time" : "span"));
      pair.append(textElement("dt", name), dd);
      list.append(pair);
    }
    showValue(/** @type {HTMLElement} */ (dd.firstElementChild), value ?? "–");
  }
}

/**
 * Of a `time` the value is in ISO 8601: it is shown as the time since then, or until then.
 *
 * @param {HTMLElement} element
 * @param {Value} value
 */
export function showValue(element, value) {
  const ms = element instanceof HTMLTimeElement ? Date.parse(String(value)) - now : Number.NaN;
  if (Number.isNaN(ms)) return setText(element, typeof value === "number" ? value.toLocaleString("en") : (value ?? ""));
  element.title = `${toFullTime(String(value))} UTC`;
  return setText(element, Math.abs(ms) < 1_000 ? "now" : ms > 0 ? `in ${toSpan(ms)}` : `${toSpan(-ms)} ago`);
}

/**
 * @template {Element} E
 * @param {E} element
 * @param {string} name
 */
function classed(element, name) {
  element.className = name;
  return element;
}

/**
 * A link into a view. A field that is undefined is left out.
 *
 * @param {string} view
 * @param {Record<string, string | undefined>} [query]
 */
export function toHref(view, query = {}) {
  const fields = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, value]]));
  return fields.length === 0 ? `./${view}` : `./${view}?${new URLSearchParams(fields)}`;
}

/**
 * A filter in words: `type email.created, account 2002`.
 *
 * @param {Record<string, string>} filter
 */
export function toWords(filter) {
  return Object.entries(filter)
    .map((field) => field.join(" "))
    .join(", ");
}

/**
 * Writes a text with `code` and **bold** words.
 *
 * @param {HTMLElement} element
 * @param {string} text
 */
export function fillProse(element, text) {
  // What did not change keeps its selection.
  if (element.dataset["text"] === text) return;
  element.dataset["text"] = text;
  const pieces = text.split(/(`[^`]+`|\*\*[^*]+\*\*)/).filter((piece) => piece !== "");
  element.replaceChildren(
    ...pieces.map((piece) => {
      if (piece.startsWith("`")) return textElement("code", piece.slice(1, -1));
      return piece.startsWith("**") ? textElement("strong", piece.slice(2, -2)) : piece;
    }),
  );
}

/** Columns of jobs that several tables have. @type {Record<"id" | "type" | "account" | "error" | "attempts", Column>} */
export const JOB_COLUMNS = {
  id: { head: "Job", text: ({ id }) => id, href: ({ id }) => toHref("job", { id }), sub: ({ lane }) => lane },
  type: { head: "Event", kind: "name", text: ({ type }) => type, sub: ({ consumer }) => consumer },
  account: { head: "Account", text: ({ accountId }) => idText(accountId) },
  error: { head: "Last error", kind: "error", text: ({ error }) => error?.name, sub: ({ error }) => error?.message },
  attempts: { head: "Attempts", kind: "number", text: ({ attempts }) => attempts },
};

/** A number that counts nothing. @param {number | undefined} id */
export function idText(id) {
  return id === undefined ? undefined : String(id);
}
