#!/usr/bin/env node
import { hideSqliteWarning } from "../../adapters/inbox/sqlite/thread/hide-sqlite-warning.ts";

hideSqliteWarning();
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
