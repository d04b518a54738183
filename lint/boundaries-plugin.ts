import { posix, relative, sep } from "node:path";
import { boundaries, type Boundary } from "./import-boundaries.ts";

const CHECKED = /^(?:src|adapters|examples)\//;

/** The error message of a forbidden import; `undefined` for an allowed one. Paths are relative to the repository. */
export function whyNot(file: string, specifier: string): string | undefined {
  if (!CHECKED.test(file)) return undefined;
  const here = moduleOf(file);
  if (here === undefined)
    return `${file} belongs to no module. Add a row for its folder to lint/import-boundaries.ts, or move the file.`;
  const target = nameOf(file, specifier);
  const there = moduleOf(target)?.module;
  if (there === here.module || here.may.some((allowed) => allowed === there || covers(allowed, target)))
    return undefined;
  return `${file} may not import ${target}. ${here.why}`;
}

function moduleOf(path: string): Boundary | undefined {
  return boundaries.find(({ module }) => covers(module, path) || module === `${posix.dirname(path)}/*`);
}

function covers(pattern: string, path: string): boolean {
  return /[/:]$/.test(pattern) ? path.startsWith(pattern) : path === pattern;
}

function nameOf(file: string, specifier: string): string {
  if (specifier.startsWith(".")) return posix.join(posix.dirname(file), specifier);
  return specifier.startsWith("node:") ? specifier : `npm:${specifier}`;
}

interface Source {
  readonly source?: { readonly type: string; readonly value?: unknown } | null;
}

interface Context {
  readonly cwd: string;
  readonly physicalFilename: string;
  report(problem: { readonly node: object; readonly message: string }): void;
}

const imports = {
  create(context: Context) {
    const file = relative(context.cwd, context.physicalFilename).split(sep).join("/");
    const check = (node: Source) => {
      const specifier = node.source?.value;
      const message = typeof specifier === "string" ? whyNot(file, specifier) : undefined;
      if (message !== undefined) context.report({ node, message });
    };
    return {
      ImportDeclaration: check,
      ImportExpression: check,
      ExportNamedDeclaration: check,
      ExportAllDeclaration: check,
      TSImportType: check,
    };
  },
};

/** The lint plugin: `boundaries/imports` checks every import against the table. */
export default { meta: { name: "boundaries" }, rules: { imports } };
