import { createServer, type IncomingHttpHeaders } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import type { Clock } from "../../src/clock.ts";

/** A request as the service got it. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly query: readonly (readonly [string, string])[];
  readonly headers: IncomingHttpHeaders;
  readonly body: unknown;
}

/** How the service answers; `"cut"` cuts the connection, `"cut-body"` does so within the answer, `"hang"` never answers. */
export type Answer =
  | {
      readonly status?: number;
      readonly headers?: Readonly<Record<string, string>>;
      readonly json?: unknown;
      readonly text?: string;
    }
  | "cut"
  | "cut-body"
  | "hang";

export interface Service {
  readonly url: string;
  readonly requests: Recorded[];
}

/** A service that records requests and answers what a test says. @param answerOf nth from 0 */
export async function startService(answerOf: (request: Recorded, nth: number) => Answer): Promise<Service> {
  const requests: Recorded[] = [];
  const server = createServer((request, response) => {
    let body = "";
    request.setEncoding("utf8").on("data", (chunk: string) => (body += chunk));
    request.on("end", () => {
      const url = new URL(request.url ?? "", "http://localhost");
      const recorded = {
        method: request.method ?? "",
        path: url.pathname,
        query: [...url.searchParams],
        headers: request.headers,
        body: body === "" ? undefined : (JSON.parse(body) as unknown),
      };
      requests.push(recorded);
      const answer = answerOf(recorded, requests.length - 1);
      if (answer === "hang") return;
      if (answer === "cut") return void request.socket.destroy();
      if (answer === "cut-body") {
        response.writeHead(recorded.method === "POST" ? 201 : 200, { "Content-Length": 1_000 });
        return void response.write("{", () => request.socket.destroy());
      }
      const { status = 200, headers = {}, json, text = json === undefined ? "" : JSON.stringify(json) } = answer;
      response.writeHead(status, { "Content-Type": "application/json", ...headers }).end(text);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return { url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`, requests };
}

/** Waits of a client are over at once, and time has passed; its timeouts, which are longer, never come. */
export function skippingClock(): Clock & { readonly waits: number[] } {
  const waits: number[] = [];
  let now = Date.UTC(2026, 0, 2);
  return {
    waits,
    now: () => now,
    setTimer(run, ms) {
      if (ms >= 25_000) return { clear: () => {} };
      waits.push(ms);
      now += ms;
      queueMicrotask(run);
      return { clear: () => {} };
    },
  };
}
