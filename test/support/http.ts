import { randomInt } from "node:crypto";
import { once } from "node:events";
import {
  createServer,
  request,
  type Agent,
  type IncomingHttpHeaders,
  type RequestListener,
  type Server,
} from "node:http";
import { connect, type AddressInfo, type Socket } from "node:net";
import { onTestFinished } from "vitest";

export interface Served {
  readonly server: Server;
  readonly port: number;
  readonly url: string;
  /** Bytes that the server has received so far. */
  bytesReceived(): number;
  /** Number of connections so far. */
  connections(): number;
}

/** A server on a free port of this machine, until the test ends. */
export async function serve(listener: RequestListener): Promise<Served> {
  const sockets: Socket[] = [];
  // A slow test must find its connection still open.
  const server = createServer({ keepAliveTimeout: 0 }, listener)
    .on("connection", (socket: Socket) => void sockets.push(socket))
    .listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => {
    server.close();
    server.closeAllConnections();
  });
  const { port } = server.address() as AddressInfo;
  return {
    server,
    port,
    url: `http://127.0.0.1:${port}`,
    bytesReceived: () => sockets.reduce((sum, socket) => sum + socket.bytesRead, 0),
    connections: () => sockets.length,
  };
}

/** A free port, for a program that needs a number. It is below the range of ports that the system assigns. */
export async function freePort(): Promise<number> {
  for (;;) {
    const port = randomInt(20_000, 32_000);
    const server = createServer().listen(port);
    try {
      await once(server, "listening");
      server.close();
      await once(server, "close");
      return port;
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EADDRINUSE") throw error;
    }
  }
}

export interface Sent {
  /** @default "POST" */
  readonly method?: string | undefined;
  readonly headers?: Readonly<Record<string, string | readonly string[]>> | undefined;
  readonly body?: Uint8Array | string | undefined;
  /** @default a new connection */
  readonly agent?: Agent | undefined;
  /** The raw request target. @default the URL's */
  readonly path?: string | undefined;
}

export interface Answered {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** Sends one request and reads the complete answer. */
export function send(url: string, { method = "POST", headers = {}, body, agent, path }: Sent = {}): Promise<Answered> {
  return new Promise((resolve, reject) => {
    const req = request(url, {
      method,
      // Node would send a GET's body without its length.
      headers: {
        ...(body === undefined || "Transfer-Encoding" in headers ? {} : { "Content-Length": Buffer.byteLength(body) }),
        ...headers,
      },
      agent: agent ?? false,
      ...(path === undefined ? {} : { path }),
    });
    req.on("error", reject);
    req.on("response", (res) => {
      const chunks: Buffer[] = [];
      res.on("data", (chunk: Buffer) => chunks.push(chunk));
      res.on("error", reject);
      res.on("end", () =>
        resolve({ status: res.statusCode ?? 0, headers: res.headers, body: Buffer.concat(chunks).toString() }),
      );
    });
    req.end(body);
  });
}

export interface Wire {
  readonly socket: Socket;
  write(bytes: string | Uint8Array): void;
  /** Everything received so far. */
  text(): string;
  /** Resolves when the connection has closed, with or without an error. */
  readonly closed: Promise<void>;
}

/** A raw TCP connection, for clients that break the protocol. */
export async function dial(port: number): Promise<Wire> {
  const socket = connect(port, "127.0.0.1");
  let text = "";
  socket.setEncoding("latin1").on("data", (chunk: string) => (text += chunk));
  // A reset counts as a close.
  socket.on("error", () => {});
  const closed = new Promise<void>((resolve) => socket.once("close", () => resolve()));
  onTestFinished(() => void socket.destroy());
  await once(socket, "connect");
  return { socket, write: (bytes) => void socket.write(bytes), text: () => text, closed };
}

/** The head of a request, for a raw connection. */
export function headersText(headers: Readonly<Record<string, string>>, line = "POST / HTTP/1.1"): string {
  const lines = Object.entries({ Host: "localhost", ...headers }).map(([name, value]) => `${name}: ${value}\r\n`);
  return `${line}\r\n${lines.join("")}\r\n`;
}

/** Writes body chunks as fast as the connection takes them, until so many bytes are written or it closes. */
export async function pour(wire: Wire, bytes: number, { chunked = false } = {}): Promise<void> {
  const chunk = Buffer.alloc(64 * 1024, "x");
  const frame = chunked ? Buffer.concat([Buffer.from("10000\r\n"), chunk, Buffer.from("\r\n")]) : chunk;
  for (let left = bytes; left > 0 && !wire.socket.destroyed; left -= chunk.length) {
    if (!wire.socket.write(frame)) await Promise.race([once(wire.socket, "drain").catch(() => {}), wire.closed]);
  }
}
