/** Those that take two columns: pictures, and the scripts of East Asia. */
const WIDE =
  /^(?:\p{Emoji_Presentation}|[\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff00-\uff60\uffe0-\uffe6\u{20000}-\u{3fffd}])/u;
const graphemes = new Intl.Segmenter("en");

/** Columns that a text takes on a terminal. */
export function widthOf(text: string): number {
  if (/^[ -~]*$/.test(text)) return text.length;
  let width = 0;
  for (const { segment } of graphemes.segment(text)) width += segmentWidth(segment);
  return width;
}

/** The text with spaces up to a width. */
export function padded(text: string, width: number): string {
  return text + " ".repeat(Math.max(width - widthOf(text), 0));
}

/** As much of the text as fits. */
export function cut(text: string, width: number): string {
  if (widthOf(text) <= width) return text;
  let shown = "";
  let left = width - 1;
  for (const { segment } of graphemes.segment(text)) {
    left -= segmentWidth(segment);
    if (left < 0) break;
    shown += segment;
  }
  return `${shown}…`;
}

function segmentWidth(segment: string): number {
  if (/^\p{M}/u.test(segment)) return 0;
  return WIDE.test(segment) || segment.includes("\u{fe0f}") ? 2 : 1;
}
