import { parseArgs } from "node:util";
import { CommandError } from "./command-error.ts";
import { EXIT } from "./exit-codes.ts";

/** What a value is read from. */
interface Read<T> {
  /** What the value must be, in words. */
  readonly expects: string;
  /** The value in the text; `undefined` when it is none. */
  readonly read: (text: string) => T | undefined;
  /** Set for what stands there by its place, not by a flag: its name in the help, such as `FILE`. */
  readonly argument?: string;
}

/** A flag with a value, such as `--port 3000` or `--port=3000`. */
export interface ValueFlag<T> extends Read<T> {
  readonly default: T;
}

/** A flag with a value that must be given. */
export interface RequiredFlag<T> extends Read<T> {
  readonly required: true;
}

/** Any number of values that stand there by their place. */
export interface ManyArguments<T> extends Read<T> {
  readonly argument: string;
  readonly many: true;
}

/** A flag that is there or not, such as `--help`. */
interface Switch {
  /** Its one letter, such as `h`. */
  readonly short: string | undefined;
}

type Valued = ValueFlag<unknown> | RequiredFlag<unknown> | ManyArguments<unknown>;

export type Flags = Readonly<Record<string, Valued | Switch>>;

/** What the flags say: a value, or whether a switch is there. */
export type ValuesOf<F extends Flags> = {
  readonly [N in keyof F]: F[N] extends ValueFlag<infer T>
    ? T
    : F[N] extends RequiredFlag<infer T>
      ? T
      : F[N] extends ManyArguments<infer T>
        ? readonly T[]
        : boolean;
};

/**
 * Reads a command's arguments. The last one counts where a flag is given twice. Whether those are there that must be,
 * {@link assertGiven} tells.
 *
 * @throws CommandError for what it does not take, with what it does
 */
export function parseArguments<const F extends Flags>(args: readonly string[], flags: F): ValuesOf<F> {
  // Not strict: its messages would tell neither what a value must be nor which flags there are.
  const { tokens } = parseArgs({ args: [...args], options: optionsOf(flags), strict: false, tokens: true });
  const values: Record<string, unknown> = Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [name, "short" in flag ? false : defaultOf(flag)]),
  );
  const places = Object.entries(flags).filter(isPlaced);
  for (const token of tokens) {
    if (token.kind === "option-terminator") continue;
    if (token.kind === "positional") {
      const [name, flag] = places[0] ?? [];
      if (name === undefined || flag === undefined)
        throw mistake(`Got the argument "${token.value}", ${onlyThose(flags)}.`, flags);
      const value = valueOf({ rawName: flag.argument, value: token.value, inlineValue: true }, flag);
      values[name] = "many" in flag ? [...(values[name] as readonly unknown[]), value] : value;
      if (!("many" in flag)) places.shift();
      continue;
    }
    const flag = Object.hasOwn(flags, token.name) ? flags[token.name] : undefined;
    if (flag === undefined || "argument" in flag) throw mistake(`There is no flag ${token.rawName}.`, flags);
    values[token.name] = "short" in flag ? switched(token) : valueOf(token, flag);
  }
  return values as ValuesOf<F>;
}

/** @throws CommandError when something is missing that must be given */
export function assertGiven<F extends Flags>(values: ValuesOf<F>, flags: F): void {
  for (const [name, flag] of Object.entries(flags)) {
    if (!("required" in flag) || values[name] !== undefined) continue;
    throw new CommandError(EXIT.usage, `${flag.argument ?? `--${name}`} is missing, expected ${flag.expects}.`);
  }
}

interface Token {
  readonly rawName: string;
  readonly value: string | undefined;
  readonly inlineValue: boolean | undefined;
}

function defaultOf(flag: Valued): unknown {
  if ("many" in flag) return [];
  return "default" in flag ? flag.default : undefined;
}

function valueOf({ rawName, value, inlineValue }: Token, { expects, read }: Valued): unknown {
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
  const names = Object.entries(flags).flatMap(([name, flag]) => ("argument" in flag ? [] : `--${name}`));
  return new CommandError(EXIT.usage, `${message} Allowed: ${names.join(", ")}.`);
}

function onlyThose(flags: Flags): string {
  const names = Object.entries(flags)
    .filter(isPlaced)
    .map(([, { argument }]) => argument);
  return names.length === 0 ? "expected flags only" : `expected one ${names.join(" ")} and flags only`;
}

function isPlaced(entry: [string, Flags[string]]): entry is [string, Valued & { readonly argument: string }] {
  return "argument" in entry[1];
}

/** As Node's `parseArgs` takes them. */
export function optionsOf(flags: Flags): Record<string, { type: "string" } | { type: "boolean"; short?: string }> {
  return Object.fromEntries(
    Object.entries(flags).map(([name, flag]) => [
      name,
      "short" in flag
        ? { type: "boolean", ...(flag.short === undefined ? {} : { short: flag.short }) }
        : { type: "string" },
    ]),
  );
}
