import { join } from "node:path";
import * as wire from "./deliveries.ts";
import type { Entry } from "./journal.ts";
import { startKillableApp } from "./killable-app.ts";
import { createService } from "./service.ts";
import type { TourContext } from "./context.ts";

/** The last part: an app of its own, in a process that is killed. */
export async function crashing({ folder, secret, journal, printer, counts }: TourContext): Promise<void> {
  printer.part(
    "A crash",
    "Another process of the app is killed with kill -9 while it works on one delivery and others",
    "wait. Its inbox is a file: the next process finds there all that was answered 200.",
  );
  const killable = await startKillableApp(join(folder, "killed.db"), secret, journal);
  const service = createService(killable.url, secret);
  const [begun, ...waiting] = ["m-7", "m-8", "m-9"].map((id) => wire.change(wire.EMAIL, "created", id));
  const unlucky = wire.change(wire.EMAIL, "created", "m-10");
  if (begun !== undefined) printer.row(wire.labelOf(begun), await service.deliver(begun), await journal.next());
  for (const delivery of waiting) {
    const status = await service.deliver(delivery);
    printer.row(wire.labelOf(delivery), status, { what: "", text: "waits for its turn" });
  }
  await killable.kill();
  printer.later({ what: "kill -9", text: "the process is gone" });
  const status = await service.deliver(unlucky).catch(() => undefined);
  printer.row(wire.labelOf(unlucky), status, { what: "", text: "no answer: it is sent again" });
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
