/** A module and its allowed imports besides itself. */
export interface Boundary {
  /** A folder with its slash, one file, or `<folder>/*` for the other files directly in it. The first matching row is a file's module. */
  readonly module: string;
  /** Modules, folders, files, `npm:<package>`, `node:<module>`; an entry that ends in `/` or `:` allows everything below it. */
  readonly may: readonly string[];
  /** The error message: the reason of the rule, and where the import belongs instead. */
  readonly why: string;
}

/** The import directions. A file below `src/`, `adapters/` or `examples/` without a matching row is reported too. */
export const boundaries: readonly Boundary[] = [
  ...["client", "subscriptions", "sync", "emulator", "dashboard", "testing"].map((entry) => ({
    module: `src/${entry}.ts`,
    may: [`src/${entry}/`],
    why: `This entry point only lists what src/${entry}/ exports.`,
  })),
  {
    module: "src/protocol/",
    may: ["src/errors.ts", "src/assert.ts", "npm:zod/mini", "node:crypto", "node:buffer"],
    why: "The protocol is pure: the service's wire format as functions of their arguments. Pass everything else as a parameter.",
  },
  {
    module: "src/ingest/",
    may: [
      "src/protocol/",
      "src/inbox/port/",
      "src/inbox/batcher.ts",
      "src/inbox/inbox-watch.ts",
      "src/inbox/ordinary-bytes.ts",
      "src/observe/",
      "src/*",
      "node:crypto",
      "node:buffer",
    ],
    why: "Ingest needs the secret and an inbox's writing half, never handlers. Declare shared types in src/inbox/port/; src/receiver/ joins the modules.",
  },
  {
    module: "src/inbox/",
    may: ["src/protocol/", "src/*", "node:crypto", "node:buffer"],
    why: "An inbox stores and claims, without policy: ids, expansion, attempts and merging are parameters of the port.",
  },
  {
    module: "src/dispatch/",
    may: ["src/protocol/", "src/inbox/", "src/observe/", "src/*", "npm:p-queue", "node:crypto", "node:buffer"],
    why: "Dispatch gets its work from the inbox alone, never from src/ingest/. Declare shared types in src/inbox/port/.",
  },
  {
    module: "src/client/",
    may: [
      "src/errors.ts",
      "src/assert.ts",
      "src/clock.ts",
      "src/retry-after.ts",
      "src/protocol/read-fields.ts",
      "src/protocol/id.ts",
      "src/protocol/event-types.ts",
      "npm:p-queue",
      "npm:zod/mini",
    ],
    why: "The client works alone, in browsers and on edge runtimes too: nothing of the receiver, and nothing of Node.",
  },
  {
    module: "src/subscriptions/",
    may: [
      "src/client.ts",
      "src/index.ts",
      "src/protocol/",
      "src/ingest/responses.ts",
      "src/receiver/internals.ts",
      "src/receiver/handshake-listeners.ts",
      "src/receiver/health/",
      "src/*",
      "npm:p-queue",
    ],
    why: "Subscriptions stand on the client and the public API; of a receiver they use its internals, never how it works.",
  },
  {
    module: "src/sync/",
    may: [
      "src/client.ts",
      "src/index.ts",
      "src/assert.ts",
      "src/protocol/resource-paths.ts",
      "src/receiver/internals.ts",
      "src/receiver/health/problem-catalog.ts",
      "npm:zod/mini",
    ],
    why: "A sync stands on the public receiver and the public client, like a user's program; src/receiver/internals.ts gives it the clock, health() and the inbox's store.",
  },
  {
    module: "src/testing/",
    may: ["src/", "node:"],
    why: "Testing imports only the modules and Node, so that it works in every test runner.",
  },
  {
    module: "src/emulator/wire/",
    may: ["src/protocol/event-types.ts", "src/errors.ts", "node:crypto"],
    why: "What the service writes is composed and signed by code of its own, which shares nothing with the code that reads it.",
  },
  {
    module: "src/emulator/",
    may: [
      "src/emulator/",
      "src/page/",
      "src/protocol/",
      "src/errors.ts",
      "src/clock.ts",
      "npm:hono",
      "npm:hono/",
      "npm:@hono/node-server",
      "npm:rrule-temporal",
      "npm:temporal-polyfill",
      "npm:zod",
      "node:",
    ],
    why: "The emulator plays the other side: of the receiver it may know the wire format, never how deliveries are received or handled.",
  },
  {
    module: "src/dashboard/",
    may: [
      "src/index.ts",
      "src/page/",
      "src/assert.ts",
      "src/errors.ts",
      "src/logger.ts",
      "src/receiver/internals.ts",
      "src/receiver/serverless.ts",
      "src/receiver/health/problem-catalog.ts",
      "node:",
    ],
    why: "The dashboard looks at a receiver as a user's program does: what it shows is in the public API.",
  },
  {
    module: "src/page/",
    may: [],
    why: "What the pages of the emulator and of the dashboard share runs in a browser, and knows neither of them.",
  },
  {
    module: "src/cli/",
    may: [
      "src/index.ts",
      "src/adapter.ts",
      "src/signature.ts",
      "src/testing.ts",
      "src/emulator.ts",
      "src/client.ts",
      "src/subscriptions.ts",
      "src/dashboard/",
      "src/errors.ts",
      "src/protocol/envelope.ts",
      "src/subscriptions/",
      "src/receiver/internals.ts",
      "src/receiver/health/problem-catalog.ts",
      "adapters/",
      "npm:pino",
      "node:",
    ],
    why: "The command line imports the public entry points, like a user's program. Besides, it reads the events of a body as the receiver does, and lists and deletes subscriptions as planSubscriptions does, shows the dashboard of a file, and adds a problem of forwarded events to health(): none of it is public.",
  },
  {
    module: "src/index.ts",
    may: ["src/"],
    why: "This entry point only lists what the modules export.",
  },
  {
    module: "src/adapter.ts",
    may: [
      "src/ingest/",
      "src/inbox/",
      "src/protocol/",
      "src/receiver/serverless.ts",
      "src/receiver/internals.ts",
      "src/*",
    ],
    why: "The entry point for authors of mounts and inboxes exports ingest and the port, nothing of dispatch.",
  },
  {
    module: "src/signature.ts",
    may: ["src/protocol/", "src/ingest/", "src/errors.ts", "node:crypto", "node:buffer"],
    why: "This entry point works alone, without an inbox and without handlers.",
  },
  {
    module: "src/observe/",
    may: ["src/protocol/", "src/inbox/port/", "src/*"],
    why: "What is counted and told of a receiver knows none of the modules that count and tell.",
  },
  {
    module: "src/gaps/",
    may: ["src/protocol/", "src/inbox/", "src/ingest/types.ts", "src/dispatch/", "src/receiver/", "src/*"],
    why: "What may have been missed is seen by what was received, stored and handled; src/receiver/ creates the watch, and src/ingest/ knows nothing of it.",
  },
  {
    module: "src/receiver/",
    may: ["src/protocol/", "src/ingest/", "src/inbox/", "src/dispatch/", "src/gaps/", "src/observe/", "src/*"],
    why: "Only this module joins the others; it imports no library.",
  },
  {
    module: "src/*",
    may: ["src/protocol/", "src/inbox/port/", "npm:pino", "node:crypto"],
    why: "Files that several modules share (errors, clock, logger) import none of them. Only src/receiver/ and the entry points import the modules.",
  },
  {
    module: "adapters/http/nest.ts",
    may: ["src/index.ts", "src/adapter.ts", "adapters/http/", "npm:@nestjs/common", "npm:@nestjs/core"],
    why: "Nest injects by its own classes, so this adapter imports its framework; describe the rest by a structural XLike type.",
  },
  {
    module: "adapters/http/",
    may: ["src/index.ts", "src/adapter.ts", "npm:raw-body", "node:"],
    why: "Adapters import only the two public entry points, like one outside this repository: export it from src/index.ts or src/adapter.ts. Describe a framework by a structural XLike type.",
  },
  ...["adapters/inbox/sqlite/jobs/find-jobs.ts", "adapters/inbox/sqlite/thread/"].map((module) => ({
    module,
    may: ["adapters/inbox/", "src/adapter.ts", "src/inbox/job-state.ts", "src/inbox/jobs/found-jobs.ts", "node:"],
    why: "The commit thread loads what it runs and no more: of src/ only the rules of job-state.ts, how pages of jobs are put together, and types of src/adapter.ts.",
  })),
  {
    module: "adapters/inbox/sqlite/jobs/change-jobs.ts",
    may: ["adapters/inbox/", "src/adapter.ts", "src/inbox/port/jobs.ts", "src/protocol/id.ts", "node:"],
    why: "It runs in the commit thread, which loads no more than it runs: of src/ only how an account is read and what an erasure says, and types of src/adapter.ts.",
  },
  {
    module: "adapters/inbox/sqlite/jobs/request-pages.ts",
    may: ["adapters/inbox/", "src/adapter.ts", "src/inbox/port/jobs.ts", "node:"],
    why: "It runs in the commit thread, which loads no more than it runs: of src/ only how erased rows are counted, and types of src/adapter.ts.",
  },
  {
    module: "adapters/inbox/postgres/connection/",
    may: ["adapters/inbox/postgres/", "src/index.ts", "src/adapter.ts", "npm:pg", "node:"],
    why: "Only what connects knows the driver, which is an optional peer: give the rest a Pool. Of src/ the two public entry points.",
  },
  ...["adapters/inbox/sqlite/", "adapters/inbox/postgres/"].map((module) => ({
    module,
    may: [
      "adapters/inbox/",
      "src/index.ts",
      "src/adapter.ts",
      "src/inbox/claim-book.ts",
      "src/inbox/parking.ts",
      "src/inbox/pauses.ts",
      "src/inbox/upkeep/tombstone-cache.ts",
      "src/inbox/upkeep/retention.ts",
      "src/inbox/jobs/found-jobs.ts",
      "src/inbox/collections/ordered-pages.ts",
      "node:",
    ],
    why: "The durable inboxes share with each other and the memory inbox: lanes and claims, what is parked or paused, tombstones, passes of retention, and pages of jobs. Of src/ those, and the two public entry points.",
  })),
  {
    module: "adapters/inbox/sqs.ts",
    may: ["adapters/inbox/", "src/index.ts", "src/adapter.ts", "npm:@aws-sdk/client-sqs"],
    why: "The client of SQS is told what to send by classes of its package, an optional peer; describe the rest by a structural XLike type.",
  },
  {
    module: "adapters/inbox/",
    may: ["adapters/inbox/", "src/index.ts", "src/adapter.ts", "node:"],
    why: "An inbox imports only the two public entry points, like one outside this repository: export it from src/index.ts or src/adapter.ts. Node includes SQLite.",
  },
  {
    module: "adapters/seen/",
    may: ["src/index.ts", "node:crypto"],
    why: "A store of handled events is what a user could write: describe its client by a structural XLike type.",
  },
  {
    module: "adapters/observe/",
    may: [
      "src/index.ts",
      "src/adapter.ts",
      "src/observe/instruments.ts",
      "src/assert.ts",
      "src/receiver/internals.ts",
      "src/ingest/responses.ts",
      "src/protocol/event-names.ts",
      "npm:@opentelemetry/api",
    ],
    why: "Metrics and traces hook into a receiver by src/observe/instruments.ts and its internals, and know the names that it uses; never how it works.",
  },
  {
    module: "examples/",
    may: ["npm:", "node:"],
    why: "An example is a user's program: import hookline by name, such as hookline/node.",
  },
];
