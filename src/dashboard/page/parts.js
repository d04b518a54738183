import { keyedList, make, setText } from "../../page/dom.js";
import { toFullTime, toSpan } from "../../page/format.js";

/**
 * @typedef {string | number | undefined} Value a text in ISO 8601 is a time
 *
 * @typedef {object} Column
 * @property {string} head
 * @property {(item: any) => Value} [text]
 * @property {"" | "number" | "failed" | "name" | "changes"} [kind]
 * @property {(item: any) => string | undefined} [sub] a second line
 * @property {(item: any) => string} [href] in a view
 * @property {(item: any) => readonly Element[]} [controls] in place of a text
 *
 * @typedef {object} Table
 * @property {string} id
 * @property {readonly Column[]} columns
 * @property {(item: any) => unknown} keyOf
 * @property {string} empty what would be here, and when
 * @property {string} [title]
 * @property {string} [about]
 */

/** By the server's clock, which the times are of. */
let now = Date.now();

/** @param {string} iso */
export function setNow(iso) {
  now = Date.parse(iso);
}

/**
 * A table with what is said of it, whose rows stay the same while what is in them changes.
 *
 * @param {Table} how
 */
export function createTable({ id, columns, keyOf, empty, title, about }) {
  const heads = columns.map(({ head, kind = "" }) => make(head === "" ? "td" : "th", { className: kind }, head));
  const tbody = make("tbody");
  const table = make("table", { id }, make("thead", {}, make("tr", {}, ...heads)), tbody);
  const without = make("p", { id: `no-${id}`, className: "empty", hidden: true }, empty);
  const showRows = keyedList({
    list: tbody,
    keyOf,
    create(item) {
      const cells = columns.map((column) => createCell(column, item));
      return {
        root: make("tr", {}, ...cells.map(({ root }) => root)),
        show: (latest) => cells.forEach(({ show }) => show(latest)),
      };
    },
  });
  return {
    parts: [
      ...(title === undefined ? [] : [make("h3", {}, title)]),
      ...(about === undefined ? [] : [make("p", { className: "hint" }, about)]),
      without,
      table,
    ],
    /** @param {readonly any[]} items */
    show(items) {
      showRows(items);
      table.hidden = items.length === 0;
      without.hidden = items.length > 0;
    },
  };
}

/**
 * @param {Column} column
 * @param {any} item
 */
function createCell({ head, text = () => undefined, kind = "", sub, href, controls }, item) {
  const value = make(href === undefined ? timeOrSpan(text(item)) : "a");
  const second = make("span", { className: "sub" });
  const inside = controls === undefined ? [value, ...(sub === undefined ? [] : [second])] : controls(item);
  const root = make("td", { className: kind }, make("div", { className: controls ? "actions" : "" }, ...inside));
  root.dataset["label"] = head;
  return {
    root,
    show(/** @type {any} */ latest) {
      showValue(value, text(latest));
      if (href !== undefined) value.setAttribute("href", href(latest));
      setText(second, sub?.(latest) ?? "");
      second.title = second.textContent ?? "";
    },
  };
}

/**
 * Buttons of a row for changes.
 *
 * @param {Record<string, (item: any) => void>} actions by their names
 * @returns {Column}
 */
export function actionsColumn(actions) {
  const controls = (/** @type {any} */ item) =>
    Object.entries(actions).map(([name, run]) =>
      make("button", { className: name === "Drop" ? "small danger" : "small", onclick: () => run(item) }, name),
    );
  return { head: "", kind: "changes", controls };
}

/**
 * Names and values.
 *
 * @param {string} id
 * @param {string} [className]
 */
export function createFacts(id, className = "facts") {
  const list = make("dl", { id, className });
  const show = keyedList({
    list,
    keyOf: (/** @type {[string, Value]} */ [name, value]) => `${name} ${timeOrSpan(value)}`,
    create([name, value]) {
      const shown = make(timeOrSpan(value));
      return {
        root: make("div", { className: "card" }, make("dt", {}, name), make("dd", {}, shown)),
        show: ([, latest]) => showValue(shown, latest ?? "–"),
      };
    },
  });
  return { list, show: (/** @type {Record<string, Value>} */ facts) => show(Object.entries(facts)) };
}

/** @param {Value} value */
function timeOrSpan(value) {
  return /^\d{4}-\d\d-\d\dT/.test(String(value)) ? "time" : "span";
}

/**
 * A time is shown as the time since then, or until then.
 *
 * @param {HTMLElement} element
 * @param {Value} value
 */
export function showValue(element, value) {
  if (!(element instanceof HTMLTimeElement))
    return setText(element, typeof value === "number" ? value.toLocaleString("en") : (value ?? ""));
  const ms = Date.parse(String(value)) - now;
  Object.assign(element, { dateTime: value, title: `${toFullTime(String(value))} UTC` });
  return setText(element, Math.abs(ms) < 1_000 ? "now" : ms > 0 ? `in ${toSpan(ms)}` : `${toSpan(-ms)} ago`);
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
      if (piece.startsWith("`")) return make("code", {}, piece.slice(1, -1));
      return piece.startsWith("**") ? make("strong", {}, piece.slice(2, -2)) : piece;
    }),
  );
}

/** Columns that several tables have. @satisfies {Record<string, Column>} */
export const COLUMNS = {
  id: { head: "Job", text: ({ id }) => id, href: ({ id }) => toHref("job", { id }), sub: ({ lane }) => lane },
  type: { head: "Event", kind: "name", text: ({ type }) => type, sub: ({ consumer }) => consumer },
  account: { head: "Account", text: ({ accountId }) => idText(accountId) },
  subscription: { head: "Subscription", text: ({ subscription }) => idText(subscription) },
  error: { head: "Last error", kind: "failed", text: ({ error }) => error?.name, sub: ({ error }) => error?.message },
  attempts: { head: "Attempts", kind: "number", text: ({ attempts }) => attempts },
  since: { head: "Since", text: ({ since }) => since },
};

/** A number that counts nothing. @param {number | undefined} id */
export function idText(id) {
  return id === undefined ? undefined : String(id);
}
