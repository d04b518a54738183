import { PassThrough, Writable } from "node:stream";
import { describe, expect, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { run } from "../../src/cli/run.ts";
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
        serve    Receive deliveries and print each handled event as a line of JSON.
        help     Print the help of a command: hookline help serve.

      Flags:
        -h, --help     Print this.
        -v, --version  Print the version.

      Exit codes:
        0  Done.
        1  Failed: what happened is on stderr.
        2  Wrong usage: what was got and what was expected is on stderr.
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
        "Receive deliveries and print each handled event as a line of JSON.

        Usage: SIGNING_SECRET=<secret> hookline serve [flags]

        Every delivery is verified, kept in memory and answered 200. Then its events are
        printed on stdout:

          {"name":"email.created","jobId":"...","attempt":1,"merged":1,"event":{...}}

          name     The event's type; "unknown" where it was signed but not understood.
          jobId    The unit of work that this line stands for.
          attempt  From 1.
          merged   How many waiting changes of one record came as this line.
          event    The event itself.

        The log goes to stderr: lines of JSON, or of text on a terminal. Its first line
        tells the address.

        Flags:
          --port <port>     Where to listen; 0 takes a free port. Default: 3000.
          --host <address>  Which of the machine's addresses to listen on.
                            Default: 127.0.0.1, for a tunnel or a proxy on this machine
                            and nobody else. In a container, or behind a proxy on
                            another machine: 0.0.0.0.
          --path <path>     Where deliveries come; other paths are answered 404.
                            Default: /webhooks.
          -h, --help        Print this.

        Environment:
          SIGNING_SECRET    The signing secret of the application, from the service's
                            dashboard. Required.
          NO_COLOR          Set it for a log without colours on a terminal.

        SIGTERM and Ctrl-C end it well: nothing more is taken in, and what was taken in
        is printed. A second one ends it at once; what is not printed by then is lost,
        as memory ends with the process.

        Exit codes:
          0  Done.
          1  Failed: what happened is on stderr.
          2  Wrong usage: what was got and what was expected is on stderr.
        "
      `);
      expect(cli.err()).toBe("");
    },
  );

  test("fits a terminal of 80 columns", async () => {
    for (const args of [["help"], ["help", "serve"]]) {
      const cli = runCli(args);
      await cli.ended;
      for (const line of cli.out().split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
    }
  });
});

test.each([["--version"], ["-v"]])("%s prints the package's version", async (word) => {
  const cli = runCli([word]);
  expect(await cli.ended).toBe(0);
  expect(cli.out()).toBe(`${manifest.version}\n`);
});

describe("wrong usage ends with 2 and says what is allowed", () => {
  const words = "Allowed: serve, help, --help, --version.";
  const flags = "Allowed: --port, --host, --path, --help.";
  const host = "expected an address of this machine without a port, such as 127.0.0.1, ::1, or 0.0.0.0 for all.";
  const path = 'expected a path that begins with "/", without a query, such as /webhooks.';

  test.each([
    [[], `The command is missing. ${words}`],
    [["sevre"], `There is no command sevre. ${words}`],
    [["--verbose"], `There is no flag --verbose. ${words}`],
    [["help", "sevre"], `There is no command sevre. ${words}`],
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
    [["--path", "webhooks"], `--path got "webhooks", ${path}`],
    [["--path", "/webhooks?a=1"], `--path got "/webhooks?a=1", ${path}`],
  ])("hookline serve %j", async (args, message) => {
    const cli = runCli(["serve", ...args], { env: { SIGNING_SECRET: "secret" } });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toBe(`hookline serve: ${message}\nSee hookline serve --help.\n`);
    expect(cli.out()).toBe("");
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
  const io = { stdout: new PassThrough(), stderr, env, signals: process, exit: () => {} };
  expect(await run(["serve"], io)).toBe(1);
  expect(told).toMatch(/^hookline serve: TypeError: no such thing\n +at .*run\.test\.ts/);
});

test("a reader that leaves before the help is written is no error", async () => {
  const stdout = new Writable({
    write: (_chunk, _encoding, done) => done(Object.assign(new Error("EPIPE"), { code: "EPIPE" })),
  });
  expect(await runCli(["help"], { stdout }).ended).toBe(0);
});

describe("as a process", { timeout: 20_000 }, () => {
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
