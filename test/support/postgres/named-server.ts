import { existsSync } from "node:fs";
import { isAbsolute, join } from "node:path";

/** A server that runs already, or the binaries of one to start. */
export interface NamedServer {
  readonly connectionString?: string;
  readonly binaries?: string;
}

/** What the environment variable HOOKLINE_TEST_POSTGRES names instead of the PostgreSQL that npm brought. */
export function namedServer(value = process.env["HOOKLINE_TEST_POSTGRES"]): NamedServer {
  if (value === undefined || value === "") return {};
  if (isAbsolute(value) && ["postgres", "initdb"].every((name) => existsSync(join(value, name))))
    return { binaries: value };
  if (/^postgres(ql)?:$/.test(URL.parse(value)?.protocol ?? "")) return { connectionString: value };
  throw badServer(value, "expected a connection string, or a folder with `postgres` and `initdb`");
}

/** @param why what is wrong with the value, and what was expected */
export function badServer(value: string, why: string, cause?: unknown): Error {
  // Both the part of a password and the part of a server's name may contain `@`.
  const shown = value.replace(/(?<=\/\/[^:/]*:).*(?=@)/, "***");
  const fix =
    "Set it to postgres://SUPERUSER:PASSWORD@HOST:PORT/DATABASE or to /usr/lib/postgresql/15/bin, or unset it.";
  return new Error(`HOOKLINE_TEST_POSTGRES is ${JSON.stringify(shown)}: ${why}. ${fix}`, { cause });
}
