import { existsSync, mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What one run has at the service. Neither a token nor a secret. */
export interface RunState {
  readonly run: string;
  /** Where it listens on 127.0.0.1. */
  readonly port: number;
  /** The base URL of the service's API; empty for the service's own. */
  readonly api: string;
  readonly account: number;
  readonly made: readonly { readonly id: number; readonly notificationUrl: string }[];
  /** Where some are being created: a run that was killed meanwhile knows no ids of them. There were none before. */
  readonly making?: string | undefined;
}

/** `.hookline/dev.json`: by it the next run finds what a killed one left. */
export function openStateFile(cwd = ".") {
  const folder = join(cwd, ".hookline");
  const file = join(folder, "dev.json");

  function read(): readonly RunState[] {
    if (!existsSync(file)) return [];
    return (JSON.parse(readFileSync(file, "utf8")) as { readonly runs: readonly RunState[] }).runs;
  }

  /** Without a pause in between, so that two runs do not overwrite each other. */
  function write(runs: readonly RunState[]): void {
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, ".gitignore"), "*\n");
    writeFileSync(`${file}.new`, `${JSON.stringify({ runs }, undefined, 2)}\n`);
    renameSync(`${file}.new`, file);
  }

  return {
    read,
    put: (state: RunState): void => write([...read().filter(({ run }) => run !== state.run), state]),
    remove(run: string): void {
      const runs = read();
      const others = runs.filter((one) => one.run !== run);
      if (others.length < runs.length) write(others);
    },
  };
}
