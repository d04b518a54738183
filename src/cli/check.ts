import { checkAnswers } from "./check/check-answers.ts";
import { defineCommand } from "./command.ts";
import { CHECK_HELP } from "./check/help.ts";
import { reportFindings, toLine } from "./check/report.ts";
import { EXIT } from "./exit-codes.ts";
import { switchFlag, urlFlag, wholeFlag } from "./flags.ts";
import { NUMBER } from "./inbox/inbox-flags.ts";
import { secretOf } from "./secret.ts";
import { listenForStop } from "./signals.ts";

/** `hookline check`: the table of answers, asked of a running app. */
export const check = defineCommand({
  name: "check",
  summary: "Ask a running app whether it answers as a receiver must.",
  help: CHECK_HELP,
  flags: {
    to: urlFlag,
    account: { ...NUMBER, default: 0 },
    subscription: { ...NUMBER, default: 0 },
    "max-body": wholeFlag(200_000, 100_000_000, 1024 * 1024),
    json: switchFlag,
  },
  async run({ to, account, subscription, "max-body": maxBodyBytes, json }, io) {
    const secret = secretOf(io.env);
    const stop = new AbortController();
    const stopping = listenForStop(io);
    void stopping.asked.then(() => stop.abort());
    const found = await checkAnswers(to, { secret, account, subscription, maxBodyBytes, signal: stop.signal }).finally(
      stopping.forget,
    );
    const { aborted } = stop.signal;
    // What was on its way at the stop says nothing.
    const lines = (aborted ? found.slice(0, -1) : found).map((finding) => toLine(finding, to));
    if (json) for (const line of lines) io.stdout.write(`${JSON.stringify(line)}\n`);
    else if (lines.length > 0) reportFindings(lines, io.stdout);
    if (aborted) io.stderr.write("Stopped before all was asked.\n");
    return !aborted && lines.every(({ ok }) => ok) ? EXIT.done : EXIT.failed;
  },
});
