import { randomInt } from "node:crypto";
import { createServer } from "node:net";

/** Below the ports that systems give to outgoing connections: one of these could take the port while a server is stopped. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(15_000, 32_000);
    const probe = createServer();
    const error = await new Promise<Error | undefined>((resolve) => {
      probe.once("error", resolve);
      probe.listen(port, "127.0.0.1", () => probe.close(resolve));
    });
    if (error === undefined) return port;
  }
}
