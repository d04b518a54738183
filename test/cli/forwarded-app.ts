import type { IncomingHttpHeaders, ServerResponse } from "node:http";
import { text } from "node:stream/consumers";
import { onTestFinished } from "vitest";
import type { Receiver } from "../../src/index.ts";
import { forwardEvents } from "../../src/cli/serve/forward-events.ts";
import type { Forwarding } from "../../src/cli/serve/forward-flags.ts";
import { serve, type Served } from "../support/http.ts";

/** What an app got. */
export interface Got {
  readonly headers: IncomingHttpHeaders;
  readonly body: string;
  /** The body, parsed. */
  readonly json: { readonly type: string; readonly attempt: number; readonly merged: number; readonly event: object };
}

export interface App extends Served {
  readonly got: readonly Got[];
}

/** An app that events are forwarded to, until the test ends; it answers 200 unless `answer` does. */
export async function startApp(answer: (res: ServerResponse, got: Got) => unknown = (res) => res.end()): Promise<App> {
  const got: Got[] = [];
  const served = await serve((req, res) => {
    void text(req).then((body) => {
      const one = { headers: req.headers, body, json: JSON.parse(body) as Got["json"] };
      got.push(one);
      answer(res, one);
    });
  });
  return { ...served, got };
}

/** Of 32 bytes. */
export const FORWARD_SECRET = `whsec_${Buffer.alloc(32, "k").toString("base64")}`;

/** Forwards the events of a receiver to one app. */
export function forwardTo(receiver: Receiver, url: string, options: Partial<Forwarding> = {}): void {
  const secrets = [Buffer.alloc(32, "k")];
  const usual = { secrets, only: undefined, timeoutMs: 30_000, concurrency: 10, allowLinkLocal: false };
  const targets = [{ name: "default", url }];
  onTestFinished(forwardEvents(receiver, { targets, ...usual, random: () => 0, ...options }));
}
