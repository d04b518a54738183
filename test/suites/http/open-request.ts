import { collect, type Answered, type Asked } from "../../../src/cli/check/ask.ts";
import type { HttpBench } from "./fixture.ts";

/** A request whose headers are out, and whose body is still to come. */
export interface OpenRequest {
  readonly answered: Promise<Answered>;
  /** Resolves when the system has taken it. */
  write(text: string): Promise<void>;
  end(text?: string): void;
  /** Goes away. Resolves when the connection is over. */
  abort(): Promise<void>;
}

/** Begins to deliver a body, signed unless other headers are given. */
export async function openRequest(
  bench: Pick<HttpBench, "url" | "signed">,
  { body, chunked = false, headers = bench.signed(body) }: Opening,
): Promise<OpenRequest> {
  const { request } = await import("node:http");
  const framing = chunked ? { "Transfer-Encoding": "chunked" } : { "Content-Length": Buffer.byteLength(body) };
  const req = request(bench.url, { method: "POST", headers: { ...headers, ...framing }, agent: false });
  const answered = new Promise<Answered>((resolve, reject) => {
    req.on("error", reject);
    req.on("response", (res) => void collect(res).then(resolve, reject));
  });
  // Of one that goes away nobody asks.
  answered.catch(() => {});
  const closed = new Promise<void>((resolve) => req.on("close", resolve));
  const connected = new Promise<void>((resolve) => req.on("socket", (socket) => socket.once("connect", resolve)));
  req.flushHeaders();
  await Promise.race([connected, closed]);
  return {
    answered,
    write: (text) => new Promise((resolve, reject) => req.write(text, (error) => (error ? reject(error) : resolve()))),
    end: (text = "") => void req.end(text),
    abort: () => {
      req.destroy();
      return closed;
    },
  };
}

interface Opening {
  readonly body: string;
  readonly chunked?: boolean;
  readonly headers?: Asked["headers"];
}
