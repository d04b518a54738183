import { spawn } from "node:child_process";
import { once } from "node:events";
import { closeSync, existsSync, openSync } from "node:fs";
import { join } from "node:path";
import { PassThrough, Writable } from "node:stream";
import { describe, expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { INBOX_COMMANDS } from "../../src/cli/inbox/inbox-commands.ts";
import { run } from "../../src/cli/run.ts";
import { SUBSCRIPTIONS_COMMANDS } from "../../src/cli/subscriptions/subscriptions-commands.ts";
import { SEND_NAMES } from "../../src/cli/send/compose-events.ts";
import { tooOldNode } from "../../src/cli/version.ts";
import { startCli } from "./child.ts";
import { runCli } from "./in-process.ts";

describe("help", () => {
  test.each([["--help"], ["-h"], ["help"]])("%s tells the commands and the exit codes", async (word) => {
    const cli = runCli([word]);
    expect(await cli.ended).toBe(0);
    expect(cli.out()).toMatchInlineSnapshot(`
      "Receive mailbox and calendar webhooks without losing one.

      Usage: hookline <command> [flags]

      Commands:
        dev            Pass the service's deliveries to an app on this machine.
        serve          Receive deliveries, and print each event as a line of JSON or
                       hand it to an app.
        probe          Ask a running serve whether it lives, or is ready: an exit code
                       for a container's health check.
        send           Send a signed sample of any event, or the handshake, to a URL.
        emulator       Play the service on a local port: mailboxes and signed
                       deliveries.
        check          Ask a running app whether it answers as a receiver must.
        explain        Tell which known mistake makes the signature of a request fail.
        subscriptions  List, create and delete an account's subscriptions.
        inbox          Look into an inbox; replay, drop and erase jobs.
        help           Print the help of a command: hookline help serve.

      Flags:
        -h, --help     Print this help.
        -v, --version  Print the version.

      Exit codes:
        0  Done.
        1  Failed, or a problem was found: the command's own help says which.
        2  Wrong usage: stderr says what was got and what was expected.
      "
    `);
    expect(cli.err()).toBe("");
  });

  test.each([[["serve", "--help"]], [["serve", "-h", "--port", "1"]], [["help", "serve"]]])(
    "%s tells all about serve, without a secret",
    async (args) => {
      const cli = runCli(args);
      expect(await cli.ended).toBe(0);
      expect(cli.out()).toMatchInlineSnapshot(`
        "Receive deliveries, and print each event as a line of JSON or hand it to an app.

        Usage: SIGNING_SECRET=<secret> hookline serve [flags]

        Every delivery is verified, stored and answered 200. Then its events are printed
        on stdout:

          {"name":"email.created","jobId":"...","attempt":1,"merged":1,"event":{...}}

          name     The event's type; "unknown" where it was signed but not understood.
          jobId    The unit of work that this line stands for.
          attempt  From 1.
          merged   How many waiting changes of one record this line stands for.
          event    The event itself.

        With --forward-to, events are handed to an app of any language instead, by POST:

          hookline serve --inbox inbox.db --forward-to http://127.0.0.1:8000/events

        The body is {"type":"email.created","attempt":1,"merged":1,"event":{...}},
        signed as Standard Webhooks prescribes. The app's answer decides: 2xx done; 410
        dead at once; 429 and 503 with Retry-After are followed, up to an hour; any
        other answer or none is tried again for 3 days, then dead. The service gets 200
        in all cases.

        The log goes to stderr: lines of JSON, or of text on a terminal. Its first line
        has the URLs.

        Flags:
          --port <port>        Where to listen; 0 takes a free port. Default: 3000.
          --host <address>     Which of the machine's addresses to listen on. The
                               default is for a tunnel or a proxy on this machine alone;
                               in a container, or behind a proxy on another machine,
                               take 0.0.0.0. Default: 127.0.0.1.
          --path <path>        The path of deliveries; other paths are answered 404.
                               Default: /webhooks.
          --admin-port <port>  The port of health and stats. GET /livez answers 503 if a
                               restart can help. GET /readyz answers 503 while a
                               delivery would not be stored. GET /stats has counters,
                               and problems with their fixes. GET /metrics is for
                               Prometheus. On a loopback address, /ui is the dashboard,
                               without content and changes. 0 takes a free port.
                               Default: none.
          --admin-host <address>
                               The address on which the admin port listens. The port
                               asks for no password. Default: 127.0.0.1, which only this
                               machine reaches. For a probe or a Prometheus on another
                               machine, take 0.0.0.0 or an address of a private network;
                               /ui is off then.
          --inbox <inbox>      Store deliveries in this SQLite file, on a local disk, or
                               in the PostgreSQL database of a connection string: what
                               was answered 200 survives a crash and a power cut.
                               Default: in memory, which ends with the process.
          --forward-to <url>   Hand each event to this app by POST instead of printing
                               it. Give name=url to name the app, and the flag again for
                               a further one: each has its own jobs and retries.
          --forward-secret <secret>
                               What requests to the apps are signed with. Better in
                               FORWARD_SECRET: flags are in the list of processes.
          --forward-timeout <seconds>
                               How long an app may take for one event. Default: 30.
          --concurrency <n>    Requests to the apps at once, and the most connections to
                               each. Default: 10.
          --only <names>       Hand over only these events or families. Other families
                               wait in the inbox for 7 days; other changes of a family
                               of which one change is named are skipped. Default: all.
          --allow-link-local   Forward to 169.254.0.0/16 too, where clouds give
                               credentials away.
          -h, --help           Print this help.

        Environment:
          SIGNING_SECRET      The signing secret of the application, from the service's
                              dashboard. Required.
          OLD_SIGNING_SECRET  Is accepted as well, while you change the secret.
          FORWARD_SECRET      With --forward-to: what requests to the apps are signed
                              with. Two, with a blank between, both sign.
          NO_COLOR            Set it to have no colours on a terminal.

        SIGTERM and Ctrl-C end it in order: it accepts nothing more, and prints what it
        accepted, or with --inbox leaves it there for the next start. A second signal
        ends it at once: events in memory that are not printed by then are lost. With
        --inbox they are printed after the next start, and so is a line that was being
        printed, with its attempt counted.

        Exit codes:
          0  Done.
          1  Failed: stderr says why.
          2  Wrong usage: stderr says what was got and what was expected.
        "
      `);
      expect(cli.err()).toBe("");
    },
  );

  test.each([[["send", "--help"]], [["send", "-h", "--count", "3"]], [["help", "send"]]])(
    "%s tells all about send, without a name, a URL and a secret",
    async (args) => {
      const cli = runCli(args);
      expect(await cli.ended).toBe(0);
      expect(cli.out()).toMatchInlineSnapshot(`
        "Send a signed delivery as the service does, and tell what the answer means.

        Usage: SIGNING_SECRET=<secret> hookline send <name> --to <url> [flags]
               SIGNING_SECRET=<secret> hookline send --from <file> --to <url> [flags]

          hookline send email.created --to http://localhost:3000/webhooks
          hookline send booking --to http://localhost:3000/webhooks --count 1000
          hookline send handshake --to https://example.com/webhooks
          hookline send --from captured.jsonl --to http://localhost:3000/webhooks

        Names:
          email.created  email.updated  email.deleted  email.signal  email.changes
          and the same of contact, calendarEvent and task
          tracking.open  tracking.click  tracking.reply  tracking.replyBounce
          tracking.initial
          booking
          lifecycle.error  lifecycle.active
          unknown    Signed, but of no known resource.
          handshake  The verification that precedes a subscription. The answer must be
                     status 200, content type text/plain, and exactly the token as body.

        With --from it sends what hookline dev --capture or hookline inbox export
        --show-content has written: each body unchanged, signed anew with the present
        time, one after the other in the order of the file. A delivery that several
        lines have is sent once. Lines without a body are skipped and counted.

        One request prints its status, its latency (connecting included) and what the
        status means: 200 acknowledges, 422 deletes the subscription, anything else is
        redelivered. Several print a table of statuses and latencies. Redirects are not
        followed, and after 10 seconds without an answer a request is given up.

        Flags:
          --to <url>         The URL of the app's route. Required.
          --from <file>      Send the deliveries of a file instead.
          --only <name>      Of --from: only deliveries that have an event of this name.
          --data <json>      Fields of the event instead of the made-up ones, such as
                             '{"accountId":7}'. Of unknown: fields of the body.
          --count <n>        How many deliveries. From the second on each is about
                             another record: m-1, m-1-2, m-1-3 where its id is text,
                             701, 1701, 2701 where it is a number. The trackingId of
                             tracking and the eventId of booking vary too. Signals and
                             lifecycle have no record. Default: 1.
          --rate <n>         At most so many a second, such as 50 or 0.5. Default: as
                             fast as the concurrency allows.
          --per-second <n>   The same as --rate.
          --concurrency <n>  At most so many samples at once. Default: 10.
          -h, --help         Print this help.

        Environment:
          SIGNING_SECRET  The signing secret of the receiver. Required.
          NO_COLOR        Set it to have no colours on a terminal.

        Tracking events and bookings with a known id are handled once, so a second run
        does nothing new: give them another id or eventId with --data.

        Ctrl-C ends it and prints the outcome of the requests so far.

        Exit codes:
          0  Every request was answered 200, or the handshake was right.
          1  One was not, or it was stopped: stdout says what happened.
          2  Wrong usage: stderr says what was got and what was expected.
        "
      `);
      expect(cli.err()).toBe("");
    },
  );

  test.each([[["explain", "--help"]], [["explain", "-h", "file"]], [["help", "explain"]]])(
    "%s tells all about explain, without a secret",
    async (args) => {
      const cli = runCli(args);
      expect(await cli.ended).toBe(0);
      expect(cli.out()).toMatchInlineSnapshot(`
        "Tell why the signature of a captured request is wrong, and what to change.

        Usage: SIGNING_SECRET=<secret> hookline explain [<file>]

          hookline explain captured.txt
          pbpaste | hookline explain

        It reads the request from a file, or from stdin where there is none or it is
        "-". The request has one of two forms:

          raw HTTP  The request line, the headers, a blank line, the body; as an
                    inspector shows it, or as "nc -l 3000 > captured.txt" stores it.
          JSON      {"headers":{...},"body":"..."}, with "bodyBase64" instead of "body"
                    for exact bytes, and optionally "method" and "url". A delivery as
                    Hookline hands it to a queue of yours is such JSON.

        It prints which known mistake explains the signature, with the fix: a body that
        was parsed and written again, white space at its ends, a secret with spaces,
        quotes or decoded, base64 for hex, a signature of the body alone, milliseconds,
        a clock that is wrong. It prints neither the secret nor a signature.

        A paste into a terminal or an editor may add a newline to the body, and a
        terminal cuts lines of over 4,095 bytes: a file, or JSON with bodyBase64,
        preserves each byte.

        Flags:
          -h, --help  Print this help.

        Environment:
          SIGNING_SECRET  The signing secret of the application. Required.
          NO_COLOR        Set it to have no colours on a terminal.

        Exit codes:
          0  The signature is right, and neither too old nor from the future.
          1  A mistake was found: stdout says which.
          2  Wrong usage, or a request that cannot be read: stderr says why.
        "
      `);
      expect(cli.err()).toBe("");
    },
  );

  test("names every event that can be sent", async () => {
    const cli = runCli(["help", "send"]);
    await cli.ended;
    for (const name of SEND_NAMES) {
      const [family = "", event] = name.split(".");
      expect(cli.out()).toMatch(new RegExp(`\\b${family}\\b`));
      if (event !== undefined) expect(cli.out()).toContain(`.${event}`);
    }
  });

  test("fits a terminal of 80 columns, each page of it", async () => {
    const main = runCli(["help"]);
    await main.ended;
    const [list = ""] = main.out().split("Flags:");
    const listed = [...list.matchAll(/^ {2}(\w+) /gm)].map(([, word]) => word ?? "");
    const pages = listed.filter((word) => word !== "help");
    expect(pages).toEqual(["dev", "serve", "probe", "send", "emulator", "check", "explain", "subscriptions", "inbox"]);
    const below = [...INBOX_COMMANDS, ...SUBSCRIPTIONS_COMMANDS].map(({ name }) => name.split(" "));
    expect(below).toHaveLength(21);
    for (const words of [[], ...pages.map((page) => [page]), ...below]) {
      const cli = runCli(["help", ...words]);
      expect(await cli.ended).toBe(0);
      expect(cli.out()).toContain("Exit codes:");
      for (const line of cli.out().split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });
});

test("a Node that is too old is named, with the oldest one that works", () => {
  const oldest = manifest.engines.node.replace(">=", "");
  expect(tooOldNode("20.20.2")).toMatch(
    new RegExp(`^This is Node 20.20.2, and Hookline needs Node ${oldest} or newer`),
  );
  expect(tooOldNode("9.0.0")).toBeDefined();
  expect(tooOldNode("22.9.0")).toBeDefined();
  for (const version of [`${oldest}.0`, "22.100.0", "24.0.0", "100.1.0"]) expect(tooOldNode(version)).toBeUndefined();
});

test("no command begins on a Node that is too old", async () => {
  const versions = Object.getOwnPropertyDescriptor(process, "versions")!;
  onTestFinished(() => void Object.defineProperty(process, "versions", versions));
  Object.defineProperty(process, "versions", { ...versions, value: { ...process.versions, node: "20.20.2" } });
  const cli = runCli(["serve", "--port", "0"]);
  expect(await cli.ended).toBe(1);
  expect(cli.err()).toMatch(/^hookline: This is Node 20\.20\.2, and Hookline needs Node/);
});

test.each([["--version"], ["-v"]])("%s prints the package's version", async (word) => {
  const cli = runCli([word]);
  expect(await cli.ended).toBe(0);
  expect(cli.out()).toBe(`${manifest.version}\n`);
});

describe("wrong usage ends with 2 and says what is allowed", () => {
  const words =
    "Allowed: dev, serve, probe, send, emulator, check, explain, subscriptions, inbox, help, --help, --version.";
  const flags =
    "Allowed: --port, --host, --path, --admin-port, --admin-host, --inbox, --forward-to, --forward-secret, --forward-timeout, --concurrency, --only, --allow-link-local, --help.";
  const host = "expected an address of this machine without a port, such as 127.0.0.1, ::1, or 0.0.0.0 for all.";
  const path = 'expected a path that begins with "/", without a query and no pattern, such as /webhooks.';

  test.each([
    [[], `The command is missing. ${words}`],
    [["sevre"], `There is no command sevre. ${words}`],
    [["--verbose"], `There is no flag --verbose. ${words}`],
    [["help", "sevre"], `There is no command sevre. ${words}`],
    [["help", "serve", "all"], `There is no command serve all. ${words}`],
  ])("hookline %j", async (args, message) => {
    const cli = runCli(args);
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toBe(`hookline: ${message}\nSee hookline --help.\n`);
    expect(cli.out()).toBe("");
  });

  test.each([
    [["--prot", "3000"], `There is no flag --prot. ${flags}`],
    [["-p"], `There is no flag -p. ${flags}`],
    [["--toString"], `There is no flag --toString. ${flags}`],
    [["3000"], `Got the argument "3000", expected flags only. ${flags}`],
    [["--", "3000"], `Got the argument "3000", expected flags only. ${flags}`],
    [["--help=yes"], `--help takes no value, got "yes".`],
    [["--port"], "--port needs a value: a whole number from 0 to 65535."],
    [["--port", "--host", "::1"], "--port needs a value: a whole number from 0 to 65535."],
    [["--port="], `--port got "", expected a whole number from 0 to 65535.`],
    [["--port", "65536"], `--port got "65536", expected a whole number from 0 to 65535.`],
    [["--port", "-1"], `--port got "-1", expected a whole number from 0 to 65535.`],
    [["--port", "3e3"], `--port got "3e3", expected a whole number from 0 to 65535.`],
    [["--port", "http"], `--port got "http", expected a whole number from 0 to 65535.`],
    [["--host", "http://127.0.0.1"], `--host got "http://127.0.0.1", ${host}`],
    [["--host", "127.0.0.1:80"], `--host got "127.0.0.1:80", ${host}`],
    [["--host", "[::1]"], `--host got "[::1]", ${host}`],
    [["--host="], `--host got "", ${host}`],
    [["--admin-port", "x"], `--admin-port got "x", expected a whole number from 0 to 65535.`],
    [["--port=80", "--admin-port=80"], "--admin-port got 80, expected another port than --port."],
    [["--admin-port", "3000"], "--admin-port got 3000, expected another port than --port."],
    [["--path", "webhooks"], `--path got "webhooks", ${path}`],
    [["--path", "/webhooks?a=1"], `--path got "/webhooks?a=1", ${path}`],
  ])("hookline serve %j", async (args, message) => {
    const cli = runCli(["serve", ...args], { env: { SIGNING_SECRET: "secret" } });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toBe(`hookline serve: ${message}\nSee hookline serve --help.\n`);
    expect(cli.out()).toBe("");
  });

  const verbs =
    "stats, list, lanes, show, replay, drop, erase, pause, resume, paused, tombstones list, tombstones lift, gaps list, gaps clear, export, migrate, ui.";

  test.each([
    ["inbox", "", `The command is missing. Allowed: ${verbs}`],
    ["inbox", "lsit", `There is no command lsit. Allowed: ${verbs}`],
    ["inbox", "lsit --inbox f", `There is no command lsit. Allowed: ${verbs}`],
    ["inbox", "--inbox f", `The command is missing. Allowed: ${verbs}`],
    ["inbox", "tombstones raise --inbox f", `There is no command tombstones raise. Allowed: ${verbs}`],
    [
      "inbox stats",
      "",
      "--inbox is missing, expected the path of the inbox file, or the connection string of its database. HOOKLINE_INBOX may name it.",
    ],
    [
      "inbox stats",
      "--inbox=",
      '--inbox got "", expected the path of a file, or a connection string such as postgres://user@host/database.',
    ],
    ["inbox show", "", "ID is missing, expected the number of a job."],
    [
      "inbox show",
      "1 2",
      'Got the argument "2", expected one ID and flags only. Allowed: --inbox, --schema, --json, --show-content, --help.',
    ],
    ["inbox erase", "--account x", '--account got "x", expected a number, such as 2002.'],
    ["inbox drop", "1e3", 'ID got "1e3", expected the number of a job.'],
    ["inbox drop", "", "Got neither ids nor a filter. Say which jobs: their ids, or --dead."],
    ["inbox drop", "1 --dead", "Got ids and a filter, expected one of them."],
    ["inbox drop", "--since 2h", "Got a filter without a state. Say which jobs: --dead, or --state."],
    ["inbox drop", "--dead --state done", "Got --dead and --state, expected one of them."],
    [
      "inbox drop",
      "--state done",
      "drop takes no jobs that are done, only those that are waiting, dead or unhandled: --state names them.",
    ],
    [
      "inbox drop",
      "--state dead,skipped,running",
      "drop takes no jobs that are skipped or running, only those that are waiting, dead or unhandled: --state names them.",
    ],
    [
      "inbox replay",
      "--state waiting --dry-run",
      "replay takes no jobs that are waiting, only those that are done, skipped, dead or unhandled: --state names them.",
    ],
    [
      "inbox tombstones list",
      "--state dead",
      "There is no flag --state. Allowed: --inbox, --schema, --json, --show-content, --help.",
    ],
    ["inbox replay", "--dead --json=yes", '--json takes no value, got "yes".'],
  ])("hookline %s %s", async (command, args, message) => {
    const cli = runCli(`${command} ${args}`.trim().split(" "));
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toBe(`hookline ${command}: ${message}\nSee hookline ${command} --help.\n`);
  });

  test.each([
    ["--since", "2026-02-30"],
    ["--since", "yesterday"],
    ["--until", "2026-11-20T25:00"],
    ["--state", "dead,ded"],
    ["--type", ""],
    ["--limit", "0"],
  ])("hookline inbox list %s %j", async (flag, value) => {
    const cli = runCli(["inbox", "list", `${flag}=${value}`]);
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain(`hookline inbox list: ${flag} got "${value}", expected `);
  });

  test.each([
    [{}, "not set"],
    [{ SIGNING_SECRET: "" }, "empty"],
    [{ SIGNING_SECRET: " \n" }, "empty"],
  ])("hookline serve with %j", async (env, what) => {
    const cli = runCli(["serve"], { env });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toBe(
      `hookline serve: SIGNING_SECRET is ${what}. Set it to the signing secret of the application, from the service's dashboard.\nSee hookline serve --help.\n`,
    );
  });
});

test("a flag given twice counts as it was given last", async () => {
  const cli = runCli(["serve", "--path", "/first", "--port=0", "--path=/last"], { env: { SIGNING_SECRET: "secret" } });
  expect(await cli.url()).toMatch(/:\d+\/last$/);
});

test("an error that nobody foresaw ends with 1 and tells its place", async () => {
  let told = "";
  const stderr = new PassThrough().on("data", (text: Buffer) => (told += text.toString()));
  const env = new Proxy(
    {},
    {
      get: () => {
        throw new TypeError("no such thing");
      },
    },
  );
  const io = { stdin: process.stdin, stdout: new PassThrough(), stderr, env, signals: process, exit: () => {} };
  expect(await run(["serve"], io)).toBe(1);
  expect(told).toMatch(/^hookline serve: TypeError: no such thing\n +at .*run\.test\.ts/);
});

describe("what cannot be printed", () => {
  const failing = (code: string): Writable =>
    new Writable({ write: (_chunk, _encoding, done) => done(Object.assign(new Error("it failed"), { code })) });

  test("for a reader that left is no error", async () => {
    expect(await runCli(["help"], { stdout: failing("EPIPE") }).ended).toBe(0);
  });

  test.each([["--version"], ["help"], ["inbox", "list", "-h"]])("for a full disk ends with 1: %s", async (...args) => {
    const cli = runCli(args, { stdout: failing("ENOSPC") });
    expect(await cli.ended).toBe(1);
    expect(cli.err()).toContain(": stdout takes no more lines: it failed.\n");
  });

  test("does not hide that a command failed", async () => {
    const request = "POST /webhooks HTTP/1.1\r\n\r\n{}";
    const cli = runCli(["explain"], { stdin: request, stdout: failing("ENOSPC"), env: { SIGNING_SECRET: "secret" } });
    expect(await cli.ended).toBe(1);
  });

  test.skipIf(!existsSync("/dev/full"))("as a process, on a disk that is full, ends with 1", async () => {
    const full = openSync("/dev/full", "w");
    const args = ["--conditions=hookline-source", "src/cli/main.ts", "--version"];
    const child = spawn(process.execPath, args, {
      cwd: join(import.meta.dirname, "../.."),
      stdio: ["ignore", full, "ignore"],
    });
    closeSync(full);
    expect(await once(child, "close")).toEqual([1, null]);
  });
});

describe("as a process", () => {
  test("it prints on stdout and ends with 0", async () => {
    const cli = startCli(["--version"]);
    expect(await cli.ended).toBe(0);
    expect(cli.out()).toBe(`${manifest.version}\n`);
    expect(cli.err()).toBe("");
  });

  test("wrong usage goes to stderr and ends with 2", async () => {
    const cli = startCli(["serve", "--port", "x"], { SIGNING_SECRET: "secret" });
    expect(await cli.ended).toBe(2);
    expect(cli.out()).toBe("");
    expect(cli.err()).toContain('--port got "x"');
  });
});
