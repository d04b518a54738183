import { parentPort, workerData } from "node:worker_threads";
import type { ThreadOptions } from "./messages.ts";
import { serveCommits } from "./serve-commits.ts";

if (parentPort === null) throw new Error("This file is the commit thread of an inbox: it is not to be run by itself.");
serveCommits(parentPort, workerData as ThreadOptions);
