import { spawn } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";

export interface Guard {
  /** @param pid the server that runs now; without one, none does */
  watch(pid?: number): void;
  /** Ends the server and removes the folders. */
  release(): Promise<void>;
}

/**
 * Reads the process id of the server, line by line. The end of the input is the end of the process that wrote it: a pipe sees that
 * also when the process is killed. A server that was killed leaves a segment of System V memory, which its data folder names.
 */
const SCRIPT = `
  while read -r line; do pid=$line; done
  if [ "$pid" ]; then
    kill -QUIT "$pid"
    tries=0
    while kill -0 "$pid" && [ $tries -lt 100 ]; do sleep 0.1; tries=$((tries + 1)); done
    kill -KILL "$pid"
  fi
  for folder; do
    segment=$(sed -n 7p "$folder/data/postmaster.pid")
    [ "$segment" ] && ipcrm -m "\${segment##* }"
    rm -rf "$folder"
  done`;

/** Ends a server and removes its folders when this process ends, however it ends. */
export function guard(folders: readonly string[]): Guard {
  // A process group of its own: Ctrl+C in a terminal must not end the guard before it has done its work.
  const shell = spawn("sh", ["-c", SCRIPT, "sh", ...folders], { detached: true, stdio: ["pipe", "ignore", "ignore"] });
  shell.unref();
  (shell.stdin as Socket).unref();
  return {
    watch: (pid) => void shell.stdin.write(`${pid ?? ""}\n`),
    async release() {
      if (shell.exitCode !== null) return;
      const ended = once(shell, "exit");
      shell.ref();
      shell.stdin.end();
      await ended;
    },
  };
}
