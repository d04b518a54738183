import { randomUUID } from "node:crypto";
import { ask, type Answered, type Asked } from "../../../src/cli/check/ask.ts";
import { sign } from "../../../src/protocol/signature/sign.ts";
import type { Receiver } from "../../../src/receiver/receiver-types.ts";
import type { HttpPart } from "./http-case.ts";
import type { HttpSubject, ProbedApp } from "./http-subject.ts";
import { createProbedReceiver } from "./probed-receiver.ts";
import { listenForTold, type Heard } from "./recording-server.ts";

/** What a request has besides its body. */
interface How {
  /** Win over the signed ones, and over the content type. */
  readonly headers?: Asked["headers"] | undefined;
  /** What is put behind the mount's URL, such as `?a=1`. */
  readonly query?: string | undefined;
  /** When it is signed. @default now */
  readonly at?: Date | undefined;
}

/** An app that is nothing but the mount, and what its receiver tells. */
export interface HttpBench {
  readonly subject: HttpSubject;
  /** Where the mount is asked. */
  readonly url: string;
  readonly secret: string;
  readonly heard: Heard;
  /** A request as it stands. */
  ask(asked: Asked, query?: string): Promise<Answered>;
  /** A signed request. */
  deliver(body: string | Uint8Array, how?: How): Promise<Answered>;
  /** The headers of a signed request. */
  signed(body: string | Uint8Array, how?: How): Asked["headers"];
  /** Closes the receiver; the server goes on. */
  shutDown(): Promise<void>;
}

/** How long an answer may take: longer than a busy machine needs for it. */
const LIMITS = { limitMs: 60_000 };

/** Serves an app, tries it, and clears away. What fails afterwards does not hide what failed before. */
export async function withApp(
  subject: HttpSubject,
  part: Mounted,
  run: (bench: HttpBench) => Promise<void>,
): Promise<void> {
  const heard = await listenForTold();
  const { app, made } = toApp(heard.url, part);
  try {
    const served = await subject.serve(app);
    const url = new URL(app.options.path ?? "", served.url).href;
    const bench = toBench({ subject, heard, url, secret: app.secret });
    const shutDown = served.shutDown ?? (async () => void (await app.receiver.close()));
    try {
      await run({ ...bench, shutDown });
    } finally {
      heard.release();
      await served.close();
      await made()?.close({ drainMs: 0 });
    }
  } finally {
    heard.close();
  }
}

type Mounted = Pick<HttpPart, "options" | "storeTimeoutMs">;

/** The receiver is no part of its JSON, and not made by a look at the rest. */
function toApp(
  tell: string,
  { options = {}, storeTimeoutMs = 30_000 }: Mounted,
): { app: ProbedApp; made(): Receiver | undefined } {
  const secret = `secret-${randomUUID()}`;
  let receiver: Receiver<"network"> | undefined;
  const told = { secret, tell, storeTimeoutMs };
  const app = Object.defineProperty({ ...told, options }, "receiver", {
    get: () => (receiver ??= createProbedReceiver(told)),
  });
  return { app: app as ProbedApp, made: () => receiver };
}

function toBench({
  url,
  secret,
  ...rest
}: Pick<HttpBench, "subject" | "url" | "secret" | "heard">): Omit<HttpBench, "shutDown"> {
  const signed: HttpBench["signed"] = (body, { at, headers } = {}) => ({
    "Content-Type": "application/json",
    ...sign(body, { secret, at }),
    ...headers,
  });
  return {
    ...rest,
    url,
    secret,
    signed,
    ask: (asked, query = "") => ask(url + query, asked, LIMITS),
    deliver: (body, how = {}) =>
      ask(url + (how.query ?? ""), { method: "POST", headers: signed(body, how), body: Buffer.from(body) }, LIMITS),
  };
}
