import { sqliteInbox } from "../../../adapters/inbox/sqlite.ts";
import { systemClock } from "../../../src/clock.ts";
import { asWorking, asWriting } from "../../../src/inbox/port/inbox.ts";
import { toLogger } from "../../../src/logger.ts";
import { mail } from "../../suites/inbox/deliveries.ts";

// Works on a file under a umask that hides nothing, and says `stored` when all its files are there.
process.umask(0);
const inbox = asWorking(asWriting(sqliteInbox(process.argv[2] ?? "", { minFreeDiskBytes: 0 })));
await inbox?.open({ name: "default", clock: systemClock, log: toLogger(false), dedupeWindowMs: 60_000 });
await inbox?.work({ begin() {}, end() {}, wake() {}, lost() {} });
await inbox?.store([mail(["a"])]);
console.log("stored");
