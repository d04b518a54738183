import { UsageError } from "../../src/index.ts";

/**
 * Whether a request's URL is for a mount with this `path`. Without one everything that reaches the mount is for it.
 * @throws UsageError `option-invalid` for a `path` that no request can have
 */
export function toPathTest(path: string | undefined): (url: string) => boolean {
  if (path === undefined) return () => true;
  if (/^\/[^?#]*$/.test(path)) return (url) => pathOf(url) === path;
  throw new UsageError(
    "option-invalid",
    `A mount's path is compared with the URL's path, got ${JSON.stringify(path)}.`,
    { fix: 'Begin it with "/", and leave the query out: `{ path: "/webhooks" }`.' },
  );
}

/** A proxy may send the whole URL in the request line (RFC 9112, section 3.2.2); a web-standard request always has it. */
function pathOf(url: string): string {
  if (!url.startsWith("/") && URL.canParse(url)) return new URL(url).pathname;
  const query = url.indexOf("?");
  return query === -1 ? url : url.slice(0, query);
}
