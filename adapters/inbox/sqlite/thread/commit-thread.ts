import { parentPort, workerData } from "node:worker_threads";
import type { LookMemory, ThreadOptions } from "./thread-protocol.ts";
import { hideSqliteWarning } from "./hide-sqlite-warning.ts";

// The thread that owns the file. A bundle may be CommonJS, so nothing is awaited at the top level.
const port = parentPort;
if (port === null) throw new Error("This file is the commit thread of an inbox: it is not to be run by itself.");
hideSqliteWarning();
void import("./serve-commits.ts").then(({ serveCommits }) =>
  serveCommits(port, workerData as ThreadOptions & LookMemory),
);
