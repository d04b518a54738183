import { execFileSync } from "node:child_process";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

/** What is preloaded and writes a process's disk calls down, compiled for this machine. */
export interface Tracer {
  readonly library: string;
  remove(): void;
}

/** @throws Error that says what this machine lacks: without the tracer there is no power to cut */
export function compileTracer(): Tracer {
  if (process.platform !== "linux")
    throw new Error(`Power cuts are NOT TESTED here: they need Linux (LD_PRELOAD), and this is ${process.platform}.`);
  const folder = mkdtempSync(join(tmpdir(), "hookline-tracer-"));
  const library = join(folder, "trace.so");
  const source = join(import.meta.dirname, "trace.c");
  for (const compiler of ["cc", "gcc", "clang"]) {
    try {
      execFileSync(compiler, ["-shared", "-fPIC", "-O2", "-Wall", "-o", library, source, "-ldl", "-lpthread"], {
        stdio: "pipe",
      });
      return { library, remove: () => rmSync(folder, { recursive: true }) };
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "ENOENT") throw error;
    }
  }
  throw new Error(
    "Power cuts are NOT TESTED here: they need a C compiler, and there is no cc, gcc or clang. Debian: apt-get install gcc libc6-dev",
  );
}
