import { HELP_FLAG, type Flag } from "./arguments.ts";
import { EXIT, type Command } from "./command.ts";

const COLUMNS = 80;
const NO_COLOR = ["NO_COLOR", "Set it to have no colours on a terminal."] as const;
/** A flag that is longer has a line of its own. */
const LONGEST_FLAG = 20;

/** The page of `hookline --help`. */
export function mainHelp(commands: readonly Command[]): string {
  return `Receive mailbox and calendar webhooks without losing one.

Usage: hookline <command> [flags]

${section("Commands", [...commandRows(commands), ["help", "Print the help of a command: hookline help serve."]])}

${section("Flags", [
  ["-h, --help", "Print this help."],
  ["-v, --version", "Print the version."],
])}

${section("Exit codes", exitRows({ [EXIT.failed]: "Failed, or a problem was found: the command's own help says which." }))}
`;
}

/** The page of `hookline <command> --help`. */
export function commandHelp({ help, flags }: Command): string {
  const { usage, about, notes, secretOf, environment = [], exits = {} } = help;
  const [summary = "", ...paragraphs] = about.split("\n\n");
  const flagRows = Object.entries({ ...flags, ...HELP_FLAG }).flatMap(([name, flag]: [string, Flag]) =>
    flag.about === undefined ? [] : [[nameOf(name, flag), aboutOf(flag)] as const],
  );
  const variables: readonly Row[] = [
    ...(secretOf === undefined ? [] : [["SIGNING_SECRET", `The signing secret of ${secretOf}. Required.`] as const]),
    ...environment,
  ];
  return `${[
    reflow(summary),
    `Usage: ${usage.split("\n").join("\n       ")}`,
    ...paragraphs.map(reflow),
    section("Flags", flagRows),
    ...(variables.length === 0 ? [] : [section("Environment", [...variables, NO_COLOR])]),
    ...(notes?.split("\n\n").map(reflow) ?? []),
    section("Exit codes", exitRows(exits)),
  ].join("\n\n")}\n`;
}

/** @param prefix left out of the names */
export function commandRows(commands: readonly Command[], prefix = ""): readonly Row[] {
  return commands.map(({ name, summary }) => [name.replace(prefix, ""), summary]);
}

type Row = readonly [name: string, text: string];

/** A title, and rows of two columns. */
export function section(title: string, rows: readonly Row[]): string {
  const short = rows.map(([name]) => name.length).filter((length) => length <= LONGEST_FLAG);
  const indent = " ".repeat(Math.max(...short) + 4);
  const lines = rows.flatMap(([name, text]) => {
    const wrapped = wrap(text, COLUMNS - indent.length).map((line) => indent + line);
    const first = `  ${name}`;
    if (name.length > LONGEST_FLAG) return [first, ...wrapped];
    return [first.padEnd(indent.length) + (wrapped[0] ?? "").slice(indent.length), ...wrapped.slice(1)];
  });
  return [`${title}:`, ...lines].join("\n");
}

function nameOf(name: string, { short, value }: Flag): string {
  return `${short === undefined ? "" : `-${short}, `}--${name}${value === undefined ? "" : ` ${value}`}`;
}

function aboutOf({ about = "", required, default: byDefault }: Flag): string {
  if (required) return `${about} Required.`;
  return byDefault === undefined ? about : `${about} Default: ${byDefault}.`;
}

function exitRows(exits: Command["help"]["exits"]): readonly Row[] {
  const texts = {
    [EXIT.done]: "Done.",
    [EXIT.failed]: "Failed: stderr says why.",
    [EXIT.usage]: "Wrong usage: stderr says what was got and what was expected.",
    ...exits,
  };
  return Object.entries(texts);
}

/** Lines that are indented stay as they are. */
function reflow(paragraph: string): string {
  return /^ /m.test(paragraph) ? paragraph : wrap(paragraph, COLUMNS).join("\n");
}

function wrap(text: string, width: number): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(/\s+/)) {
    const line = lines.at(-1);
    if (line === undefined || line.length + 1 + word.length > width) lines.push(word);
    else lines[lines.length - 1] = `${line} ${word}`;
  }
  return lines;
}
