import { mkdtempSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createApp } from "./tour/app.ts";
import { countAll, type Count } from "./tour/counts.ts";
import { createJournal } from "./tour/journal.ts";
import { createPrinter } from "./tour/printer.ts";
import { parts } from "./tour/parts.ts";
import { createService } from "./tour/service.ts";

// `npm start` runs this: an app with a receiver, and the emulator, which plays the service over a real socket.
process.stdout.on("error", () => process.exit()); // a reader that has seen enough, such as `head`
const startedAt = performance.now();
const secret = "from the application's dashboard";
const journal = createJournal();
const printer = createPrinter(process.stdout);
const folder = mkdtempSync(join(tmpdir(), "hookline-tour-"));
const file = join(folder, "inbox.db");
const app = createApp({ secret, file }, (event, text) => journal.add(event.type, text), {
  refused: ({ code }) => journal.add("refused", code),
  duplicate: ({ job }) => journal.add(job.event.type, "a duplicate: no call"),
  failed: ({ job, error }) => journal.add(job.event.type, error instanceof Error ? error.message : String(error)),
  retried: ({ job }) => journal.add("", `again in ${secondsUntil(job.nextAttemptAt)} s`),
});

const server = await app.listen();
const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`;
const service = await createService(secret);
const account = await service.account();
printer.title("Hookline, a tour");
printer.line(`An Express app with typed handlers listens on ${url}.`);
printer.line("It stores each delivery in an SQLite file before it answers.");
printer.line("The emulator plays the service: it signs deliveries, and obeys the answers.");
const counts: Count[] = [];
const tour = { app, url, service, account, journal, printer, secret, folder, counts, subscriptions: new Map() };
for (const part of parts) await part(tour);
await app.receiver.idle();
counts.unshift(...countAll(service, app));
await service.close();
server.close();
await app.receiver.close();

const wrong = printer.summary(counts);
const seconds = ((performance.now() - startedAt) / 1000).toFixed(1);
if (wrong.length === 0)
  printer.line(`\nAll as expected, in ${seconds} s. The app is in examples/tour/app.ts.`, "green");
else printer.line(`\nNot as expected: ${wrong.join("; ")}.`, "red");
printer.line(`The dashboard over its file: npm run hookline -- inbox ui --inbox \\\n  ${file}`);
process.exitCode = wrong.length === 0 ? 0 : 1;

function secondsUntil(time: Date | undefined): string {
  return (((time?.getTime() ?? NaN) - Date.now()) / 1000).toFixed(1);
}
