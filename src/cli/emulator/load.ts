import type { LoadReport } from "../../emulator.ts";
import { effectOf } from "../answers/status-causes.ts";
import { defineCommand, EXIT, secretOf } from "../command.ts";
import { APP_URL, RATE, wholeNumber } from "../flags.ts";
import { stoppable } from "../signals.ts";
import { duration, grouped, milliseconds } from "../terminal/format.ts";

/** `hookline emulator load`: many deliveries at a steady rate. */
export const emulatorLoad = defineCommand({
  name: "emulator load",
  summary: "Load a receiver with signed deliveries at a steady rate, and measure it.",
  help: {
    usage: "SIGNING_SECRET=<secret> hookline emulator load --to <url> --rate <n> [flags]",
    about: `Load a receiver with signed deliveries at a steady rate, and measure it.

Each delivery is about another message. They are sent at their time, whatever the receiver does: a latency counts from when a delivery was due. Nothing is
sent twice.`,
    secretOf: "the receiver",
    exits: {
      [EXIT.done]: "Every delivery was answered 200.",
      [EXIT.failed]: "One was not, or it was stopped: stdout says what happened.",
    },
  },
  flags: {
    to: { ...APP_URL, value: "<url>", about: "The URL of the app's route.", required: true },
    rate: { ...RATE, value: "<n>", about: "Deliveries a second.", required: true },
    seconds: { ...wholeNumber(1, 86_400), value: "<n>", about: "How long.", default: 10 },
    "allow-remote": { about: "Send to a public address, too." },
  },
  async run({ to, rate, seconds, "allow-remote": allowRemote }, io) {
    const secret = secretOf(io.env);
    const { runLoad } = await import("../../emulator.ts");
    const stop = new AbortController();
    const { signal } = stop;
    const report = await stoppable(
      io,
      () => stop.abort(),
      () => runLoad({ url: to, secret, rate, seconds, signal, allowRemote }),
    );
    io.stdout.write(reportText(report));
    return report.accepted === report.sent && !signal.aborted ? EXIT.done : EXIT.failed;
  },
});

function reportText({ sent, seconds, acceptedPerSecond, p50Ms, p99Ms, statuses, failures }: LoadReport): string {
  const rows: [name: string, text: string][] = [
    ["sent", `${grouped(sent)} in ${duration(seconds * 1_000)}`],
    ["accepted", `${grouped(Math.round(acceptedPerSecond))} per second`],
    ...Object.entries(statuses).map(([status, count]): [string, string] => [
      status,
      `${grouped(count)}  ${effectOf(Number(status))}`,
    ]),
    ...Object.entries(failures).map(([cause, count]): [string, string] => [cause, `${grouped(count)}  no answer`]),
    ["latency", `p50 ${milliseconds(p50Ms)}  p99 ${milliseconds(p99Ms)}`],
  ];
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, text]) => `${name.padEnd(width)}  ${text}\n`).join("");
}
