import { fork, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { change, labelOf, type TourContext } from "./context.ts";
import type { Entry, Journal } from "./journal.ts";
import type { Subscription } from "./service.ts";

const EMAIL = "/email/messages";

/** The last part: a second app, in a process that is killed. */
export async function crashing(tour: TourContext): Promise<void> {
  const { folder, secret, journal, printer, counts, service, account } = tour;
  printer.part(
    "A crash",
    "Another process of the app is killed with kill -9 while it works on one delivery and others",
    "wait. Its inbox is a file: the next process finds every delivery answered 200 in it.",
  );
  const killable = await startKillableApp(join(folder, "killed.db"), secret, journal);
  const subscription = await service.subscribe(account, EMAIL, killable.url);
  const row = async (id: string, came: () => Entry | Promise<Entry>): Promise<void> => {
    const what = change("created", id);
    const attempt = await subscription.deliver(what);
    printer.row(labelOf(EMAIL, what), attempt?.status, await came());
  };
  await row("m-7", () => journal.next());
  await row("m-8", () => ({ what: "", text: "waits" }));
  await row("m-9", () => ({ what: "", text: "waits" }));
  await killable.kill();
  printer.later({ what: "kill -9", text: "the process is gone" });
  await row("m-10", () => ({ what: "", text: "no answer: redelivered later" }));
  const acknowledged = untilAcknowledged(subscription);
  const killedAt = performance.now();
  await killable.restart();
  const restartMs = (performance.now() - killedAt).toFixed(0);
  printer.later({ what: "a new process", text: `on the file, ${restartMs} ms later` });
  const came: Entry[] = [];
  for (let left = 3; left > 0; left -= 1) printer.later((came[came.length] = await journal.next()));
  printer.row([EMAIL, "redelivery"], await acknowledged, (came[came.length] = await journal.next()));
  await killable.kill();
  const handled = ["m-7", "m-8", "m-9", "m-10"].filter((id) => came.some(({ text }) => text.endsWith(`fetch ${id}`)));
  counts.push({ what: "handled after the crash", expected: 4, got: handled.length });
}

/** A slow start may take more than one redelivery. */
async function untilAcknowledged({ redelivery }: Subscription): Promise<number> {
  let status: number | undefined;
  while (status !== 200) ({ status } = await redelivery());
  return status;
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
