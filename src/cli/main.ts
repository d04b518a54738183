#!/usr/bin/env node
import { run } from "./run.ts";

const { argv, stdout, stderr, env } = process;
process.exitCode = await run(argv.slice(2), {
  stdout,
  stderr,
  env,
  signals: process,
  exit: (code) => process.exit(code),
});
