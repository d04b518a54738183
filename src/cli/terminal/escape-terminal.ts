/** Control characters, characters that reverse the text, and invisible ones. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

/** Untrusted text, safe to print: on one line, and without a command to the terminal. */
export function toPlain(text: string): string {
  return text.replaceAll(HIDDEN, (char) =>
    char === "\n" || char === "\t" ? " " : `\\u{${Number(char.codePointAt(0)).toString(16)}}`,
  );
}

/** A line of JSON, safe to print. */
export function toJsonLine(thing: object): string {
  return JSON.stringify(thing).replaceAll(HIDDEN, escapeUnits);
}

/** Indented JSON, safe to print. */
export function toJsonBlock(thing: unknown): string {
  return JSON.stringify(thing, undefined, 2)
    .split("\n")
    .map((line) => line.replaceAll(HIDDEN, escapeUnits))
    .join("\n");
}

/** As JSON escapes: each half of a surrogate pair by itself. */
function escapeUnits(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
    "",
  );
}
