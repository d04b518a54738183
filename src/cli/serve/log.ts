import { styleText } from "node:util";
import { pino } from "pino";
import type { Logger } from "../../index.ts";
import type { Terminal } from "../command.ts";

/** The program's log: lines of JSON, or of text on a terminal. */
export function createLog(stream: Terminal): Logger {
  const write = (line: string): void => void stream.write(stream.isTTY === true ? toReadable(line, stream) : line);
  return pino({ name: "hookline", level: "info", base: {} }, { write });
}

/** A line as pino writes it. */
interface Line {
  readonly level: number;
  readonly time: number;
  readonly name: string;
  readonly msg?: string;
  readonly err?: { readonly message: string };
}

function toReadable(json: string, stream: Terminal): string {
  const { level, time, name: _, msg = "", err, ...facts } = JSON.parse(json) as Line;
  const [label, style] = labelOf(level);
  const factText = Object.entries({ ...facts, ...(err === undefined ? {} : { error: err.message }) })
    .map(([name, value]) => `  ${name}=${typeof value === "string" ? value : JSON.stringify(value)}`)
    .join("");
  const at = styleText("dim", new Date(time).toLocaleTimeString("en-GB"), { stream });
  return `${at} ${styleText(style, label, { stream })} ${msg}${styleText("dim", factText, { stream })}\n`;
}

function labelOf(level: number): readonly [label: string, style: "red" | "yellow" | "green"] {
  if (level >= 50) return ["error", "red"];
  return level >= 40 ? ["warn ", "yellow"] : ["info ", "green"];
}
