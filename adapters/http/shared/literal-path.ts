/** False for what routers read as a pattern: `:name`, `*`, `{name}`, `(a|b)`, `[id]`. Alone here: the command line asks it, and loads no mount. */
export function isLiteralPath(path: string): boolean {
  return /^\/[\w/%.~$&'+,;=@!-]*$/.test(path);
}
