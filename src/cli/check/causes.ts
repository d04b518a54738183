import type { Answered } from "./ask.ts";
import type { Probe } from "./probes.ts";

/** Why an answer is most likely not the table's, and what to change. */
export interface Cause {
  readonly cause: string;
  readonly fix: string;
}

/** A probe with the answer that it got. */
export interface Tried {
  readonly probe: Probe;
  readonly answer: Answered;
}

/**
 * The likely cause of a status that is not the table's.
 *
 * @param all of the same app, as one mistake often shows in many answers
 */
export function causeOf(tried: Tried, all: readonly Tried[]): Cause {
  return ofAll(all, tried) ?? (tried.probe.kind === "refused" ? ofRefused(tried) : ofAccepted(tried, all));
}

/** One mistake that explains most of what is wrong. */
function ofAll(all: readonly Tried[], { probe, answer }: Tried): Cause | undefined {
  if (answer.status === 404 && all.every((one) => one.answer.status === 404)) return WRONG_PATH;
  const signed = all.filter((one) => one.probe.kind === "accepted");
  const greeted = all.some((one) => one.probe.kind === "greeted" && one.answer.status === 200);
  if (probe.kind !== "refused" && answer.status === 401 && !greeted && signed.every((one) => one.answer.status === 401))
    return WRONG_SECRET;
  return undefined;
}

function ofAccepted({ probe, answer }: Tried, all: readonly Tried[]): Cause {
  const { status, headers } = answer;
  if (status > 200 && status < 300) return frameworkDefault(status);
  if (status >= 300 && status < 400) return redirected(headers.location);
  if (status === 413) return tooLarge(headers["server"]?.toString());
  if (status === 401 && probe.kind === "accepted") {
    const some = all.some((one) => one.probe.kind === "accepted" && one.answer.status === 200);
    return some ? PARSED_BEFORE : WRITTEN_ANEW;
  }
  return BY_STATUS[status] ?? UNKNOWN;
}

function ofRefused({ probe, answer: { status } }: Tried): Cause {
  if (status === 200) return ACKNOWLEDGED[probe.name] ?? NO_LIMIT;
  if (status === 422) return BY_STATUS[422] as Cause;
  return status >= 500 ? FAILED_EARLY : ODD_REFUSAL;
}

const WRONG_PATH: Cause = {
  cause: "Nothing is mounted at this path.",
  fix: "Compare the path with the app's.",
};
const WRONG_SECRET: Cause = {
  cause:
    "Everything that is signed is refused: the app has another secret than the one given here, or its clock is wrong.",
  fix: "Give the secret that the app has; its log names the cause.",
};
const PARSER_FIX =
  "Mount Hookline before `express.json()` and the like; an app of another kind must verify the bytes as they came.";
const WRITTEN_ANEW: Cause = {
  cause: "The body was parsed and written anew before it was verified, so its bytes are not those that were signed.",
  fix: PARSER_FIX,
};
const PARSED_BEFORE: Cause = {
  cause: "A body parser that takes some content types and not others ran before the signature was verified.",
  fix: PARSER_FIX,
};
const GUARD: Cause = {
  cause: "Something in front of the receiver guards the route: a log-in, CSRF protection or an allow-list.",
  fix: "Leave the route out of it: the signature is what guards it.",
};
const PROXY: Cause = {
  cause: "A proxy answers for an app that does not run, or takes too long.",
  fix: "Look whether the app runs, and where the proxy sends to.",
};
const CATCH_ALL: Cause = {
  cause: "Something answers 200 to any request at this path: a page, or a route for every method.",
  fix: "Let the receiver alone answer at this path.",
};
const ODD_REFUSAL: Cause = {
  cause: "Something else than the receiver refused it, or the receiver refuses with a status of its own.",
  fix: "See what answers before the receiver, and leave the route out of it.",
};
const FAILED_EARLY: Cause = {
  cause: "The app failed before, or while, it looked at the signature.",
  fix: "Look into its log; what is not signed well is answered 401.",
};
const NO_LIMIT: Cause = {
  cause: "The app takes bodies that are over the limit, and a stranger can fill its memory with them.",
  fix: "Set a limit; where yours is another one, say so to the check.",
};
const UNKNOWN: Cause = {
  cause: "A framework or a proxy answers with a status of its own.",
  fix: "See what answers before the receiver, and leave the route out of it.",
};

/** By the name of the probe: what it means that it was acknowledged. */
const ACKNOWLEDGED: Readonly<Record<string, Cause>> = {
  "a forged delivery": unverified("does not compare the signature"),
  "a delivery without a signature": unverified("lets a missing signature pass"),
  "a delivery signed eight days ago": {
    cause: "The app does not look how old the signed timestamp is: who has one request can send it again for ever.",
    fix: "Refuse what is older than 7 days.",
  },
  "a GET": CATCH_ALL,
};

const BY_STATUS: Readonly<Record<number, Cause>> = {
  400: {
    cause: "A body parser or a validation in front of the receiver refused the body.",
    fix: `What is signed is answered 200, whatever it says. ${PARSER_FIX}`,
  },
  403: GUARD,
  404: WRONG_PATH,
  405: { cause: "The route is there, but not for POST.", fix: "Mount it for POST." },
  408: { cause: "The body was not read in time.", fix: "Let nothing wait before the receiver reads it." },
  411: { cause: "A proxy wants a Content-Length.", fix: "Let it pass bodies on in chunks." },
  415: {
    cause: "A body parser does not take this content type.",
    fix: `The receiver takes any. ${PARSER_FIX}`,
  },
  422: {
    cause:
      "A gate or a tombstone says that the subscription is unwanted, or a validation refuses the content. At a 422 the service deletes the subscription.",
    fix: "Name an account and a subscription that are wanted; take a validation away and judge the content later.",
  },
  429: {
    cause: "A rate limit stands in front of the receiver.",
    fix: "Leave the route out: what is refused comes again, and more of it.",
  },
  500: {
    cause: "A body parser read the body before the receiver, or the app threw.",
    fix: `The app's log says which. ${PARSER_FIX}`,
  },
  501: { cause: "The app does not know the method.", fix: "Mount it for POST." },
  502: PROXY,
  503: {
    cause:
      "The receiver is closing, has no secret, or could not keep the delivery; or a proxy answers for an app that does not run.",
    fix: "The app's log names the cause.",
  },
  504: PROXY,
};

function unverified(what: string): Cause {
  return {
    cause: `The app ${what}: anybody who knows the URL can make events.`,
    fix: "Verify each request before anything is done with it.",
  };
}

function frameworkDefault(status: number): Cause {
  return {
    cause: `${status} is what a framework answers to a POST on its own, and only exactly 200 acknowledges.`,
    fix: "Answer 200.",
  };
}

function redirected(location: string | undefined): Cause {
  return {
    cause: `The app redirects${location === undefined ? "" : ` to ${location}`}, and the service does not follow.`,
    fix: "Check that URL itself, and give that one to the service.",
  };
}

/** nginx and its kin say who they are. */
function tooLarge(server: string | undefined): Cause {
  if (server === undefined)
    return {
      cause: "A body parser in front of the receiver has a limit, 100 kB by default.",
      fix: PARSER_FIX,
    };
  return {
    cause: `A body limit stands in front of the receiver: of ${server}, or of a body parser.`,
    fix: `Raise it above the receiver's own, such as \`client_max_body_size 2m\` of nginx. ${PARSER_FIX}`,
  };
}
