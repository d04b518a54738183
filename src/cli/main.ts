#!/usr/bin/env node
import { silenceSqliteWarning } from "../../adapters/inbox/sqlite/thread/silence-warning.ts";

silenceSqliteWarning();
const { run } = await import("./run.ts");

const { argv, stdout, stderr, env } = process;
process.exitCode = await run(argv.slice(2), {
  // Asked for only by who reads it: Node opens it then.
  get stdin() {
    return process.stdin;
  },
  stdout,
  stderr,
  env,
  signals: process,
  exit: (code) => process.exit(code),
});
