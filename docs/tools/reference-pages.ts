import { Writable } from "node:stream";
import { INBOX_COMMANDS } from "../../src/cli/inbox/inbox-commands.ts";
import { run } from "../../src/cli/run.ts";
import { SUBSCRIPTIONS_COMMANDS } from "../../src/cli/subscriptions/subscriptions-commands.ts";
import type { Io } from "../../src/cli/command.ts";
import { REFUSALS } from "../../src/ingest/refusals.ts";
import { EVENT_NAMES, familyOf } from "../../src/protocol/event-names.ts";
import type { EventMap } from "../../src/protocol/event-types.ts";
import { PROBLEMS } from "../../src/receiver/health/problem-catalog.ts";
import { ERROR_MEANINGS } from "./error-meanings.ts";
import { servicePage } from "./service-page.ts";
import { errorCodes, readCode, type Code, type Row } from "./read-code.ts";

const GENERATED = "This page is made from the code by `npm run docs:reference`.";

/** The pages of docs/reference, made from the code. @returns text by the path from the root */
export async function referencePages(): Promise<ReadonlyMap<string, string>> {
  const code = readCode();
  const pages = {
    options: optionsPage(code),
    events: eventsPage(code),
    context: contextPage(code),
    errors: errorsPage(),
    answers: answersPage(),
    problems: problemsPage(),
    service: servicePage(GENERATED, tableOf),
    cli: await cliPage(),
  };
  return new Map(Object.entries(pages).map(([name, text]) => [`docs/reference/${name}.md`, `${text.trim()}\n`]));
}

function optionsPage({ optionsOf }: Code): string {
  const table = (file: string, name: string): string =>
    tableOf(["option", "meaning", "default"], optionsOf(file, name));
  const queueOptions = QUEUES.flatMap(([of, file, name]) =>
    optionsOf(file, name).map((row) => [`\`${of}\``].concat(row)),
  );
  return `# Options

${GENERATED} Names carry their units. A value out of its range throws a \`UsageError\` with code \`option-invalid\`.

## createReceiver

${table("src/receiver/options.ts", "ReceiverOptions")}

## receiver.on

The third argument, for one handler:

${table("src/dispatch/handlers.ts", "HandlerOptions")}

## sqliteInbox

The second argument, behind the file's path:

${table("adapters/inbox/sqlite/sqlite-options.ts", "SqliteInboxOptions")}

## postgresInbox

The second argument, behind the connection:

${table("adapters/inbox/postgres/postgres-options.ts", "PostgresInboxOptions")}

## memoryInbox

For tests and development. All options:

${table("src/inbox/memory/memory-inbox.ts", "MemoryInboxOptions")}

## forwardInbox

The second argument, behind the function that stores:

${tableOf(["option", "meaning", "default"], [FORWARD_STORAGE])}

## Queues

The last argument of each ([queues](../deploy/queues.md)):

${tableOf(["of", "option", "meaning", "default"], queueOptions)}

## Mounts

Every mount takes these; each mount's page has what it takes beside them.

${table("src/ingest/types.ts", "MountOptions")}

On [functions](../deploy/functions.md), where the answer waits for the handlers:

${table("src/ingest/after-handlers.ts", "AfterHandlers")}

The mounts that run on servers and on functions take two more ([which mount takes which](../deploy/functions.md#options-of-function-mounts)):

${tableOf(["option", "meaning", "default"], [RUNTIME, ...optionsOf("adapters/http/fetch.ts", "FetchOptions").filter(([name]) => name?.includes("waitUntil"))])}
`;
}

const QUEUES = [
  ["bullmqInbox", "adapters/inbox/bullmq.ts", "BullmqInboxOptions"],
  ["pgBossInbox", "adapters/inbox/pg-boss.ts", "PgBossInboxOptions"],
  ["pgBossHandler", "adapters/inbox/pg-boss.ts", "PgBossHandlerOptions"],
  ["sqsInbox", "adapters/inbox/sqs.ts", "SqsInboxOptions"],
  ["natsInbox", "adapters/inbox/nats.ts", "NatsInboxOptions"],
  ["every consumer", "adapters/inbox/queues/consume.ts", "ConsumerOptions"],
] as const;

