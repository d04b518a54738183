import type { Command } from "./command.ts";

/** What `hookline --help` prints. */
export function mainHelp(commands: readonly Pick<Command, "name" | "summary">[]): string {
  const lines = commands.map(({ name, summary }) => `  ${name.padEnd(8)} ${summary}`);
  return `Receive mailbox and calendar webhooks without losing one.

Usage: hookline <command> [flags]

Commands:
${lines.join("\n")}
  help     Print the help of a command: hookline help serve.

Flags:
  -h, --help     Print this.
  -v, --version  Print the version.

Exit codes:
  0  Done.
  1  Failed, or something is wrong: the command's own help says what.
${WRONG_USAGE}
`;
}

/** The line of exit code 2, the same for all. */
export const WRONG_USAGE = "  2  Wrong usage: what was got and what was expected is on stderr.";

const EXIT_CODES = `Exit codes:
  0  Done.
  1  Failed: what happened is on stderr.
${WRONG_USAGE}`;

/** What `hookline serve --help` prints. */
export const SERVE_HELP = `Receive deliveries and print each handled event as a line of JSON.

Usage: SIGNING_SECRET=<secret> hookline serve [flags]

Every delivery is verified, stored and answered 200. Then its events are printed
on stdout:

  {"name":"email.created","jobId":"...","attempt":1,"merged":1,"event":{...}}

  name     The event's type; "unknown" where it was signed but not understood.
  jobId    The unit of work that this line stands for.
  attempt  From 1.
  merged   How many waiting changes of one record came as this line.
  event    The event itself.

The log goes to stderr: lines of JSON, or of text on a terminal. Its first line
tells the addresses.

Flags:
  --port <port>     Where to listen; 0 takes a free port. Default: 3000.
  --host <address>  Which of the machine's addresses to listen on.
                    Default: 127.0.0.1, for a tunnel or a proxy on this machine
                    and nobody else. In a container, or behind a proxy on
                    another machine: 0.0.0.0.
  --path <path>     Where deliveries come; other paths are answered 404.
                    Default: /webhooks.
  --admin-port <port>
                    Tell how it stands, on a port of its own:
                    GET /livez   200; 503 where a restart can help
                    GET /readyz  200; 503 where a delivery would not be stored
                    GET /stats   counters, and problems with their fixes
                    0 takes a free port. Default: nobody is told.
  --admin-host <address>
                    Where that is told. Default: 127.0.0.1, this machine alone.
                    For a probe or Prometheus elsewhere: 0.0.0.0, or an address
                    of a private network, because it asks nobody who they are.
  --inbox <file>    Keep deliveries in this SQLite file, on a local disk: what
                    was answered 200 survives a crash and a power cut. Default:
                    in memory, which ends with the process.
  -h, --help        Print this.

Environment:
  SIGNING_SECRET    The signing secret of the application, from the service's
                    dashboard. Required.
  NO_COLOR          Set it for a log without colours on a terminal.

SIGTERM and Ctrl-C end it well: nothing more is taken in, and what was taken in
is printed, or with --inbox stored for the next start. A second one ends it at
once; what is not printed by then is lost where it was stored in memory. With
--inbox it comes again at the next start, and so does a line that was being
printed, with its attempt counted.

${EXIT_CODES}
`;
