import { styleText } from "node:util";
import type { Finding } from "./check-answers.ts";
import type { Terminal } from "../command.ts";
import { toPlain } from "../terminal/escape-terminal.ts";
import { createTable } from "../terminal/table.ts";
import { toFailure } from "../answers/request-failure.ts";

/** A finding in words, as a table and a script get it. */
export interface Line {
  readonly probe: string;
  readonly expected: readonly number[];
  readonly got: { readonly status: number } | { readonly error: string };
  readonly ok: boolean;
  readonly cause?: string;
  readonly fix?: string;
}

/** @param url where it was sent */
export function toLine({ probe, expected, got, ok, cause, fix }: Finding, url: string): Line {
  if ("error" in got) {
    const { code, words } = toFailure(got.error, url);
    return { probe, expected, got: { error: toPlain(code) }, ok, cause: toPlain(`No answer: ${words} (${code}).`) };
  }
  return { probe, expected, got, ok, ...(cause && { cause: toPlain(cause) }), ...(fix && { fix }) };
}

/** A table of what was asked, and below it each cause once, however many answers it explains. */
export function reportFindings(lines: readonly Line[], stdout: Terminal): void {
  const print = (line: string): void => void stdout.write(`${line}\n`);
  const [first] = lines;
  if (first !== undefined && "error" in first.got)
    return print(styleText("red", first.cause ?? "", { stream: stdout }));
  const table = createTable(["PROBE", "EXPECTED", "GOT", ""], stdout);
  for (const line of table.lines(lines.map(rowOf))) print(line);
  print("");
  const wrong = lines.filter(({ ok }) => !ok);
  if (wrong.length === 0) return print(styleText("green", allWell(lines.length), { stream: stdout }));
  const counted = `${wrong.length} of ${lines.length} ${wrong.length === 1 ? "is" : "are"} not as it should be.`;
  print(styleText("red", counted, { stream: stdout }));
  for (const alike of Map.groupBy(wrong, ({ got, cause, fix }) => [gotOf(got), cause, fix].join("\n")).values()) {
    const [{ got, cause, fix }] = alike as [Line];
    const what = `${gotOf(got)}: ${alike.map(({ probe }) => probe).join(", ")}`;
    print("");
    print(styleText("bold", what, { stream: stdout }));
    print(cause ?? "");
    if (fix !== undefined) print(`Fix: ${fix}`);
  }
}

function rowOf({ probe, expected, got, ok }: Line): readonly string[] {
  return [probe, expected.join(" or "), String(gotOf(got)), ok ? "" : "wrong"];
}

function gotOf(got: Line["got"]): number | string {
  return "error" in got ? got.error : got.status;
}

function allWell(count: number): string {
  return `All ${count} answers are as they should be.`;
}
