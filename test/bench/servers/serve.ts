import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** What the bench is told when it asks. */
export interface Usage {
  /** Of the process since it began, all threads, in microseconds. */
  readonly cpuUs: number;
  /** Deliveries stored whose handler has not ended: the most since it was asked last. */
  readonly backlog?: number;
}

/** Where it may keep files: the bench takes it away. */
export function folderOfServer(): string {
  const folder = process.env["HOOKLINE_BENCH_FOLDER"];
  if (folder === undefined) throw new Error("Set HOOKLINE_BENCH_FOLDER to a folder for the files of this server.");
  return folder;
}

/** Listens on a free port, tells the bench which, and answers it when it asks. It ends with the bench. */
export function serve(listener: RequestListener, more: () => Omit<Usage, "cpuUs"> = () => ({})): void {
  const server = createServer(listener).listen(0, "127.0.0.1", () => {
    const { port } = server.address() as AddressInfo;
    if (process.send === undefined) console.log(`http://127.0.0.1:${port}`);
    else process.send({ port });
  });
  process.on("message", () => {
    const { user, system } = process.cpuUsage();
    process.send?.({ cpuUs: user + system, ...more() } satisfies Usage);
  });
  process.on("disconnect", () => process.exit());
}
