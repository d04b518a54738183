import { setText, textElement } from "../../page/dom.js";
import { toFullTime, toSpan } from "../../page/format.js";

/** By the server's clock, which the times are of. */
let now = Date.now();

/** @param {string} iso */
export function setNow(iso) {
  now = Date.parse(iso);
}

/**
 * Fills the parts of a row or a card. Of a `time` the value is in ISO 8601: it is shown as the time since then, or until then.
 *
 * @param {(name: string) => any} part
 * @param {Record<string, string | number | undefined>} values
 */
export function fill(part, values) {
  for (const [name, value] of Object.entries(values)) {
    const element = part(name);
    if (element.localName === "time") showTime(element, value === undefined ? undefined : String(value));
    else setText(element, typeof value === "number" ? value.toLocaleString("en") : (value ?? ""));
  }
}

/**
 * @param {HTMLTimeElement} element
 * @param {string | undefined} iso
 */
function showTime(element, iso) {
  if (iso === undefined) return setText(element, element.dataset["none"] ?? "");
  element.dateTime = iso;
  element.title = `${toFullTime(iso)} UTC`;
  const ms = Date.parse(iso) - now;
  return setText(element, Math.abs(ms) < 1_000 ? "now" : ms > 0 ? `in ${toSpan(ms)}` : `${toSpan(-ms)} ago`);
}

/**
 * A link into a view. A field that is undefined is left out.
 *
 * @param {string} view
 * @param {Record<string, string | number | undefined>} [query]
 */
export function toHref(view, query = {}) {
  const fields = Object.entries(query).flatMap(([name, value]) => (value === undefined ? [] : [[name, String(value)]]));
  return fields.length === 0 ? `./${view}` : `./${view}?${new URLSearchParams(fields)}`;
}

/**
 * The error of a job: its name, and its message where content may be seen.
 *
 * @param {(name: string) => any} part
 * @param {{ name: string, message?: string } | undefined} error
 */
export function fillError(part, error) {
  fill(part, { error: error?.name, message: error?.message });
  part("message").title = error?.message ?? "";
}

/**
 * A filter in words: `type email.created, account 2002`.
 *
 * @param {Record<string, string>} filter
 */
export function toWords(filter) {
  return Object.entries(filter)
    .map(([name, value]) => `${name} ${value}`)
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
