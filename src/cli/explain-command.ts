import { readFile } from "node:fs/promises";
import { buffer } from "node:stream/consumers";
import { explain } from "../signature.ts";
import type { ValueFlag } from "./arguments.ts";
import { CommandError } from "./command-error.ts";
import { defineCommand, type Io } from "./command.ts";
import { EXIT } from "./exit-codes.ts";
import { FORMS } from "./explain/captured.ts";
import { EXPLAIN_HELP } from "./explain/help.ts";
import { readCaptured } from "./explain/read-request.ts";
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
    const captured = readCaptured(await read(file, io));
    const explanation = explain(captured, secret);
    report(captured, explanation, io.stdout);
    return explanation.mistakes.length === 0 ? EXIT.done : EXIT.failed;
  },
});

async function read(file: string | undefined, { stdin, stderr }: Pick<Io, "stdin" | "stderr">): Promise<Buffer> {
  const fromStdin = file === undefined || file === "-";
  if (fromStdin && stdin.isTTY === true) stderr.write("Paste the request, then press Ctrl-D on a line of its own.\n");
  try {
    return await (fromStdin ? buffer(stdin) : readFile(file));
  } catch (error) {
    const what = fromStdin ? "stdin" : file;
    throw new CommandError(EXIT.usage, `${whyNot(error as NodeJS.ErrnoException, what)} ${FORMS}`, { cause: error });
  }
}

function whyNot({ code, message }: NodeJS.ErrnoException, what: string): string {
  if (code === "ENOENT") return `There is no file ${what}.`;
  if (code === "EISDIR") return `${what} is a folder.`;
  return code === "EACCES" ? `${what} may not be read by this user.` : `${what} cannot be read: ${message}.`;
}
