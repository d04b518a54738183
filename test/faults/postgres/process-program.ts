import { createReceiver, isHooklineError, RetryLater, type AnyEvent, type Context } from "hookline";
import { nodeReceiver } from "hookline/node";
import { createServer } from "node:http";
import { setTimeout as later } from "node:timers/promises";
import { createPostgresInbox } from "../../../adapters/inbox/postgres/postgres-inbox.ts";
import type { Claim, WorkingInbox } from "../../../src/adapter.ts";
import { openJournal } from "./journal.ts";

/** Options of a process of a row. */
export interface ProcessOptions {
  readonly connectionString: string;
  readonly directConnectionString?: string | undefined;
  readonly instance: string;
  readonly journal: string;
  readonly secret: string;
  /** False: it never calls `start()`. */
  readonly works: boolean;
  readonly leaseMs: number;
  /** The events that it has handlers for. */
  readonly handles: readonly HandlerName[];
}

export type HandlerName = keyof typeof HANDLERS;

const HANDLERS = {
  email: {},
  "contact.changes": {},
  calendarEvent: { merge: false, lane: "resource" },
  tracking: { merge: false },
} as const;

// A receiver as users write it. Its handlers and its inbox write a journal. Prints `ready <port>`.
const options = JSON.parse(process.argv[2] ?? "{}") as ProcessOptions;
const { instance, secret } = options;
const append = openJournal(options.journal);

function connectionTo(connectionString: string): Record<string, unknown> {
  return { connectionString, application_name: `chaos-${instance}` };
}

const inbox = journaled(
  createPostgresInbox({
    connection: connectionTo(options.connectionString),
    directConnection: options.directConnectionString && connectionTo(options.directConnectionString),
    schema: "hookline",
    migrate: true,
    leaseMs: options.leaseMs,
    keepDoneMs: 86_400_000,
    keepUnhandledMs: 86_400_000,
    keepDeadMs: Infinity,
    keepBodies: "retention",
    maxJobs: 500_000,
  } as Parameters<typeof createPostgresInbox>[0]),
);

function journaled(inside: WorkingInbox<"network">): WorkingInbox<"network"> {
  const numbers = new WeakMap<Claim, number>();
  let claims = 0;

  function note(claim: Claim): void {
    numbers.set(claim, (claims += 1));
    const [{ consumer, lane }] = claim.jobs;
    const jobs = claim.jobs.map(({ id }) => Number(id));
    const names = claim.jobs.map(({ delivery, entry }) => {
      const { payloads } = JSON.parse(Buffer.from(delivery.body).toString()) as { payloads: { name: string }[] };
      return payloads[entry]?.name ?? "";
    });
    append({ what: "claim", instance, claim: claims, consumer, lane, jobs, names });
  }

  return {
    ...inside,
    work: (worker) =>
      inside.work({
        ...worker,
        lost(lost) {
          for (const claim of lost) append({ what: "lost", instance, claim: numbers.get(claim) ?? 0 });
          worker.lost(lost);
        },
      }),
    async claim(limits) {
      const claimed = await inside.claim(limits);
      for (const claim of claimed.claims) note(claim);
      return claimed;
    },
    settle: (settlements) =>
      Promise.all(
        settlements.map(async (settlement) => {
          const [held = false] = await inside.settle([settlement]);
          const to = settlement.outcomes.map((outcome) => outcome.to);
          append({ what: "settle", instance, claim: numbers.get(settlement.claim) ?? 0, to, held });
          return held;
        }),
      ),
  };
}

const log = (level: string) => (details: object, message?: string) => {
  const { err, code } = details as { err?: { message?: string }; code?: string };
  process.stderr.write(`${new Date().toISOString()} ${level} ${code} ${message} ${err?.message ?? ""}\n`);
};
const receiver = createReceiver({
  secret,
  inbox,
  storeTimeoutMs: 5_000,
  log: { error: log("error"), warn: log("warn"), info() {}, debug() {} },
});

let calls = 0;

async function handle(event: AnyEvent, ctx: Context): Promise<void> {
  const call = (calls += 1);
  append({ what: "start", instance, call, job: Number(ctx.jobId), merged: ctx.merged });
  const entries = ("changes" in event ? event.changes : [event]) as unknown as readonly { readonly does?: string }[];
  const [what, number] = (entries.at(-1)?.does ?? "").split(" ");
  if (Math.random() < 0.5) await later(Math.random() * 6);
  if (what === "take") await later(Number(number));
  // Such a retry counts no attempt.
  const ok = what !== "fail" || Math.random() < 0.5;
  append({ what: "end", instance, call, ok });
  if (!ok) throw new RetryLater({ afterMs: 20 });
}

for (const name of options.handles) receiver.on(name as "email", handle, HANDLERS[name]);

const server = createServer(nodeReceiver(receiver, { path: "/hooks" }));
process.once("SIGTERM", () => {
  server.close();
  void receiver.close({ drainMs: 10_000 }).then(() => server.closeAllConnections());
});
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  process.stdout.write(`ready ${typeof address === "object" ? address?.port : address}\n`);
});
if (options.works)
  await receiver.start().catch((error: unknown) => {
    if (!isHooklineError(error, "closed")) throw error;
  });
