import { causeOfStatus, EXEMPT_FIX, PARSER_FIX, WRONG_PATH, type Cause } from "../answers/status-causes.ts";
import type { Answered } from "./ask.ts";
import type { Probe } from "./probes.ts";

/** A probe that was answered. */
export interface AnsweredProbe {
  readonly probe: Probe;
  readonly answer: Answered;
}

/**
 * The likely cause of a wrong status.
 *
 * @param all of the same app, as one mistake often shows in many answers
 */
export function causeOf(tried: AnsweredProbe, all: readonly AnsweredProbe[]): Cause {
  const { probe, answer } = tried;
  const { status, headers } = answer;
  if (status === 404 && all.every((one) => one.answer.status === 404)) return WRONG_PATH;
  if (probe.kind === "refused") return causeOfRefused(tried);
  if (status === 401) {
    const signed = all.filter((one) => one.probe.kind === "accepted");
    const isVerified = all.some((one) => one.probe.kind === "handshake" && one.answer.status === 200);
    if (!isVerified && signed.every((one) => one.answer.status === 401)) return WRONG_SECRET;
    if (probe.kind === "accepted")
      return signed.some((one) => one.answer.status === 200) ? PARSED_BEFORE : WRITTEN_AGAIN;
  }
  return causeOfStatus(status, { location: headers.location, server: headers["server"]?.toString() });
}

function causeOfRefused({ probe, answer: { status } }: AnsweredProbe): Cause {
  if (status >= 200 && status < 300) return ACKNOWLEDGED[probe.name] ?? NO_LIMIT;
  if (status === 422) return causeOfStatus(status, {});
  return status >= 500 ? FAILED_EARLY : ODD_REFUSAL;
}

const WRONG_SECRET: Cause = {
  cause:
    "Everything that is signed is refused: the app has another secret than the one given here, or its clock is wrong.",
  fix: "Give the secret that the app has; its log names the cause.",
};
const WRITTEN_AGAIN: Cause = {
  cause: "The body was parsed and written again before it was verified, so its bytes are not those that were signed.",
  fix: PARSER_FIX,
};
const PARSED_BEFORE: Cause = {
  cause: "A body parser that takes some content types and not others ran before the signature was verified.",
  fix: PARSER_FIX,
};
const ODD_REFUSAL: Cause = {
  cause: "Something other than the receiver refused it, or the receiver refuses with a status of its own.",
  fix: EXEMPT_FIX,
};
const FAILED_EARLY: Cause = {
  cause: "The app failed before, or while, it verified the signature.",
  fix: "See its log; a wrong signature must be answered 401.",
};
const NO_LIMIT: Cause = {
  cause: "The app accepts bodies over the limit: an unauthenticated client can fill its memory.",
  fix: "Set a limit; if yours differs, give it with --max-body.",
};

/** By the name of the probe: what it means that the app acknowledged it. */
const ACKNOWLEDGED: Readonly<Record<string, Cause>> = {
  "a forged delivery": unverified("does not compare the signature"),
  "a delivery without a signature": unverified("lets a missing signature pass"),
  "a delivery signed eight days ago": {
    cause: "The app does not check the age of the signed timestamp: a captured request can be replayed for ever.",
    fix: "Refuse what is older than 7 days.",
  },
  "a GET": {
    cause: "Something answers 200 to any request at this path: a page, or a route for every method.",
    fix: "Let the receiver alone answer at this path.",
  },
};

function unverified(fault: string): Cause {
  return {
    cause: `The app ${fault}: anybody who knows the URL can forge events.`,
    fix: "Verify each request before anything is done with it.",
  };
}
