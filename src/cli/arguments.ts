import { parseArgs } from "node:util";
import { CommandError } from "./command-error.ts";
import { EXIT } from "./exit-codes.ts";

/** A flag with a value, such as `--port 3000` or `--port=3000`. */
export interface ValueFlag<T> {
  /** What the value must be, in words. */
  readonly expects: string;
  /** The value in the text; `undefined` when it is none. */
  readonly read: (text: string) => T | undefined;
  readonly default: T;
}

/** A flag that is there or not, such as `--help`. */
interface Switch {
  /** Its one letter, such as `h`. */
  readonly short: string;
}

export type Flags = Readonly<Record<string, ValueFlag<unknown> | Switch>>;

/** What the flags say: a value, or whether a switch is there. */
export type ValuesOf<F extends Flags> = { readonly [N in keyof F]: F[N] extends ValueFlag<infer T> ? T : boolean };

/**
 * Reads a command's arguments. The last one counts where a flag is given twice.
 *
 * @throws CommandError for what it does not take, with what it does
 */
export function parseArguments<const F extends Flags>(args: readonly string[], flags: F): ValuesOf<F> {
  // Not strict: its messages would tell neither what a value must be nor which flags there are.
  const { tokens } = parseArgs({ args: [...args], options: optionsOf(flags), strict: false, tokens: true });
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [name, "read" in flag ? flag.default : false]),
  );
  for (const token of tokens) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") throw mistake(`Got the argument "${token.value}", expected flags only.`, flags);
    const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined;
    if (flag === undefined) throw mistake(`There is no flag ${token.rawName}.`, flags);
    values[token.name] = "read" in flag ? valueOf(token, flag) : switched(token);
  }
  return values as ValuesOf<F>;
}

interface Token {
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function valueOf<T>({ rawName, value, inlineValue }: Token, { expects, read }: ValueFlag<T>): T {
  // Without strict the next flag would count as the value.
  if (value === undefined || (inlineValue !== true && value.startsWith("--"))) {
    throw new CommandError(EXIT.usage, `${rawName} needs a value: ${expects}.`);
  }
  const found = read(value);
  if (found === undefined) throw new CommandError(EXIT.usage, `${rawName} got "${value}", expected ${expects}.`);
  return found;
}

function switched({ rawName, value }: Token): true {
  if (value !== undefined) throw new CommandError(EXIT.usage, `${rawName} takes no value, got "${value}".`);
  return true;
}

function mistake(message: string, flags: Flags): CommandError {
  const names = Object.keys(flags).map((name) => `--${name}`);
  return new CommandError(EXIT.usage, `${message} Allowed: ${names.join(", ")}.`);
}

function optionsOf(flags: Flags): Record<string, { type: "string" } | { type: "boolean"; short: string }> {
  return Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      "read" in flag ? { type: "string" } : { type: "boolean", short: flag.short },
    ]),
  );
}
