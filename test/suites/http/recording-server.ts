import type { ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { StoredDelivery } from "../../../src/inbox/port/delivery.ts";
import type { Told } from "./probed-receiver.ts";

/** What the receiver under test told, and how it was answered. */
export interface Heard {
  /** Where it tells. */
  readonly url: string;
  readonly stored: readonly StoredDelivery[];
  /** The bodies of what was stored, in base64. */
  bodies(): readonly string[];
  /** The ids of handled records. */
  readonly handled: readonly string[];
  /** From here on: takes it at once, refuses it as a queue does that is down, or holds it until `release`. */
  mode: "take" | "refuse" | "hold";
  /** Resolves when something is held. */
  held(): Promise<void>;
  /** Takes what is held, and all that comes. */
  release(): void;
  close(): void;
}

/** A server of this machine that remembers what it is told. */
export async function listenForTold(): Promise<Heard> {
  const { createServer } = await import("node:http");
  const stored: StoredDelivery[] = [];
  const handled: string[] = [];
  const holding: (() => void)[] = [];
  let noticed: (() => void) | undefined;

  function take(told: Told, res: ServerResponse): void {
    if ("stored" in told) stored.push(...told.stored);
    else handled.push(told.handled);
    res.end();
  }

  const server = createServer({ keepAliveTimeout: 0 }, (req, res) => {
    const chunks: Uint8Array[] = [];
    req.on("data", (chunk: Uint8Array) => chunks.push(chunk));
    req.on("end", () => {
      const told = JSON.parse(Buffer.concat(chunks).toString()) as Told;
      if (heard.mode === "take") take(told, res);
      else if (heard.mode === "refuse") res.writeHead(500).end();
      else {
        holding.push(() => take(told, res));
        noticed?.();
      }
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;

  const heard: Heard = {
    url: `http://127.0.0.1:${port}/`,
    stored,
    handled,
    mode: "take",
    bodies: () => stored.map(({ bodyBase64 }) => bodyBase64),
    held: () => new Promise((resolve) => (holding.length > 0 ? resolve() : (noticed = resolve))),
    release() {
      heard.mode = "take";
      for (const end of holding.splice(0)) end();
    },
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
  return heard;
}
