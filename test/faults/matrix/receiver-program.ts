import { createReceiver, GiveUp, isHooklineError, type AnyEvent, type Clock, type Context } from "hookline";
import { nodeReceiver } from "hookline/node";
import { sqliteInbox } from "hookline/sqlite";
import { createHash } from "node:crypto";
import { createServer } from "node:http";
import { setTimeout as later } from "node:timers/promises";
import { createSqliteInbox } from "../../../adapters/inbox/sqlite/sqlite-inbox.ts";
import { faultyChannels, type Fault } from "../../adapters/inbox/faulty-thread.ts";
import { openJournal } from "./journal.ts";
import type { ReceiverProcessOptions } from "./receiver-process.ts";

// A receiver as users write it, whose handlers write a journal. The field `does` of an event chooses what its handler does: it may kill the process.
// Prints `ready <port>`, `works` once it has the worker lock, and `closed <counts>`.
const options = JSON.parse(process.argv[2] ?? "{}") as ReceiverProcessOptions;
const { instance, storeTimeoutMs = 5_000 } = options;
const append = openJournal(options.journal);
const faults = faultyChannels();
let wallMs = (): number => Date.now();
let calls = 0;

const clock: Clock = {
  now: () => wallMs(),
  setTimer(run, ms) {
    const timer = setTimeout(run, ms);
    return { clear: () => clearTimeout(timer), unref: () => void timer.unref() };
  },
};

const receiver = createReceiver({
  secret: options.secret,
  inbox: options.faulty
    ? createSqliteInbox({ file: options.file, openThread: faults.open })
    : sqliteInbox(options.file, { minFreeDiskBytes: 0, ...options.inbox }),
  concurrency: options.concurrency,
  timeoutMs: options.timeoutMs,
  graceMs: options.graceMs,
  storeTimeoutMs,
  attempts: 4,
  clock,
});

/** Fields of an entry that only these tests add. */
interface TestFields {
  readonly name: string;
  readonly does?: string;
}

async function handle(event: AnyEvent, ctx: Context): Promise<void> {
  const call = (calls += 1);
  const each = "changes" in event;
  const entries = (each ? event.changes : [event]) as unknown as readonly TestFields[];
  const { attempt, merged, jobId, replayOf } = ctx;
  const names = entries.map(({ name }) => name);
  append({
    at: "start",
    instance,
    call,
    job: Number(jobId),
    merged,
    attempt,
    replay: replayOf !== undefined,
    names,
    each,
  });
  let sha: string | undefined;
  try {
    const { bodyBase64 } = await ctx.delivery();
    sha = createHash("sha256").update(Buffer.from(bodyBase64, "base64")).digest("hex");
    await act(entries.at(-1)?.does ?? "", ctx);
  } catch (error) {
    append({ at: "end", instance, call, ok: false, sha });
    throw error;
  }
  append({ at: "end", instance, call, ok: true, sha });
}

/** @param does `<what> <number> <instance>`; if an instance is given, every other instance ignores it */
async function act(does: string, ctx: Context): Promise<void> {
  const [what, text, only = instance] = does.split(" ");
  const number = Number(text);
  switch (only === instance ? what : "") {
    case "kill":
      process.kill(process.pid, "SIGKILL");
      return;
    case "exit":
      process.exit(3);
      return;
    case "fail":
      if (ctx.attempt <= number) throw new Error("no");
      return;
    case "give-up":
      if (ctx.replayOf === undefined) throw new GiveUp("no");
      return;
    case "reject-undefined":
      if (ctx.attempt <= number) await Promise.reject(undefined);
      return;
    case "block":
      for (const end = performance.now() + number; performance.now() < end;);
      return;
    case "obey":
      await later(number, undefined, { signal: ctx.signal });
      return;
    case "ignore":
      await later(number);
      return;
    case "hang":
      await new Promise(() => {});
      return;
    case "quick":
      return;
    default:
      if (Math.random() < 0.5) await later(Math.random() * 6);
  }
}

receiver
  .on("email", handle)
  .on("contact.changes", handle)
  .on("calendarEvent", handle, { merge: false, lane: "resource" })
  .on("task", handle, { merge: false, lane: "none" })
  .on("tracking", handle)
  .on("booking", handle)
  .on("booking", handle, { consumer: "search" })
  .on("unknown", handle);

const mount = nodeReceiver(receiver, { path: "/hooks" });
const server = createServer((req, res) => {
  if (req.url?.startsWith("/control/") === true)
    void control(req.url).then((result) => res.end(JSON.stringify(result)));
  else mount(req, res);
});

async function control(url: string): Promise<unknown> {
  const { pathname, searchParams } = new URL(url, "http://localhost");
  switch (pathname) {
    case "/control/clock": {
      const [offsetMs, frozenAt] = [Number(searchParams.get("offset")), Date.now()];
      wallMs = searchParams.has("frozen") ? () => frozenAt + offsetMs : () => Date.now() + offsetMs;
      return {};
    }
    case "/control/fault":
      faults.next(JSON.parse(searchParams.get("fault") ?? "{}") as Fault);
      return {};
    case "/control/replay":
      return receiver.jobs.replay({ state: "dead" });
    case "/control/idle":
      await receiver.idle();
      return control("/control/state");
    default:
      return { health: await receiver.health(), stats: receiver.stats(), rss: process.memoryUsage().rss };
  }
}

function print(text: string): void {
  process.stdout.write(`${text}\n`);
}

process.once("SIGTERM", () => {
  server.close();
  void receiver.close({ drainMs: options.drainMs ?? 10_000 }).then((closed) => {
    print(`closed ${JSON.stringify(closed)}`);
    server.closeAllConnections();
    clearInterval(pulse);
    // Printed only by a process that does not exit: the resources that keep it alive.
    setTimeout(() => print(`held by ${process.getActiveResourcesInfo().join(" ")}`), 5_000).unref();
  });
});

let worked = false;
const pulse = setInterval(() => {
  append({ at: "beat", instance });
  if (worked || receiver.stats().role !== "working") return;
  worked = true;
  print("works");
}, 20);
server.listen(0, "127.0.0.1", () => {
  const address = server.address();
  print(`ready ${typeof address === "object" ? address?.port : address}`);
});
// After SIGTERM during the start, `start()` may reject.
if (options.works)
  await receiver.start().catch((error: unknown) => {
    if (!isHooklineError(error, "closed")) throw error;
  });
