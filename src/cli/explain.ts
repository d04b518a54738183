import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { explain } from "../signature.ts";
import type { ValueFlag } from "./arguments.ts";
import { CommandError } from "./command-error.ts";
import { defineCommand, type Io } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { FORMS } from "./explain/captured.ts";
import { EXPLAIN_HELP } from "./explain/help.ts";
import { readCaptured } from "./explain/read-captured.ts";
import { report } from "./explain/report.ts";
import { secretOf } from "./secret.ts";

const fileArgument: ValueFlag<string | undefined> & { readonly argument: string } = {
  argument: "FILE",
  expects: 'the path of a file, or "-" for stdin',
  read: (text) => (text === "" ? undefined : text),
  default: undefined,
};

/** `hookline explain`: why a signature does not hold. */
export const explainCommand = defineCommand({
  name: "explain",
  summary: "Tell which known mistake makes the signature of a request fail.",
  help: EXPLAIN_HELP,
  flags: { file: fileArgument },
  async run({ file }, io) {
    const secret = secretOf(io.env);
    const captured = await readCaptured(file === undefined || file === "-" ? await readStdin(io) : await read(file));
    const explanation = explain(captured, secret);
    report(captured, explanation, io.stdout);
    return explanation.mistakes.length === 0 ? EXIT.done : EXIT.failed;
  },
});

async function readStdin({ stdin, stderr }: Pick<Io, "stdin" | "stderr">): Promise<Buffer> {
  if (stdin.isTTY === true) stderr.write("Paste the request, then press Ctrl-D on a line of its own.\n");
  return buffer(stdin);
}

async function read(file: string): Promise<Buffer> {
  try {
    return await readFile(file);
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const why = code === "ENOENT" ? `There is no file ${file}.` : `${file} cannot be read: ${message}.`;
    throw new CommandError(EXIT.usage, `${why} ${FORMS}`, { cause: error });
  }
}
