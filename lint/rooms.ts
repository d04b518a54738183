import { posix, relative, sep } from "node:path";

/** One room of the house and what it may import besides itself. */
interface Room {
  /** A folder with its slash, one file, or `<folder>/*` for the other files right in it. The first row that fits is a file's room. */
  readonly room: string;
  /** Rooms, folders, files, `npm:<package>`, `node:<module>`; what ends in `/` or `:` allows everything below it. */
  readonly may: readonly string[];
  /** Said to whoever breaks the rule: why it is so, and where the import belongs instead. */
  readonly why: string;
}

/** What the receiver and the inbox say to each other. */
const PORT = ["src/inbox/port.ts", "src/inbox/keeping.ts", "src/inbox/tombstones.ts", "src/inbox/delivery.ts"];

/** The import directions. A file below `src/`, `adapters/` or `examples/` that no row fits is reported too. */
export const rooms: readonly Room[] = [
  {
    room: "src/protocol/",
    may: ["src/errors.ts", "src/kind-of.ts", "npm:zod/mini", "node:crypto", "node:buffer"],
    why: "The protocol is pure: what the service's document says, as functions of their arguments. Hand the rest in as a parameter.",
  },
  {
    room: "src/receiver/",
    may: ["src/protocol/", ...PORT, "src/inbox/batcher.ts", "src/*", "node:crypto", "node:buffer"],
    why: "Receiving needs the secret and an inbox's writing half, and knows nothing of handlers. What both stages share is declared in src/inbox/port.ts; src/kit/ puts the rooms together.",
  },
  {
    room: "src/inbox/",
    may: ["src/protocol/", "src/*", "node:crypto", "node:buffer"],
    why: "An inbox owns primitives, never policy: ids, expansion, attempts and merging come in through the port.",
  },
  {
    room: "src/dispatch/",
    may: ["src/protocol/", "src/inbox/", "src/*", "npm:p-queue", "node:crypto", "node:buffer"],
    why: "Dispatch gets its work from the inbox alone, and nothing flows back to the receiver. What both stages share is declared in src/inbox/port.ts.",
  },
  {
    room: "src/testing/",
    may: ["src/", "node:", "npm:fast-check"],
    why: "Testing stands on the rooms and on Node alone, so that it works under every test runner; fast-check is loaded by the one that asks for the model.",
  },
  {
    room: "src/cli/",
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
    why: "The command line is a leaf on the faces, as a user's program would be: export it from src/index.ts or src/adapter.ts.",
  },
  {
    room: "src/index.ts",
    may: ["src/"],
    why: "The users' face only lists what the rooms export.",
  },
  {
    room: "src/adapter.ts",
    may: ["src/receiver/", "src/inbox/", "src/protocol/", "src/kit/work-after-answer.ts", "src/*"],
    why: "The face for authors of mounts and inboxes shows the receiver and the port, nothing of the handlers. The suite for mounts is in src/adapter-kit.ts: what a mount imports, it loads.",
  },
  {
    room: "src/adapter-kit.ts",
    may: ["src/adapter.ts", "src/testing/"],
    why: "This face only adds the suite for mounts to src/adapter.ts.",
  },
  {
    room: "src/signature.ts",
    may: ["src/protocol/", "src/receiver/", "src/errors.ts", "node:crypto", "node:buffer"],
    why: "This face works alone, without an inbox and without handlers.",
  },
  {
    room: "src/testing.ts",
    may: ["src/testing/"],
    why: "The testing face only lists what src/testing/ exports.",
  },
  {
    room: "src/kit/",
    may: ["src/protocol/", "src/receiver/", "src/inbox/", "src/dispatch/", "src/*"],
    why: "This is the one place that puts the rooms together; it adds no library of its own.",
  },
  {
    room: "src/*",
    may: ["src/protocol/", ...PORT, "src/inbox/job.ts", "npm:pino", "node:crypto"],
    why: "What several rooms share stands below them: errors, clock, log and small contracts. Only src/kit/ and the faces stand above the rooms.",
  },
  {
    room: "adapters/http/nest.ts",
    may: ["src/index.ts", "src/adapter.ts", "adapters/http/", "npm:@nestjs/common", "npm:@nestjs/core"],
    why: "Nest injects by its own classes, so this one adapter imports its framework; all else of it comes in as a structural XLike type.",
  },
  {
    room: "adapters/http/",
    may: ["src/index.ts", "src/adapter.ts", "npm:raw-body", "node:"],
    why: "Adapters live on the two faces, as a stranger's would: export it from src/index.ts or src/adapter.ts. A framework comes in as a structural XLike type.",
  },
  {
    room: "adapters/inbox/",
    may: ["src/index.ts", "src/adapter.ts", "node:"],
    why: "An inbox lives on the two faces, as a stranger's would: export it from src/index.ts or src/adapter.ts. Node brings SQLite along.",
  },
  {
    room: "examples/",
    may: ["npm:", "node:"],
    why: "An example is what a user would write: import hookline by name, such as hookline/node.",
  },
];

const HOUSE = /^(?:src|adapters|examples)\//;

/** The sentence for an import that the table forbids; `undefined` where it is allowed. Paths are relative to the repository. */
export function whyNot(file: string, specifier: string): string | undefined {
  if (!HOUSE.test(file)) return undefined;
  const here = roomOf(file);
  if (here === undefined) return `${file} stands in no room. Give its folder a row in lint/rooms.ts, or move the file.`;
  const target = nameOf(file, specifier);
  const there = roomOf(target)?.room;
  if (there === here.room || here.may.some((allowed) => allowed === there || covers(allowed, target))) return undefined;
  return `${file} may not import ${target}. ${here.why}`;
}

function roomOf(path: string): Room | undefined {
  return rooms.find(({ room }) => covers(room, path) || room === `${posix.dirname(path)}/*`);
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

/** The lint plugin: `rooms/imports` holds every import against the table. */
export default { meta: { name: "rooms" }, rules: { imports } };