/** Declared in no interface of its own. */
const FORWARD_STORAGE = [
  "`storage`",
  'What your queue survives: `"network"` the end of this machine or function, `"disk"` the end of the process, `"memory"` nothing. Only `"network"` compiles on a mount of a function that answers before the handlers.',
  '"network"',
];
const RUNTIME = [
  "`runtime`",
  '`"long-lived"`: this process runs on after the answer, and you call `receiver.start()` and `close()`.',
  "as on a function",
];

function eventsPage(code: Code): string {
  // One table for the events of a family that have the same fields.
  const groups = Map.groupBy(
    EVENT_NAMES,
    (name) =>
      `${familyOf(name)} ${code
        .fieldsOf(name)
        .map(([field]) => field)
        .join()}`,
  );
  const sections = [...groups.values()].map((names) => {
    const meanings = names.map((name) => `- \`${name}\`: ${EVENT_MEANINGS[name]}`).join("\n");
    const all = names.map((name) => code.fieldsOf(name));
    const rows = (all[0] ?? []).map(([field = "", , meaning = ""], index): Row => {
      const types = new Set(all.map((fields) => fields[index]?.[1] ?? ""));
      return [field, [...types].join(" or "), meaning];
    });
    return `## ${names.join(", ")}\n\n${meanings}\n\n${tableOf(["field", "type", "meaning"], rows)}`;
  });
  return `# Events

${GENERATED} Every event has \`type\`, which is its name. A field with \`?\` may be absent. Fields that the service adds later are stored, and
are on the event under the service's names.

\`receiver.on\` also takes families: \`email\`, \`contact\`, \`calendarEvent\` and \`task\` mean created, updated and deleted;
\`tracking\` and \`lifecycle\` mean all of theirs; \`*\` means every known event, one at a time. The most specific handler of a
consumer gets the event. See [handlers](../concepts/handlers.md).

${sections.join("\n\n")}
`;
}

const CHANGED = "a change is a hint, fetch the record";
const SIGNALLED = "something changed; no record is named";
const BATCHED = "all pending changes of one resource as one batch: use it to trigger a delta sync";

const EVENT_MEANINGS: Readonly<Record<keyof EventMap, string>> = {
  "email.created": `a message is new; ${CHANGED}`,
  "email.updated": `a message changed; ${CHANGED}`,
  "email.deleted": "a message is probably gone: fetch it, and delete your copy on 404",
  "email.signal": SIGNALLED,
  "email.changes": BATCHED,
  "contact.created": `a contact is new; ${CHANGED}`,
  "contact.updated": `a contact changed; ${CHANGED}`,
  "contact.deleted": "a contact is probably gone: fetch it, and delete your copy on 404",
  "contact.signal": SIGNALLED,
  "contact.changes": BATCHED,
  "calendarEvent.created": `an event of a calendar is new; ${CHANGED}`,
  "calendarEvent.updated": `an event of a calendar changed; ${CHANGED}`,
  "calendarEvent.deleted": "an event of a calendar is probably gone: fetch it, and delete your copy on 404",
  "calendarEvent.signal": SIGNALLED,
  "calendarEvent.changes": BATCHED,
  "task.created": `a task is new; ${CHANGED}`,
  "task.updated": `a task changed; ${CHANGED}`,
  "task.deleted": "a task is probably gone: fetch it, and delete your copy on 404",
  "task.signal": SIGNALLED,
  "task.changes": BATCHED,
  "tracking.open": "a tracked message was opened",
  "tracking.click": "a link of a tracked message was followed",
  "tracking.reply": "a tracked message was answered",
  "tracking.replyBounce": "the answer to a tracked message bounced",
  "tracking.initial": "tracking of a message started",
  booking: "a meeting was booked; the service announces the creation only",
  "lifecycle.error": "the subscription has an error: changes may be missing until it works again",
  "lifecycle.active": "the subscription works again",
  unknown: "signed and stored, but not understood",
};

function contextPage({ membersOf }: Code): string {
  return `# Context

${GENERATED} A handler's second argument, \`ctx\`.

${tableOf(["member", "type", "meaning"], membersOf("src/dispatch/calls/context.ts", "Context"))}
`;
}

