/**
 * Splits a command line into words as a POSIX shell does, with `$'...'` too: quotes, escapes and continued lines are
 * taken away; variables stay as they stand. What comes after the first command is left out.
 *
 * @param line each character is a byte, and so it is in the words
 * @returns `undefined` where a quote is not closed
 */
export function shellWords(line: string): readonly string[] | undefined {
  const words: string[] = [];
  let word: string | undefined;
  for (let at = 0; at < line.length;) {
    const rest = line.slice(at);
    const gap = /^(?:[ \t]|\\\r?\n)+/.exec(rest);
    if (gap !== null) {
      // A continued line does not end a word, but white space does.
      if (word !== undefined && /[ \t]/.test(gap[0])) word = void words.push(word);
      at += gap[0].length;
      continue;
    }
    if (/^(?:[\r\n;|<>()]|&(?:&|\s|$))/.test(rest)) break;
    const piece = pieceOf(rest);
    if (piece === undefined) return undefined;
    word = (word ?? "") + piece.text;
    at += piece.length;
  }
  return word === undefined ? words : [...words, word];
}

interface Piece {
  readonly text: string;
  /** In the line. */
  readonly length: number;
}

const SINGLE = /^'([^']*)'/;
const DOUBLE = /^\$?"([^"\\]*(?:\\[^][^"\\]*)*)"/;
const ANSI_C = /^\$'([^'\\]*(?:\\[^][^'\\]*)*)'/;
const ESCAPED = /^\\([^])/;
const PLAIN = /^[^\s'"\\;|<>()&$]+|^&|^\$(?!')/;

function pieceOf(rest: string): Piece | undefined {
  const ansi = ANSI_C.exec(rest);
  if (ansi !== null) return { text: unescapeAnsiC(ansi[1] ?? ""), length: ansi[0].length };
  const double = DOUBLE.exec(rest);
  if (double !== null) {
    const text = (double[1] ?? "").replaceAll(/\\(\r?\n|["\\$`])/g, (_, one: string) => (/\n/.test(one) ? "" : one));
    return { text, length: double[0].length };
  }
  const plain = SINGLE.exec(rest) ?? ESCAPED.exec(rest);
  if (plain !== null) return { text: plain[1] ?? "", length: plain[0].length };
  const bare = PLAIN.exec(rest)?.[0];
  return bare === undefined ? undefined : { text: bare, length: bare.length };
}

const ANSI_ESCAPE = /\\(?:x([\da-fA-F]{1,2})|u([\da-fA-F]{1,4})|U([\da-fA-F]{1,8})|([0-7]{1,3})|([^]))/g;

const CONTROLS: Readonly<Record<string, string>> = {
  a: "\u0007",
  b: "\b",
  e: "\u001B",
  E: "\u001B",
  f: "\f",
  n: "\n",
  r: "\r",
  t: "\t",
  v: "\v",
  "\\": "\\",
  "'": "'",
  '"': '"',
  "?": "?",
};

function unescapeAnsiC(text: string): string {
  return text.replaceAll(ANSI_ESCAPE, (...groups: (string | undefined)[]) => {
    const [whole = "", hex, short, long, octal, other = ""] = groups;
    if (hex !== undefined) return String.fromCharCode(Number.parseInt(hex, 16));
    if (octal !== undefined) return String.fromCharCode(Number.parseInt(octal, 8) & 0xff);
    const point = short ?? long;
    // As bytes, like all else here.
    if (point !== undefined) return Buffer.from(codePoint(point), "utf8").toString("latin1");
    return CONTROLS[other] ?? whole;
  });
}

function codePoint(hex: string): string {
  const point = Number.parseInt(hex, 16);
  return point <= 0x10ffff ? String.fromCodePoint(point) : "\u{FFFD}";
}
