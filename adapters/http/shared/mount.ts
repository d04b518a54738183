import { assertOptions, kindOf, type AfterHandlers, type MountOptions, type RawRequest } from "../../../src/adapter.ts";
import { UsageError, type Receiver } from "../../../src/index.ts";
import { isLiteralPath } from "./literal-path.ts";

/** The options of a mount that can answer after the handlers; overloads say which go together. */
export type AnyMountOptions<Req> = MountOptions<Req> & { [K in keyof AfterHandlers]?: AfterHandlers[K] | undefined };

/** The names of `AfterHandlers`' options. */
export const AFTER_HANDLERS: readonly string[] = ["answer", "timeoutMs", "seen", "leaseMs", "keepMs"];

/** A receiver's reply, or one of the two below, which only a mount gives. */
export interface Answer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
}

/** For a request with another path, where no other handler follows the mount. */
export const NOT_FOUND: Answer = { status: 404, headers: {}, body: "" };

/** Should `receive` ever reject: nothing was acknowledged, and the delivery is redelivered. */
export const UNDECIDED: Answer = { status: 503, headers: { "Retry-After": "10" }, body: "" };

/**
 * Refuses unknown options and an invalid `source`.
 * @param more option names beside `path` and `source`
 * @throws UsageError `option-invalid`
 */
export function assertMountOptions(mount: string, options: MountOptions<never>, more: readonly string[] = []): void {
  const names = ["path", "source", ...more];
  assertOptions(mount, options, Object.fromEntries(names.map((name) => [name, true] as const)) as never);
  const { source } = options;
  if (source === undefined || typeof source === "string" || typeof source === "function") return;
  throw new UsageError(
    "option-invalid",
    `${mount} got ${kindOf(source)} for \`source\`, expected a text or a function of the request.`,
    {
      fix: 'Name the application, `{ source: "crm" }`, or say which one a request is for: `{ source: (req) => req.params.tenant }`.',
    },
  );
}

/** @throws UsageError `receiver-invalid` for what would answer each delivery 503 */
export function assertReceiver(receiver: Receiver): void {
  if (typeof receiver?.receive === "function") return;
  throw new UsageError("receiver-invalid", `A mount got ${kindOf(receiver)}, expected a receiver.`, {
    fix: "Pass what `createReceiver` made.",
  });
}

/** The request with the `source` of the mount's options. */
export function withSource<Req>(raw: RawRequest, source: MountOptions<Req>["source"], request: Req): RawRequest {
  if (typeof source !== "function") return source === undefined ? raw : { ...raw, source };
  return {
    ...raw,
    // The receiver reads it after the header checks: until then, unauthenticated clients do not reach the user's function.
    get source() {
      return source(request);
    },
  };
}

/**
 * A test of whether a request's URL has this `path`. Without a path every request that reaches the mount passes.
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a pattern
 */
export function toPathTest(path: string | undefined): (url: string) => boolean {
  if (path === undefined) return () => true;
  assertPath(path);
  if (!isLiteralPath(path))
    throw invalidPath(
      JSON.stringify(path),
      "It is no pattern: leave `path` out and let a router match it, or mount each path by itself, and ask `source` which one it was. Letters beyond ASCII are written as `encodeURI` writes them.",
    );
  return (url) => pathOf(url) === path;
}

/**
 * For a mount whose framework compares the path itself, and knows patterns.
 * @throws UsageError `option-invalid` for anything that is not a path
 */
export function assertPath(path: unknown): void {
  if (typeof path === "string" && /^\/[^?#]*$/.test(path)) return;
  throw invalidPath(
    typeof path === "string" ? JSON.stringify(path) : kindOf(path),
    'Begin it with "/", and leave the query out: `{ path: "/webhooks" }`.',
  );
}

function invalidPath(got: string, fix: string): UsageError {
  return new UsageError("option-invalid", `A mount's path is compared with the URL's path, got ${got}.`, { fix });
}

/** A proxy may send the whole URL in the request line (RFC 9112, section 3.2.2); a web-standard request always has it. */
function pathOf(url: string): string {
  if (!url.startsWith("/") && URL.canParse(url)) return new URL(url).pathname;
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}
