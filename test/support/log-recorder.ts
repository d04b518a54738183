import type { Logger } from "hookline";
import { inspect } from "node:util";

interface LogLine {
  readonly level: keyof Logger;
  readonly facts: Readonly<Record<string, unknown>>;
  readonly message: string | undefined;
}

export interface LogRecorder {
  readonly logger: Logger;
  readonly lines: readonly LogLine[];
  /** The lines with this code. */
  of(code: string): readonly LogLine[];
  /** All lines as one text, with causes, stacks and fields of errors. */
  text(): string;
}

/** A logger that records every line. */
export function logRecorder(): LogRecorder {
  const lines: LogLine[] = [];
  const at =
    (level: keyof Logger): Logger["info"] =>
    (facts, message) =>
      void lines.push({ level, facts: facts as LogLine["facts"], message });
  return {
    logger: { debug: at("debug"), info: at("info"), warn: at("warn"), error: at("error") },
    lines,
    of: (code) => lines.filter(({ facts }) => facts["code"] === code),
    text: () =>
      lines
        .map((line) =>
          inspect(line, { depth: null, maxArrayLength: null, maxStringLength: null, breakLength: Infinity }),
        )
        .join("\n"),
  };
}
