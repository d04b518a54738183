import { kindOf } from "../../../src/adapter.ts";
import { UsageError } from "../../../src/index.ts";

/**
 * Whether a request's URL is for a mount with this `path`. Without one everything that reaches the mount is for it.
 * @throws UsageError `option-invalid` for a `path` that no request can have, or a pattern
 */
export function toPathTest(path: string | undefined): (url: string) => boolean {
  if (path === undefined) return () => true;
  assertPath(path);
  if (!isLiteralPath(path))
    throw invalid(
      JSON.stringify(path),
      "It is no pattern: leave `path` out and let a router match it, or mount each path by itself, and ask `source` which one it was. Letters beyond ASCII are written as `encodeURI` writes them.",
    );
  return (url) => pathOf(url) === path;
}

/**
 * For a mount whose framework compares the path itself, and knows patterns.
 * @throws UsageError `option-invalid` for what is no path at all
 */
export function assertPath(path: unknown): void {
  if (typeof path === "string" && /^\/[^?#]*$/.test(path)) return;
  throw invalid(
    typeof path === "string" ? JSON.stringify(path) : kindOf(path),
    'Begin it with "/", and leave the query out: `{ path: "/webhooks" }`.',
  );
}

/** What a URL's path may be made of, but for what routers read as a pattern: `:name`, `*`, `{name}`, `(a|b)`, `[id]`. */
export function isLiteralPath(path: string): boolean {
  return /^\/[\w/%.~$&'+,;=@!-]*$/.test(path);
}

function invalid(got: string, fix: string): UsageError {
  return new UsageError("option-invalid", `A mount's path is compared with the URL's path, got ${got}.`, { fix });
}

/** A proxy may send the whole URL in the request line (RFC 9112, section 3.2.2); a web-standard request always has it. */
function pathOf(url: string): string {
  if (!url.startsWith("/") && URL.canParse(url)) return new URL(url).pathname;
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}
