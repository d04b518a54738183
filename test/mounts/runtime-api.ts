import { randomUUID } from "node:crypto";
import type { IncomingMessage, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { serve } from "../support/http.ts";

/** The outcome of an invocation. */
type Outcome =
  | { readonly response: unknown }
  | { readonly error: { readonly errorType: string; readonly errorMessage: string } };

export interface RuntimeApi {
  /** The value of `AWS_LAMBDA_RUNTIME_API`. */
  readonly address: string;
  /** Invokes one after another, as Lambda does with one process. */
  invoke(event: object, options?: { readonly leftMs?: number }): Promise<Outcome>;
  /** Errors of processes that could not start. */
  readonly initErrors: readonly unknown[];
}

interface Invocation {
  readonly id: string;
  readonly event: object;
  readonly leftMs: number;
  end(outcome: Outcome): void;
}

/**
 * Lambda's side of a runtime, on this machine.
 * @see https://docs.aws.amazon.com/lambda/latest/dg/runtimes-api.html
 */
export async function serveRuntimeApi(): Promise<RuntimeApi> {
  const initErrors: unknown[] = [];
  const waiting: Invocation[] = [];
  const running = new Map<string, Invocation>();
  let asking: ServerResponse | undefined;

  function handOut(): void {
    const invocation = asking === undefined ? undefined : waiting.shift();
    if (invocation === undefined) return;
    running.set(invocation.id, invocation);
    asking?.writeHead(200, {
      "Content-Type": "application/json",
      "Lambda-Runtime-Aws-Request-Id": invocation.id,
      "Lambda-Runtime-Deadline-Ms": String(Date.now() + invocation.leftMs),
      "Lambda-Runtime-Invoked-Function-Arn": "arn:aws:lambda:us-east-1:123456789012:function:webhooks",
    });
    asking?.end(JSON.stringify(invocation.event));
    asking = undefined;
  }

  async function hear(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const [, id = "", verb = ""] = /\/runtime\/(?:invocation\/)?([^/]+)(?:\/(\w+))?$/.exec(req.url ?? "") ?? [];
    if (id === "next") {
      asking = res;
      return handOut();
    }
    const payload: unknown = JSON.parse(await text(req));
    res.writeHead(202).end();
    if (id === "init") initErrors.push(payload);
    else running.get(id)?.end(verb === "response" ? { response: payload } : ({ error: payload } as Outcome));
  }
  const { port } = await serve((req, res) => void hear(req, res));

  return {
    address: `127.0.0.1:${port}`,
    invoke: (event, { leftMs = 60_000 } = {}) =>
      new Promise((end) => {
        waiting.push({ id: randomUUID(), event, leftMs, end });
        handOut();
      }),
    initErrors,
  };
}
