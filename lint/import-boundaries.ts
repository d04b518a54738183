import { posix, relative, sep } from "node:path";

/** One module and what it may import besides itself. */
interface Boundary {
  /** A folder with its slash, one file, or `<folder>/*` for the other files right in it. The first row that fits is a file's module. */
  readonly module: string;
  /** Modules, folders, files, `npm:<package>`, `node:<module>`; what ends in `/` or `:` allows everything below it. */
  readonly may: readonly string[];
  /** Said to whoever breaks the rule: why it is so, and where the import belongs instead. */
  readonly why: string;
}

/** The import directions. A file below `src/`, `adapters/` or `examples/` that no row fits is reported too. */
export const boundaries: readonly Boundary[] = [
  {
    module: "src/protocol/",
    may: ["src/errors.ts", "src/assert.ts", "npm:zod/mini", "node:crypto", "node:buffer"],
    why: "The protocol is pure: what the service's document says, as functions of their arguments. Hand the rest in as a parameter.",
  },
  {
    module: "src/ingest/",
    may: ["src/protocol/", "src/inbox/port/", "src/inbox/batcher.ts", "src/*", "node:crypto", "node:buffer"],
    why: "Receiving needs the secret and an inbox's writing half, and knows nothing of handlers. What both stages share is declared in src/inbox/port/; src/receiver/ joins the modules.",
  },
  {
    module: "src/inbox/",
    may: ["src/protocol/", "src/*", "node:crypto", "node:buffer"],
    why: "An inbox owns primitives, never policy: ids, expansion, attempts and merging come in through the port.",
  },
  {
    module: "src/dispatch/",
    may: ["src/protocol/", "src/inbox/", "src/*", "npm:p-queue", "node:crypto", "node:buffer"],
    why: "Dispatch gets its work from the inbox alone, and nothing flows back to src/ingest/. What both stages share is declared in src/inbox/port/.",
  },
  {
    module: "src/testing/",
    may: ["src/", "node:"],
    why: "Testing imports the modules and Node alone, so that it works under every test runner.",
  },
  {
    module: "src/cli/",
    may: [
      "src/index.ts",
      "src/adapter.ts",
      "src/signature.ts",
      "src/testing.ts",
      "src/errors.ts",
      "adapters/",
      "npm:pino",
      "node:",
    ],
    why: "The command line imports the public entry points alone, as a user's program would: export it from src/index.ts or src/adapter.ts.",
  },
  {
    module: "src/index.ts",
    may: ["src/"],
    why: "This entry point only lists what the modules export.",
  },
  {
    module: "src/adapter.ts",
    may: ["src/ingest/", "src/inbox/", "src/protocol/", "src/receiver/serverless.ts", "src/*"],
    why: "The entry point for authors of mounts and inboxes shows ingest and the port, nothing of the handlers.",
  },
  {
    module: "src/signature.ts",
    may: ["src/protocol/", "src/ingest/", "src/errors.ts", "node:crypto", "node:buffer"],
    why: "This entry point works alone, without an inbox and without handlers.",
  },
  {
    module: "src/testing.ts",
    may: ["src/testing/"],
    why: "This entry point only lists what src/testing/ exports.",
  },
  {
    module: "src/receiver/",
    may: ["src/protocol/", "src/ingest/", "src/inbox/", "src/dispatch/", "src/*"],
    why: "This is the one module that joins the others; it adds no library of its own.",
  },
  {
    module: "src/*",
    may: ["src/protocol/", "src/inbox/port/", "npm:pino", "node:crypto"],
    why: "What several modules share stands below them: errors, clock, log and small contracts. Only src/receiver/ and the entry points stand above the modules.",
  },
  {
    module: "adapters/http/nest.ts",
    may: ["src/index.ts", "src/adapter.ts", "adapters/http/", "npm:@nestjs/common", "npm:@nestjs/core"],
    why: "Nest injects by its own classes, so this one adapter imports its framework; all else of it comes in as a structural XLike type.",
  },
  {
    module: "adapters/http/",
    may: ["src/index.ts", "src/adapter.ts", "npm:raw-body", "node:"],
    why: "Adapters import the two public entry points alone, as one outside this repository would: export it from src/index.ts or src/adapter.ts. A framework comes in as a structural XLike type.",
  },
  {
    module: "adapters/inbox/sqlite/thread/",
    may: ["adapters/inbox/", "src/adapter.ts", "src/inbox/job-state.ts", "node:"],
    why: "The commit thread loads what it runs and no more: of src/ only the rules of job-state.ts, and types of src/adapter.ts.",
  },
  {
    module: "adapters/inbox/",
    may: ["adapters/inbox/", "src/index.ts", "src/adapter.ts", "node:"],
    why: "An inbox imports the two public entry points alone, as one outside this repository would: export it from src/index.ts or src/adapter.ts. Node brings SQLite along.",
  },
  {
    module: "examples/",
    may: ["npm:", "node:"],
    why: "An example is what a user would write: import hookline by name, such as hookline/node.",
  },
];

const CHECKED = /^(?:src|adapters|examples)\//;

/** The sentence for an import that the table forbids; `undefined` where it is allowed. Paths are relative to the repository. */
export function whyNot(file: string, specifier: string): string | undefined {
  if (!CHECKED.test(file)) return undefined;
  const here = moduleOf(file);
  if (here === undefined)
    return `${file} belongs to no module. Give its folder a row in lint/import-boundaries.ts, or move the file.`;
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
    const look = (node: Source) => {
      const specifier = node.source?.value;
      const message = typeof specifier === "string" ? whyNot(file, specifier) : undefined;
      if (message !== undefined) context.report({ node, message });
    };
    return {
      ImportDeclaration: look,
      ImportExpression: look,
      ExportNamedDeclaration: look,
      ExportAllDeclaration: look,
      TSImportType: look,
    };
  },
};

/** The lint plugin: `boundaries/imports` checks every import against the table. */
export default { meta: { name: "boundaries" }, rules: { imports } };
