import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Entry, Journal } from "./journal.ts";

/** A process of the app that can be killed, on a file that stays. */
export interface KillableApp {
  readonly url: string;
  /** As `kill -9` does: nothing of it runs any more, not even a `finally`. */
  kill(): Promise<void>;
  /** The next process, on the same file and port. */
  restart(): Promise<void>;
}

/** Starts the first one. What they do is told in the journal. */
export async function startKillableApp(file: string, secret: string, journal: Journal): Promise<KillableApp> {
  let port = 0;
  let child: ChildProcess;

  async function start(): Promise<void> {
    child = fork(fileURLToPath(new URL("./killable-app-process.ts", import.meta.url)), [file, secret, String(port)]);
    const listening = new Promise<number>((resolve, reject) => {
      child.on("message", (message: { readonly port: number } | Entry) => {
        if ("port" in message) resolve(message.port);
        else journal.add(message.what, message.text);
      });
      child.once("exit", () => reject(new Error("The app of the tour ended before it listened.")));
    });
    port = await listening;
  }

  await start();
  return {
    url: `http://127.0.0.1:${port}/webhooks`,
    restart: start,
    async kill() {
      child.kill("SIGKILL");
      await once(child, "exit");
    },
  };
}
