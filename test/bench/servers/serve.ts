import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";

/** The answer to the bench's message `usage`. */
export interface Usage {
  /** CPU time of the process since its start, all threads, microseconds. */
  readonly cpuUs: number;
  /** Most stored deliveries without an ended handler since the last `usage`. */
  readonly backlog?: number;
  /** Such deliveries now. */
  readonly waiting?: number;
}

/** Folder for the server's files: the bench deletes it. */
export function folderOfServer(): string {
  const folder = process.env["HOOKLINE_BENCH_FOLDER"];
  if (folder === undefined) throw new Error("Set HOOKLINE_BENCH_FOLDER to a folder for the files of this server.");
  return folder;
}

/** Of the database or queue that the bench started for this server. */
export function connectionOfServer(): string {
  const connection = process.env["HOOKLINE_BENCH_CONNECTION"];
  if (connection === undefined) throw new Error("Set HOOKLINE_BENCH_CONNECTION to where this server stores.");
  return connection;
}

/** Listens on a free port, sends the port to the bench, and answers its messages. It ends with the bench. */
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
