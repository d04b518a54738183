import { parentPort, workerData } from "node:worker_threads";
import type { ThreadOptions } from "../client/thread-protocol.ts";
import { hideSqliteWarning } from "./hide-sqlite-warning.ts";

// The thread that owns the file.
if (parentPort === null) throw new Error("This file is the commit thread of an inbox: it is not to be run by itself.");
hideSqliteWarning();
const { serveCommits } = await import("./serve-commits.ts");
serveCommits(parentPort, workerData as ThreadOptions);
