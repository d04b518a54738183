import { once } from "node:events";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { CommandError, EXIT } from "../command.ts";

/** Where to listen. */
export interface Address {
  readonly host: string;
  /** 0 for any free one. */
  readonly port: number;
  /** What its flags begin with, as `admin-` in `--admin-port` and `--admin-host`. @default nothing */
  readonly prefix?: string;
}

/** A server that listens. */
export interface ListeningServer {
  /** With the real port. */
  readonly url: string;
  /** Whether it is reachable from this machine alone. */
  readonly isLoopback: boolean;
  /** Takes no more connections; resolves when the open ones have their answers. */
  close(): Promise<void>;
  /** Ends the open connections, answered or not. */
  closeConnections(): void;
}

/** @throws CommandError when the address is not available */
export async function listen(listener: RequestListener, address: Address): Promise<ListeningServer> {
  const server = createServer(listener);
  let closing = false;
  server.on("request", (_request, response) => {
    // Node leaves a connection open whose answer was on its way at the close: it would delay the end by seconds.
    response.once("close", () => closing && server.closeIdleConnections());
  });
  server.listen(address.port, address.host);
  try {
    await once(server, "listening");
  } catch (error) {
    throw toListenError(error as NodeJS.ErrnoException, address);
  }
  const at = server.address() as AddressInfo; // it listens on a port, not on a pipe
  return {
    url: `http://${at.family === "IPv6" ? `[${at.address}]` : at.address}:${at.port}`,
    isLoopback: /^(?:127\.|::1$)/.test(at.address),
    async close() {
      closing = true;
      await new Promise((resolve) => server.close(resolve));
    },
    closeConnections: () => server.closeAllConnections(),
  };
}

/** Why an address cannot be listened on, and the fix. */
export function toListenError(error: NodeJS.ErrnoException, { host, port, prefix = "" }: Address): CommandError {
  const fail = (message: string) => new CommandError(EXIT.failed, message, { cause: error });
  switch (error.code) {
    case "EADDRINUSE":
      return fail(
        `Port ${port} on ${host} is in use. Stop what listens there, or take another: --${prefix}port 0 takes any free one.`,
      );
    case "EACCES":
      return fail(`Port ${port} is not allowed to this user. Take one from 1024 on with --${prefix}port.`);
    case "EADDRNOTAVAIL":
    case "ENOTFOUND":
    case "EAI_AGAIN":
      return fail(
        `${host} is no address of this machine. --${prefix}host takes one of its own, such as 127.0.0.1, or 0.0.0.0 for all.`,
      );
    default:
      return fail(`Cannot listen on port ${port} of ${host}: ${error.message}.`);
  }
}

/** Whether a Host header names this machine. */
export function isLoopbackName(host: string | undefined): boolean {
  return host !== undefined && /^(?:127(?:\.\d{1,3}){3}|localhost|\[::1\])(?::\d+)?$/i.test(host);
}
