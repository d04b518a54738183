import { styleText } from "node:util";
import type { Count } from "./counts.ts";
import type { Entry } from "./journal.ts";

type Style = Parameters<typeof styleText>[0];

/** Prints the tour in columns. */
export interface Printer {
  title(text: string): void;
  /** Begins a part: its heading, and its rule in a line or two. */
  part(heading: string, ...rule: readonly string[]): void;
  /** One request: the delivery, the answer (undefined if it was not sent), and the outcome. */
  row(sent: readonly [resource: string, detail: string], status: number | undefined, came: Entry): void;
  /** A further outcome of an earlier request. */
  later(came: Entry): void;
  line(text: string, style?: Style): void;
  /** The table of counters. @returns one text for each difference */
  summary(counts: readonly Count[]): readonly string[];
}

const WIDTHS = { resource: 26, detail: 13, status: 8, what: 22 } as const;
const SENT = WIDTHS.resource + WIDTHS.detail;

/** Colours only on a terminal: `styleText` checks the stream and NO_COLOR. */
export function createPrinter(stream: NodeJS.WriteStream): Printer {
  const paint = (style: Style, text: string): string => styleText(style, text, { stream });
  const print = (text: string): void => void stream.write(`${text.trimEnd()}\n`);
  let parts = 0;

  function cells([resource, detail]: readonly [string, string], status: string, { what, text }: Entry): void {
    const sent = `${resource.padEnd(WIDTHS.resource)}${detail}`.padEnd(SENT);
    print(`  ${sent}${paint(styleOf(status), status.padEnd(WIDTHS.status))}${what.padEnd(WIDTHS.what)}${text}`);
  }

  return {
    title: (text) => print(paint("bold", text)),
    part(heading, ...rule) {
      parts += 1;
      print(`\n${paint("bold", `${parts}. ${heading}`)}`);
      for (const line of rule) print(line);
      print("");
      print(`  ${paint("dim", `${"SENT".padEnd(SENT)}${"ANSWER".padEnd(WIDTHS.status)}OUTCOME`)}`);
    },
    row: (sent, status, came) => cells(sent, String(status ?? "-"), came),
    later: (came) => cells(["", ""], "", came),
    line: (text, style) => print(style === undefined ? text : paint(style, text)),
    summary(counts) {
      print(`\n${paint("bold", "Summary")}\n`);
      print(`  ${paint("dim", `${" ".repeat(WIDTHS.resource)}${"EXPECTED".padStart(8)}${"GOT".padStart(7)}`)}`);
      for (const { what, expected, got } of counts) {
        const numbers = `${String(expected).padStart(8)}${String(got).padStart(7)}`;
        print(`  ${what.padEnd(WIDTHS.resource)}${expected === got ? numbers : paint("red", numbers)}`);
      }
      const wrong = counts.filter(({ expected, got }) => expected !== got);
      return wrong.map(({ what, expected, got }) => `${what}: expected ${expected}, got ${got}`);
    },
  };
}

function styleOf(status: string): Style {
  if (status.startsWith("2")) return "green";
  if (status.startsWith("4")) return "yellow";
  return status.startsWith("5") ? "red" : "dim";
}
