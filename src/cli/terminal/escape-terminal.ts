/** What a terminal would obey instead of showing it, what turns text round, and what nobody sees. */
const HIDDEN = /[\p{Cc}\p{Cf}\p{Co}\p{Cs}\u2028\u2029]/gu;

/** Text from elsewhere as a terminal may show it: on one line, and nothing in it is a command. */
export function toPlain(text: string): string {
  return text.replaceAll(HIDDEN, (char) =>
    char === "\n" || char === "\t" ? " " : `\\u{${(char.codePointAt(0) ?? 0).toString(16)}}`,
  );
}

/** A thing as a line of JSON that a terminal may show, too. */
export function toJsonLine(thing: object): string {
  return JSON.stringify(thing).replaceAll(HIDDEN, escapeUnits);
}

/** The same over several lines, for people. */
export function toJsonBlock(thing: unknown): string {
  return JSON.stringify(thing, undefined, 2)
    .split("\n")
    .map((line) => line.replaceAll(HIDDEN, escapeUnits))
    .join("\n");
}

/** As JSON escapes: each half of a pair by itself. */
function escapeUnits(text: string): string {
  return Array.from({ length: text.length }, (_, at) => `\\u${text.charCodeAt(at).toString(16).padStart(4, "0")}`).join(
    "",
  );
}
