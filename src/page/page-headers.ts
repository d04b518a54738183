/** Nothing is loaded from elsewhere, and no other page may show this one in a frame. */
const POLICY =
  "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; frame-ancestors 'none'; base-uri 'none'; form-action 'none'";

/** The files that the pages share: a browser loads each by its name, relative to the module that imports it. */
export const SHARED_FILES = ["page.css", "dom.js", "format.js", "message.js"] as const;

/** Headers of a page's file, whatever it is: `index.html`, a style or a module. */
export function pageHeaders(file: string): Readonly<Record<string, string>> {
  return { "Content-Type": TYPES[file.slice(file.lastIndexOf(".") + 1)] ?? "text/plain", ...SAFE_HEADERS };
}

/** Of every answer that a page's browser gets. */
export const SAFE_HEADERS: Readonly<Record<string, string>> = {
  "Content-Security-Policy": POLICY,
  "X-Content-Type-Options": "nosniff",
  "Referrer-Policy": "no-referrer",
  "Cache-Control": "no-store",
};

const TYPES: Readonly<Record<string, string>> = {
  html: "text/html; charset=utf-8",
  css: "text/css; charset=utf-8",
  js: "text/javascript; charset=utf-8",
};
