import { PassThrough, Readable } from "node:stream";
import { run } from "../../src/cli/run.ts";

/** Runs commands one after another, and prints as JSON how each ended: where the rights of files bind a process as a whole. */
const results: object[] = [];
for (const words of JSON.parse(process.argv[2] ?? "[]") as readonly (readonly string[])[]) {
  const [stdout, stderr] = [new PassThrough(), new PassThrough()];
  const io = { stdin: Readable.from([""]), stdout, stderr, env: {}, signals: process, exit: () => {} };
  const code = await run(words, io);
  results.push({ code, out: String(stdout.read() ?? ""), err: String(stderr.read() ?? "") });
}
process.stdout.write(JSON.stringify(results));
