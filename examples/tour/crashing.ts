import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import * as wire from "./deliveries.ts";
import type { Entry, Journal } from "./journal.ts";
import { createService } from "./service.ts";
import type { TourContext } from "./context.ts";

/** The last part: a second app, in a process that is killed. */
export async function crashing({ folder, secret, journal, printer, counts }: TourContext): Promise<void> {
  printer.part(
    "A crash",
    "Another process of the app is killed with kill -9 while it works on one delivery and others",
    "wait. Its inbox is a file: the next process finds every delivery answered 200 in it.",
  );
  const killable = await startKillableApp(join(folder, "killed.db"), secret, journal);
  const service = createService(killable.url, secret);
  const [begun, ...waiting] = ["m-7", "m-8", "m-9"].map((id) => wire.change(wire.EMAIL, "created", id));
  const unlucky = wire.change(wire.EMAIL, "created", "m-10");
  if (begun !== undefined) printer.row(wire.labelOf(begun), await service.deliver(begun), await journal.next());
  for (const delivery of waiting) {
    const status = await service.deliver(delivery);
    printer.row(wire.labelOf(delivery), status, { what: "", text: "waits" });
  }
  await killable.kill();
  printer.later({ what: "kill -9", text: "the process is gone" });
  const status = await service.deliver(unlucky).catch(() => undefined);
  printer.row(wire.labelOf(unlucky), status, { what: "", text: "no answer: redelivered later" });
  const killedAt = performance.now();
  await killable.restart();
  const restartMs = (performance.now() - killedAt).toFixed(0);
  printer.later({ what: "a new process", text: `on the file, ${restartMs} ms later` });
  const came: Entry[] = [];
  for (let left = 3; left > 0; left -= 1) printer.later((came[came.length] = await journal.next()));
  printer.row(wire.labelOf(unlucky), await service.deliver(unlucky), (came[came.length] = await journal.next()));
  await killable.kill();
  const handled = ["m-7", "m-8", "m-9", "m-10"].filter((id) => came.some(({ text }) => text.endsWith(`fetch ${id}`)));
  counts.push({ what: "handled after the crash", expected: 4, got: handled.length });
}

/** A process of the app that can be killed; its file stays. */
interface KillableApp {
  readonly url: string;
  /** As `kill -9` does: not even a `finally` runs. */
  kill(): Promise<void>;
  /** Starts the next process on the same file and port. */
  restart(): Promise<void>;
}

/** Starts the first process. All of them report to the journal. */
async function startKillableApp(file: string, secret: string, journal: Journal): Promise<KillableApp> {
  let port = 0;
  let child: ChildProcess;

  async function start(): Promise<void> {
    child = fork(fileURLToPath(new URL("./crashing-app.ts", import.meta.url)), [file, secret, String(port)]);
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
