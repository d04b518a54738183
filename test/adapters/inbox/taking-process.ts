import { writeSync } from "node:fs";
import { createWorkerLock } from "../../../adapters/inbox/sqlite/work/worker-lock.ts";
import { systemClock } from "../../../src/clock.ts";
import { toLogger } from "../../../src/logger.ts";

// Tries to take the worker's place of a file, once.
const [file = ""] = process.argv.slice(2);
const place = createWorkerLock(file, { clock: systemClock, log: toLogger(false) });
writeSync(1, place.tryAcquire() ? "had\n" : "not had\n");
place.release();
