import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { toListenError, type Address } from "./listen-error.ts";

/** A server that listens. */
export interface Listening {
  /** Where it can be reached, with the real port. */
  readonly url: string;
  /** Nobody but this machine can reach it. */
  readonly isLoopback: boolean;
  /** Takes no more connections; resolves when those that are open have their answers. */
  close(): Promise<void>;
  /** Ends the open connections, answered or not. */
  cut(): void;
}

/** @throws CommandError when the address cannot be had */
export async function listen(listener: RequestListener, address: Address): Promise<Listening> {
  const server = createServer(listener);
  let closing = false;
  server.on("request", (_request, response) => {
    // Node leaves a connection open whose answer was on its way at the close: it would hold the end up for seconds.
    response.once("close", () => closing && server.closeIdleConnections());
  });
  server.listen(address.port, address.host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw toListenError(error as NodeJS.ErrnoException, address);
  }
  const at = server.address() as AddressInfo; // as it listens on a port, not on a pipe
  return {
    url: urlOf(at),
    isLoopback: /^(?:127\.|::1$)/.test(at.address),
    async close() {
      closing = true;
      await new Promise((resolve) => server.close(resolve));
    },
    cut: () => server.closeAllConnections(),
  };
}

function urlOf({ address, family, port }: AddressInfo): string {
  return `http://${family === "IPv6" ? `[${address}]` : address}:${port}`;
}
