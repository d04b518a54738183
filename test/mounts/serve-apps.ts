// Runs in a process of another runtime: it serves an app for each case, each on its own port.
import { fetchReceiver } from "../../adapters/http/fetch.ts";
import type { Receiver } from "../../src/index.ts";
import type { ProbedApp } from "../suites/http/http-subject.ts";
import { createProbedReceiver } from "../suites/http/probed-receiver.ts";
import { toFetchOptions } from "../support/fetch-options.ts";

/** Listens on a free port of this machine. */
type Listen = (fetch: (request: Request) => Promise<Response>) => Listening;

interface Listening {
  readonly port: number;
  /** Closes the server and its connections. */
  stop(): Promise<void>;
}

/** Prints its control URL: POST serves an app, PUT to the app's port closes its receiver, DELETE ends it. */
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
