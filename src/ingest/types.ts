/**
 * What a way to read a body must keep to.
 */
export interface ReadLimits {
  /** More bytes than this are refused: throw `bodyTooLarge(maxBytes)` of hookline/adapter. */
  readonly maxBytes: number;
  /** Aborts when the body is late. */
  readonly signal: AbortSignal;
  /**
   * Call it with each chunk's length while the body streams, so that all bodies being read share one bound.
   * @throws BodyError `intake-full` when `maxInFlightBytes` is reached: stop reading
   */
  count?(bytes: number): void;
}

/** One HTTP request as a mount hands it in. Also for a mount of one's own, see `receiver.receive`. */
export interface RawRequest {
  readonly method: string;
  /** Path and query as they arrived, or a whole URL. */
  readonly url: string;
  /** In any case; a header that came twice as a list, or joined by a comma. */
  readonly headers: Readonly<Record<string, string | readonly string[] | undefined>>;
  /** Bytes, a stream, or a way to read that is only used once the headers have passed. */
  readonly body: Uint8Array | AsyncIterable<Uint8Array> | ((limits: ReadLimits) => Promise<Uint8Array>);
  /** Which of your URLs or applications this came through. Read once, when the headers have passed: a getter may look it up. */
  readonly source?: string | undefined;
  /** What the platform gives beside the request; handed on to a secret look-up. */
  readonly platform?: unknown;
  /** Set by a mount that found its body parsed already, although the bytes survived: what to change. Warned of once. */
  readonly parsedBefore?: string | undefined;
}

/** The answer, whole: a mount sends it as it is. @see design of answers in the README */
export interface Reply {
  readonly status: 200 | 400 | 401 | 405 | 408 | 413 | 415 | 422 | 500 | 503;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** What every mount takes. */
export interface MountOptions<Req = unknown> {
  /** Compared with the original URL's path; other paths pass on. @default every request that reaches the mount is for it */
  path?: string | undefined;
  /** Which of your URLs or applications; stored with the delivery. A function gives a text at once: anything else is answered 503. */
  source?: string | ((request: Req) => string | undefined) | undefined;
}
