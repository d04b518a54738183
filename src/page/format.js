const TIME = new Intl.DateTimeFormat("en-GB", {
  timeZone: "UTC",
  day: "numeric",
  month: "short",
  hour: "2-digit",
  minute: "2-digit",
  second: "2-digit",
});

/**
 * A time of the emulator's clock: its requests and its logs have UTC, too.
 *
 * @param {string} iso
 */
export function toTime(iso) {
  return TIME.format(new Date(iso)).replace(",", "");
}

/**
 * `2026-01-02 03:04:05`
 *
 * @param {string} iso
 */
export function toFullTime(iso) {
  return iso.slice(0, 19).replace("T", " ");
}

/** @type {readonly (readonly [string, number])[]} */
const UNITS = [
  ["d", 86_400],
  ["h", 3_600],
  ["min", 60],
  ["s", 1],
];

/**
 * A time span in its two largest units: `1 h 5 min`.
 *
 * @param {number} ms
 */
export function toSpan(ms) {
  let left = Math.max(0, Math.ceil(ms / 1_000));
  const parts = [];
  for (const [unit, seconds] of UNITS) {
    if (left >= seconds) parts.push(`${Math.floor(left / seconds)} ${unit}`);
    left %= seconds;
  }
  return parts.slice(0, 2).join(" ") || "0 s";
}

/** @param {number} ms */
export function toDuration(ms) {
  return ms < 1_000 ? `${Math.round(ms)} ms` : `${(ms / 1_000).toFixed(1)} s`;
}

/**
 * `1 attempt`, `1,200 attempts`
 *
 * @param {number} count
 * @param {string} noun
 * @param {string} [nouns]
 */
export function toCount(count, noun, nouns = `${noun}s`) {
  return `${count.toLocaleString("en")} ${count === 1 ? noun : nouns}`;
}

/** A browser takes seconds to lay out a text of megabytes. */
const MAX_CHARACTERS = 65_536;

/**
 * A body for reading, and what of it is shown.
 *
 * @param {string} body
 * @returns {{ text: string, size: string }}
 */
export function toReadable(body) {
  const bytes = toCount(new TextEncoder().encode(body).length, "byte");
  if (body === "") return { text: "", size: "No body" };
  const [text, form] = indented(body);
  if (text.length <= MAX_CHARACTERS) return { text, size: `Body, ${bytes}${form}` };
  return {
    text: `${text.slice(0, MAX_CHARACTERS)}…`,
    size: `Body, ${bytes}${form}; the first ${MAX_CHARACTERS.toLocaleString("en")} characters`,
  };
}

/**
 * @param {string} body
 * @returns {[text: string, form: string]}
 */
function indented(body) {
  try {
    return [JSON.stringify(JSON.parse(body), undefined, 2), ", shown indented"];
  } catch {
    return [body, ""];
  }
}

/**
 * A command for a POSIX shell.
 *
 * @param {{ method?: string, url: string, headers: Record<string, string>, body?: string | undefined }} request
 */
export function toCurl({ method = "POST", url, headers, body }) {
  const lines = Object.entries(headers).map(([name, value]) => `  -H ${quoted(`${name}: ${value}`)}`);
  if (body !== undefined) lines.push(`  --data-binary ${quoted(body)}`);
  return [`curl -i -X ${method} ${quoted(url)}`, ...lines].join(" \\\n");
}

/** @param {string} text */
function quoted(text) {
  return `'${text.replaceAll("'", String.raw`'\''`)}'`;
}
