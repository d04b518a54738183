import { parseArgs } from "node:util";
import { CommandError, EXIT } from "./command.ts";

/** A flag, such as `--port 3000`, `--port=3000` or `--json`, or a positional argument. */
export interface Flag {
  /** Set for a positional argument: its name in messages, such as `FILE`. */
  readonly argument?: string;
  /** One letter, such as `h`. */
  readonly short?: string;
  /** The value's name in the help, such as `<port>`. */
  readonly value?: string;
  /** Description in the help; "Required." and the default are added to it. */
  readonly about?: string;
  /** What the value must be, for messages. */
  readonly expects?: string;
  /** Parses the value; `undefined` when the text is invalid. A flag without it is a switch. */
  readonly read?: (text: string) => unknown;
  readonly default?: string | number;
  readonly required?: true;
  /** May be given several times; a positional argument takes all that remain. */
  readonly many?: true;
}

export type Flags = Readonly<Record<string, Flag>>;

/** The parsed value of each flag: a switch is a boolean, an optional flag may be `undefined`. */
export type ValuesOf<F extends Flags> = { readonly [N in keyof F]: ValueOf<F[N]> };

type ValueOf<F> = F extends { readonly read: (text: string) => infer T }
  ? F extends { readonly many: true }
    ? readonly NonNullable<T>[]
    : F extends { readonly required: true } | { readonly default: unknown }
      ? NonNullable<T>
      : T
  : boolean;

/** Every command has it. */
export const HELP_FLAG = { help: { short: "h", about: "Print this help." } } as const;

/**
 * Parses a command's arguments. The last one counts where a flag is given twice. With `--help` nothing is required.
 *
 * @throws CommandError for an unknown, invalid or missing argument; the message says what is allowed
 */
export function parseArguments<const F extends Flags>(args: readonly string[], flags: F): ValuesOf<F> {
  const all = Object.entries(flags);
  const values: Record<string, unknown> = Object.fromEntries(
    all.map(([name, flag]) => [name, flag.read === undefined ? false : flag.many ? [] : flag.default]),
  );
  const positionals = all.filter(([, { argument }]) => argument !== undefined);
  for (const token of tokensOf(args, flags)) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") {
      const [name = "", flag] = positionals[0] ?? [];
      if (flag === undefined) {
        const names = all.flatMap(([, { argument }]) => argument ?? []).join(" ");
        const expected = names === "" ? "flags only" : `one ${names} and flags only`;
        throw notAllowed(`Got the argument "${token.value}", expected ${expected}.`, flags);
      }
      const value = valueOf({ rawName: flag.argument ?? "", value: token.value, inlineValue: true }, flag);
      values[name] = flag.many ? [...(values[name] as readonly unknown[]), value] : value;
      if (!flag.many) positionals.shift();
      continue;
    }
    const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined;
    if (flag === undefined || flag.argument !== undefined)
      throw notAllowed(`There is no flag ${token.rawName}.`, flags);
    const value = valueOf(token, flag);
    values[token.name] = flag.many ? [...(values[token.name] as readonly unknown[]), value] : value;
  }
  if (values["help"] !== true)
    for (const [name, { required, argument = `--${name}`, expects }] of all)
      if (required && values[name] === undefined)
        throw new CommandError(EXIT.usage, `${argument} is missing, expected ${expects}.`);
  return values as ValuesOf<F>;
}

/** Not strict: Node's messages would say neither what a value must be nor which flags there are. */
export function tokensOf(args: readonly string[], flags: Flags) {
  const options = Object.entries(flags).map(([name, { read, short }]) => [
    name,
    { type: read === undefined ? "boolean" : "string", ...(short !== undefined && { short }) } as const,
  ]);
  return parseArgs({ args: [...args], options: Object.fromEntries(options), strict: false, tokens: true }).tokens;
}

interface Token {
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function valueOf({ rawName, value, inlineValue }: Token, { expects, read }: Flag): unknown {
  if (read === undefined) {
    if (value !== undefined) throw new CommandError(EXIT.usage, `${rawName} takes no value, got "${value}".`);
    return true;
  }
  // Without strict the next flag would count as the value.
  if (value === undefined || (inlineValue !== true && value.startsWith("--")))
    throw new CommandError(EXIT.usage, `${rawName} needs a value: ${expects}.`);
  const found = read(value);
  if (found === undefined) throw new CommandError(EXIT.usage, `${rawName} got "${value}", expected ${expects}.`);
  return found;
}

function notAllowed(message: string, flags: Flags): CommandError {
  const names = Object.entries(flags).flatMap(([name, { argument }]) => (argument === undefined ? `--${name}` : []));
  return new CommandError(EXIT.usage, `${message} Allowed: ${names.join(", ")}.`);
}
