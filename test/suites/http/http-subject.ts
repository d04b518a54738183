import type { Receiver } from "../../../src/receiver/receiver-types.ts";

/** A mount to hold against the table of answers: how an app is served that is nothing but this mount. */
export interface HttpSubject {
  /** Serves an app of its own for each case, on a free port of this machine, in this process or another. */
  serve(app: ProbedApp): Promise<ServedApp>;
  /** What the platform in front of the mount does itself. */
  platform?: HttpPlatform | undefined;
  /** What the mount cannot do, each with the reason, which stands in the name of the case that says what was left out. */
  lacks?: HttpLacks | undefined;
}

/** What is mounted. All of it but `receiver` is JSON, so that `JSON.stringify(app)` goes to another process. */
export interface ProbedApp {
  /** For a mount in this process; made when it is first looked at. In another process: `createProbedReceiver(app)`. */
  readonly receiver: Receiver<"network">;
  readonly secret: string;
  /** Where the receiver tells the suite what it keeps and handles: a URL of this machine. */
  readonly tell: string;
  /** How long the receiver waits for what keeps the deliveries, milliseconds. */
  readonly storeTimeoutMs: number;
  /** The mount's options as they are. */
  readonly options: ProbedOptions;
}

/** The options of a mount that the suite tries. */
export interface ProbedOptions {
  readonly path?: string;
  readonly source?: string;
  /** With `timeoutMs`, milliseconds. */
  readonly answer?: "after-handlers";
  readonly timeoutMs?: number;
}

/** An app that listens. */
export interface ServedApp {
  /** Where the mount is asked. With `options.path` the suite puts that path in the place of the URL's own. */
  readonly url: string;
  /** Closes the receiver while the server goes on. @default `receiver.close()`, for a mount in this process */
  shutDown?: (() => Promise<void>) | undefined;
  /** Ends the server, or the process, with what is open on it. The suite closes the receiver of this process itself. */
  close(): void | Promise<void>;
}

/** What never reaches a mount, because the platform in front of it answers or adds it itself. */
interface HttpPlatform {
  /** Methods that the platform answers itself, such as `HEAD`. @default none */
  ownMethods?: readonly string[] | undefined;
  /** Headers that the platform adds to every answer, in lower case. @default none */
  ownHeaders?: readonly string[] | undefined;
}

/** What a mount cannot do, and why: a sentence, such as `the platform hands the body over whole`. */
export interface HttpLacks {
  /** Bodies come as a stream: an answer can go out before the body is in. */
  streams?: string | undefined;
  /** Bodies of more than 64 KiB. */
  longBodies?: string | undefined;
  /** The option `path`. */
  path?: string | undefined;
  /** The option `source`. */
  source?: string | undefined;
  /** A receiver that is closed while a request is open. */
  shutDown?: string | undefined;
  /** The options `answer: "after-handlers"` and `timeoutMs`. */
  afterHandlers?: string | undefined;
}
