// An app with only the Workers mount; a binding has its configuration.
import { workersReceiver, type WorkersContextLike, type WorkersHandler } from "../../adapters/http/workers.ts";
import type { Receiver } from "../../src/index.ts";
import type { ProbedApp } from "../suites/http/http-subject.ts";
import { createProbedReceiver } from "../suites/http/probed-receiver.ts";
import { toFetchOptions } from "../support/fetch-options.ts";

interface Env {
  readonly APP: ProbedApp;
}

let mounted: { readonly receiver: Receiver; readonly handle: WorkersHandler } | undefined;

function mountOf({ APP: app }: Env): NonNullable<typeof mounted> {
  if (mounted !== undefined) return mounted;
  const receiver = createProbedReceiver(app);
  mounted = { receiver, handle: workersReceiver(receiver, toFetchOptions(app.options)) };
  return mounted;
}

export default {
  fetch: (request: Request, env: Env, ctx: WorkersContextLike) => mountOf(env).handle(request, env, ctx),
};

/** Closes the receiver; it has its own socket. */
export const control = {
  async fetch(_request: Request, env: Env): Promise<Response> {
    await mountOf(env).receiver.close();
    return new Response();
  },
};
