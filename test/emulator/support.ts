import { createServer, type IncomingHttpHeaders, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { createEmulator, type EmulatedAccount, type Emulator, type EmulatorOptions } from "../../src/emulator.ts";

export const DAY_MS = 86_400_000;

/** An emulator on a virtual clock, closed with the test. */
export async function startEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await createEmulator({ clock: "virtual", ...options });
  onTestFinished(() => emulator.close());
  return emulator;
}

/** A request as a receiver got it. */
interface Received {
  readonly url: string;
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
}

/** A receiver that answers what a test says. */
export interface Receiver {
  readonly url: string;
  /** Deliveries, without handshakes. */
  readonly received: Received[];
  /** For the next deliveries, one each; 200 after them. `undefined` cuts the connection, `"hang"` answers never. */
  readonly answers: (number | undefined | "hang")[];
  close(): Promise<void>;
}

/** Answers handshakes as a receiver must, and deliveries as told. Nothing is verified. */
export async function startReceiver(): Promise<Receiver> {
  const received: Received[] = [];
  const answers: (number | undefined | "hang")[] = [];
  const server = await serve((request, response) => {
    const token = new URL(request.url ?? "", "http://localhost").searchParams.get("validationToken");
    let body = "";
    request.on("data", (chunk: Buffer) => (body += chunk.toString("latin1")));
    request.on("error", () => {});
    request.on("end", () => {
      if (token !== null) return void response.writeHead(200, { "Content-Type": "text/plain" }).end(token);
      received.push({ url: request.url ?? "", headers: request.headers, body: Buffer.from(body, "latin1").toString() });
      const answer = answers.length > 0 ? answers.shift() : 200;
      if (answer === undefined) request.socket.destroy();
      else if (answer !== "hang") response.writeHead(answer).end();
    });
  });
  return { ...server, received, answers };
}

/** A server on a free port, closed with the test. */
export async function serve(listener: RequestListener): Promise<{ readonly url: string; close(): Promise<void> }> {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const close = async (): Promise<void> => {
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  };
  onTestFinished(close);
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/webhooks`, close };
}

/** An emulator, a receiver, and a subscription between them. */
export interface Pair {
  readonly emulator: Emulator;
  readonly receiver: Receiver;
  readonly account: EmulatedAccount;
  readonly id: number;
}

export async function startPair(options: EmulatorOptions = {}, resource = "/email/messages"): Promise<Pair> {
  const [emulator, receiver] = await Promise.all([startEmulator(options), startReceiver()]);
  const account = await emulator.account();
  const id = await emulator.subscribe(account, resource, receiver.url);
  return { emulator, receiver, account, id };
}

/** A call of the emulator's HTTP interface. */
export async function call(
  emulator: Emulator,
  request: string,
  { token, body, headers = {} }: { token?: string; body?: unknown; headers?: Record<string, string> } = {},
): Promise<{ readonly status: number; readonly json: Record<string, unknown>; readonly headers: Headers }> {
  const [method = "GET", path = "/"] = request.split(" ");
  const response = await fetch(emulator.url + path, {
    method,
    headers: {
      ...(token !== undefined && { Authorization: `Bearer ${token}` }),
      ...(body !== undefined && { "Content-Type": "application/json" }),
      ...headers,
    },
    ...(body !== undefined && { body: typeof body === "string" ? body : JSON.stringify(body) }),
  });
  const text = await response.text();
  return {
    status: response.status,
    headers: response.headers,
    json: text.startsWith("{") ? (JSON.parse(text) as Record<string, unknown>) : {},
  };
}
