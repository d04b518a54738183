import { join } from "node:path";
import * as wire from "./deliveries.ts";
import type { Entry } from "./journal.ts";
import { startMortal } from "./killable-app.ts";
import { createService } from "./service.ts";
import type { Stage } from "./context.ts";

/** The last part: an app of its own, in a process that is killed. */
export async function crashing({ folder, secret, journal, narrator, counts }: Stage): Promise<void> {
  narrator.part(
    "A crash",
    "Another process of the app is killed with kill -9 while it works on one delivery and others",
    "wait. Its inbox is a file: the next process finds there all that was answered 200.",
  );
  const mortal = await startMortal(join(folder, "mortal.db"), secret, journal);
  const service = createService(mortal.url, secret);
  const [begun, ...waiting] = ["m-7", "m-8", "m-9"].map((id) => wire.change(wire.EMAIL, "created", id));
  const unlucky = wire.change(wire.EMAIL, "created", "m-10");
  if (begun !== undefined) narrator.row(wire.labelOf(begun), await service.deliver(begun), await journal.next());
  for (const delivery of waiting) {
    const status = await service.deliver(delivery);
    narrator.row(wire.labelOf(delivery), status, { what: "", text: "waits for its turn" });
  }
  await mortal.kill();
  narrator.later({ what: "kill -9", text: "the process is gone" });
  const status = await service.deliver(unlucky).catch(() => undefined);
  narrator.row(wire.labelOf(unlucky), status, { what: "", text: "no answer: it is sent again" });
  const killedAt = performance.now();
  await mortal.restart();
  const restartMs = (performance.now() - killedAt).toFixed(0);
  narrator.later({ what: "a new process", text: `on the file, ${restartMs} ms later` });
  const came: Entry[] = [];
  for (let left = 3; left > 0; left -= 1) narrator.later((came[came.length] = await journal.next()));
  narrator.row(wire.labelOf(unlucky), await service.deliver(unlucky), (came[came.length] = await journal.next()));
  await mortal.kill();
  const handled = ["m-7", "m-8", "m-9", "m-10"].filter((id) => came.some(({ text }) => text.endsWith(`fetch ${id}`)));
  counts.push({ what: "handled after the crash", expected: 4, got: handled.length });
}
