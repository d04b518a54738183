import { toFailure, toSentence } from "./answers/request-failure.ts";
import { ask } from "./check/ask.ts";
import { CommandError, defineCommand, EXIT } from "./command.ts";
import { APP_URL } from "./flags.ts";
import { toPlain } from "./terminal/escape-terminal.ts";

/** Platforms give up on a probe after a few seconds: by then the reason must have been printed. */
const LIMIT_MS = 2_000;

/** `hookline probe`: asks the admin port of `serve`, where a container has neither a shell nor curl. */
export const probe = defineCommand({
  name: "probe",
  summary: "Ask a running serve whether it lives, or is ready: an exit code for a container's health check.",
  help: {
    usage: "hookline probe [--live | --ready] [--admin-url <url>]",
    about: `Ask a running serve whether it lives, or is ready: an exit code for a container's health check.

It needs no shell and no curl, and ends within 2 seconds. In a Dockerfile:

  HEALTHCHECK CMD ["node", "node_modules/.bin/hookline", "probe", "--live"]`,
    notes: `Take --live where a failed probe restarts the process: a full disk is no reason for that. Take --ready where it only
takes the process out of a load balancer.`,
    exits: {
      [EXIT.done]: "It lives, or is ready.",
      [EXIT.failed]: "It does not live, is not ready, or gave no answer within 2 seconds: stderr says which.",
    },
  },
  flags: {
    live: { about: "Ask /livez: false where a restart can help." },
    ready: { about: "Ask /readyz: false while a delivery would not be stored. This is the default." },
    "admin-url": {
      ...APP_URL,
      expects: "the URL of an admin port, such as http://127.0.0.1:3001",
      value: "<url>",
      about: "The address that serve got by --admin-port and --admin-host.",
      default: "http://127.0.0.1:3001",
    },
  },
  async run({ live, ready, "admin-url": adminUrl }, io) {
    if (live && ready) throw new CommandError(EXIT.usage, "Got --live and --ready, expected one of the two.");
    const url = new URL(live ? "/livez" : "/readyz", adminUrl).href;
    try {
      const { status, body } = await ask(url, { method: "GET", headers: {} }, { limitMs: LIMIT_MS });
      if (status === 200) return EXIT.done;
      io.stderr.write(`${url} answered ${status}: ${toPlain(body.slice(0, 200)).trim()}\n`);
    } catch (error) {
      const { code, words } = toFailure(error, url);
      const why = code === "TIMEOUT" ? `no answer within ${LIMIT_MS / 1_000} s` : words;
      io.stderr.write(`${toSentence(`${url} gave no answer: ${toPlain(why)}`)}\n`);
    }
    return EXIT.failed;
  },
});