function errorsPage(): string {
  const codes = errorCodes();
  const missing = [...codes].filter((code) => !(code in ERROR_MEANINGS) && !(code in REFUSALS));
  const extra = Object.keys(ERROR_MEANINGS).filter((code) => !codes.has(code));
  if (missing.length + extra.length > 0)
    throw new Error(
      `error-meanings.ts lacks ${missing.join(", ") || "none"}, and has ${extra.join(", ") || "none"} that the code never makes.`,
    );
  const rows = Object.entries(ERROR_MEANINGS).map(([code, [name, when]]): Row => [`\`${code}\``, name, when]);
  return `# Errors

${GENERATED} Every error has a stable \`code\`, a message with the actual and the expected value, and mostly a \`fix\`.
\`isHooklineError(error, code?)\` recognises them, across copies of the package, too. The codes of refused requests are in
[answers](answers.md).

${tableOf(["code", "class", "when"], rows)}

${tableOf(
  ["class", "meaning"],
  [
    ["HooklineError", "the base class of all"],
    ["UsageError", "the program uses Hookline wrongly: thrown by the call that does so"],
    ["SignatureError", "a request's signature or timestamp is invalid"],
    ["BodyError", "a body could not be read"],
    ["StorageError", "an inbox could not store, or not in time; nothing was acknowledged"],
    ["ClosedError", "the receiver is closing or closed, or the job was taken away"],
    [
      "ServiceError, BadRequest, Unauthorized, NotFound ...",
      "a call of the service failed: [the client](../client.md#errors)",
    ],
    ["GiveUp, RetryLater", "your handlers throw them: dead at once; tried again at that time"],
  ],
)}
`;
}

function answersPage(): string {
  const rows = Object.entries(REFUSALS).map(([code, { status, message, fix }]): Row => [
    `\`${code}\``,
    String(status),
    message,
    fix,
  ]);
  return `# Answers

${GENERATED} Why a request was refused. The sender sees the status alone; the code is in the log and in
\`receiver.stats().refused\`. [Answers and redelivery](../concepts/answers.md) explains which answer is chosen.

A delivery that is stored is answered **200**, and so is the verification handshake. A delivery of a subscription that you
decided against is answered **422**, and the service deletes that subscription. With [\`answer: "after-handlers"\`](../deploy/functions.md)
200 means that the handlers are done, and nothing is stored.

${tableOf(["code", "status", "what was wrong", "what to do"], rows)}
`;
}

function problemsPage(): string {
  const rows = Object.entries(PROBLEMS).map(([code, { message, fix }]): Row => [
    `[\`${code}\`](../operate/runbook.md#${code})`,
    message,
    fix,
  ]);
  return `# Problems

${GENERATED} What the \`problems\` of \`receiver.health()\` can contain, the most severe first. Each has a section in the
[runbook](../operate/runbook.md).

${tableOf(["code", "meaning", "fix"], rows)}
`;
}

async function cliPage(): Promise<string> {
  const names = [
    "serve",
    "probe",
    "send",
    "emulator",
    "emulator load",
    "check",
    "explain",
    "subscriptions",
    ...SUBSCRIPTIONS_COMMANDS.map(({ name }) => name),
    ...INBOX_COMMANDS.map(({ name }) => name),
  ];
  const helps = await Promise.all(names.map(async (name) => `## ${name}\n\n${textBlock(await helpOf([name]))}`));
  return `# Command line

${GENERATED} The program is part of the package: \`npx hookline <command>\`.

${textBlock(await helpOf([]))}

${helps.join("\n\n")}
`;
}

async function helpOf(words: readonly string[]): Promise<string> {
  let out = "";
  const stdout = new Writable({
    write(chunk: Buffer, _encoding, done) {
      out += chunk.toString();
      done();
    },
  });
  const io = { stdout, stderr: stdout, stdin: process.stdin, env: {}, signals: process, exit() {} } satisfies Io;
  await run(["help", ...words.flatMap((word) => word.split(" "))], io);
  return out.trimEnd();
}

function textBlock(content: string): string {
  return `\`\`\`text\n${content}\n\`\`\``;
}

function tableOf(head: Row, rows: readonly Row[]): string {
  return [toLine(head), `|${head.map(() => " --- |").join("")}`, ...rows.map(toLine)].join("\n");
}

function toLine(cells: Row): string {
  return `| ${cells.map(toCell).join(" | ")} |`;
}

function toCell(cell: string): string {
  return cell.replaceAll("|", "\\|").replaceAll(/\s+/g, " ").trim();
}
