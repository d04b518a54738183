// What a process of another runtime does in these tests: it serves an app for each case, on a port of its own.
import { fetchReceiver } from "../../adapters/http/fetch.ts";
import { createProbedReceiver } from "../suites/http/probed-receiver.ts";
import type { ProbedApp } from "../suites/http/http-subject.ts";
import type { Receiver } from "../../src/index.ts";
import { toFetchOptions } from "../support/fetch-options.ts";

/** Listens on a free port of this machine. */
type Listen = (fetch: (request: Request) => Promise<Response>) => Listening;

interface Listening {
  readonly port: number;
  /** Ends the server with what is open on it. */
  stop(): Promise<void>;
}

/** Tells its URL. There a POST is an app to serve, a PUT to its port closes its receiver, a DELETE ends it. */
export function serveApps(listen: Listen): void {
  const apps = new Map<string, { readonly receiver: Receiver; readonly server: Listening }>();
  const { port } = listen(async (request) => {
    const name = new URL(request.url).pathname.slice(1);
    const { receiver, server } = apps.get(name) ?? {};
    if (request.method === "PUT") await receiver?.close();
    if (request.method === "DELETE") await server?.stop();
    return request.method === "POST"
      ? new Response(String(serve((await request.json()) as ProbedApp)))
      : new Response();
  });

  function serve(app: ProbedApp): number {
    const receiver = createProbedReceiver(app);
    const server = listen(fetchReceiver(receiver, toFetchOptions(app.options)));
    apps.set(String(server.port), { receiver, server });
    return server.port;
  }

  console.log(`http://127.0.0.1:${port}/`);
}
