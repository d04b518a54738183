import { styleText } from "node:util";
import { toFailure } from "./answers/request-failure.ts";
import type { Cause } from "./answers/status-causes.ts";
import { causeOf, type AnsweredProbe } from "./check/causes.ts";
import { probes, tryProbe, type ProbeInput, type TriedProbe } from "./check/probes.ts";
import { defineCommand, EXIT, secretOf, type Terminal } from "./command.ts";
import { APP_URL, ID_NUMBER, wholeNumber } from "./flags.ts";
import { stoppable } from "./signals.ts";
import { toPlain } from "./terminal/escape-terminal.ts";
import { createTable } from "./terminal/table.ts";

/** `hookline check`: sends the table of answers to a running app. */
export const check = defineCommand({
  name: "check",
  summary: "Ask a running app whether it answers as a receiver must.",
  help: {
    usage: "SIGNING_SECRET=<secret> hookline check --to <url> [flags]",
    about: `Ask a running app whether it answers as a receiver must, with Hookline or without.

  hookline check --to http://localhost:3000/webhooks
  hookline check --to https://example.com/webhooks --account 7 --json

It sends a delivery, the verification handshake, a forged and a stale one, one without a signature, bodies that are not
JSON or of an unknown shape, long ones, a GET, and other content types. A table shows the expected and the actual
status of each; below it are the likely causes of wrong answers, and the fixes.

The app's handlers see what it accepts: the deletion of a message "hookline-check" that never existed, sent as several
content types and once with 150 kB, or as long as --max-body allows, and two bodies about a resource "/hookline-check".`,
    notes: `Redirects are not followed, and after 10 seconds without an answer a request is given up. Ctrl-C ends it and prints
the results so far.`,
    secretOf: "the app",
    exits: {
      [EXIT.done]: "Every answer is as it should be.",
      [EXIT.failed]: "One is not, or it was stopped: stdout says what is wrong.",
    },
  },
  flags: {
    to: { ...APP_URL, value: "<url>", about: "The URL of the app's route.", required: true },
    account: {
      ...ID_NUMBER,
      value: "<n>",
      about: "The account that the probes name, for an app that refuses unknown accounts.",
      default: 0,
    },
    subscription: { ...ID_NUMBER, value: "<n>", about: "The subscription that the probes name.", default: 0 },
    "max-body": {
      ...wholeNumber(10_000, 100_000_000),
      value: "<bytes>",
      about: "The app's own limit of a body: one byte more must be refused.",
      default: 1_048_576,
    },
    json: { about: "Print a line of JSON for each check, for scripts." },
  },
  async run({ to, account, subscription, "max-body": maxBodyBytes, json }, io) {
    const input = { secret: secretOf(io.env), account, subscription, maxBodyBytes };
    const stop = new AbortController();
    const { signal } = stop;
    const findings = await stoppable(
      io,
      () => stop.abort(),
      () => checkAnswers(to, { ...input, signal }),
    );
    if (json) for (const finding of findings) io.stdout.write(`${JSON.stringify(finding)}\n`);
    else if (findings.length > 0) report(findings, io.stdout);
    if (signal.aborted) io.stderr.write("Stopped before all was asked.\n");
    return !signal.aborted && findings.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
  },
});

/** A probe's result, as `--json` prints it. */
interface Finding {
  readonly probe: string;
  /** The table's status first; the others are right as well. */
  readonly expected: readonly number[];
  readonly got: { readonly status: number } | { readonly error: string };
  readonly ok: boolean;
  /** The likely cause of a wrong answer. */
  readonly cause?: string;
  readonly fix?: string;
}

type CheckOptions = Omit<ProbeInput, "now"> & { readonly signal: AbortSignal };

/** Sends the probes one after another. Where nothing listens, only the first: it says all, and each would wait as long. */
async function checkAnswers(url: string, options: CheckOptions): Promise<readonly Finding[]> {
  const tried: TriedProbe[] = [];
  for (const probe of probes) {
    const result = await tryProbe(probe, url, { ...options, now: new Date() });
    // The probe that the stop interrupted says nothing.
    if (options.signal.aborted) break;
    tried.push(result);
    if (tried.length === 1 && "error" in result) break;
  }
  const answered = tried.filter((one): one is AnsweredProbe => "answer" in one);
  return tried.map((one) => ("error" in one ? noAnswer(one, url) : judge(one, answered)));
}

function noAnswer({ probe, error }: Extract<TriedProbe, { readonly error: unknown }>, url: string): Finding {
  const { code, words } = toFailure(error, url);
  const cause = toPlain(`No answer: ${words} (${code}).`);
  return { probe: probe.name, expected: probe.expects, got: { error: toPlain(code) }, ok: false, cause };
}

function judge(tried: AnsweredProbe, all: readonly AnsweredProbe[]): Finding {
  const { probe, answer } = tried;
  const found = { probe: probe.name, expected: probe.expects, got: { status: answer.status } };
  const problem = probe.expects.includes(answer.status) ? flawOf(tried) : causeOf(tried, all);
  return problem === undefined
    ? { ...found, ok: true }
    : { ...found, ok: false, cause: toPlain(problem.cause), fix: problem.fix };
}

function flawOf({ probe, answer }: AnsweredProbe): Cause | undefined {
  const cause = probe.flaw?.(answer);
  return cause === undefined ? undefined : { cause, fix: "Answer with the token alone, as text/plain." };
}

/** Prints a table of the probes, and below it each cause once, however many answers it explains. */
function report(findings: readonly Finding[], stdout: Terminal): void {
  const print = (line: string): void => void stdout.write(`${line}\n`);
  const [first] = findings;
  if (first !== undefined && "error" in first.got)
    return print(styleText("red", first.cause ?? "", { stream: stdout }));
  const rows = findings.map(({ probe, expected, got, ok }) => [
    probe,
    expected.join(" or "),
    resultOf(got),
    ok ? "" : "wrong",
  ]);
  for (const line of createTable(["PROBE", "EXPECTED", "GOT", ""], stdout).lines(rows)) print(line);
  print("");
  const wrong = findings.filter(({ ok }) => !ok);
  const total = findings.length;
  if (wrong.length === 0)
    return print(styleText("green", `All ${total} answers are as they should be.`, { stream: stdout }));
  const summary = `${wrong.length} of ${total} checks failed.`;
  print(styleText("red", summary, { stream: stdout }));
  for (const same of Map.groupBy(wrong, ({ got, cause, fix }) => [resultOf(got), cause, fix].join("\n")).values()) {
    const [{ got, cause, fix }] = same as [Finding];
    print("");
    print(styleText("bold", `${resultOf(got)}: ${same.map(({ probe }) => probe).join(", ")}`, { stream: stdout }));
    print(cause ?? "");
    if (fix !== undefined) print(`Fix: ${fix}`);
  }
}

function resultOf(got: Finding["got"]): string {
  return "error" in got ? got.error : String(got.status);
}
