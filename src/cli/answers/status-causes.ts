/** Why an app most likely answered as it did, and what to change. */
export interface Cause {
  readonly cause: string;
  readonly fix: string;
}

/** What the service does with a status: only exactly 200 acknowledges, and 422 deletes the subscription. */
export function effectOf(status: number): string {
  if (status === 200) return "acknowledged";
  return status === 422 ? "the service would delete the subscription" : "not acknowledged: it would be redelivered";
}

/** Headers of the answer that name a cause. */
export interface TellingHeaders {
  readonly location?: string | undefined;
  readonly server?: string | undefined;
}

/** The likely cause of any status but 200. */
export function causeOfStatus(status: number, { location, server }: TellingHeaders): Cause {
  if (status > 200 && status < 300)
    return {
      cause: `${status} is what a framework answers to a POST on its own, and only exactly 200 acknowledges.`,
      fix: "Answer 200.",
    };
  if (status >= 300 && status < 400)
    return {
      cause: `The app redirects${location === undefined ? "" : ` to ${location}`}, and the service does not follow.`,
      fix: "Check that URL itself, and give that one to the service.",
    };
  // nginx and similar proxies name themselves.
  if (status === 413 && server !== undefined)
    return {
      cause: `There is a body limit in front of the receiver: of ${server}, or of a body parser.`,
      fix: `Raise it above the receiver's own, such as \`client_max_body_size 2m\` of nginx. ${PARSER_FIX}`,
    };
  return BY_STATUS[status] ?? UNKNOWN;
}

export const PARSER_FIX =
  "Mount Hookline before `express.json()` and the like; an app of another kind must verify the bytes as they came.";

export const EXEMPT_FIX = "See what answers before the receiver, and exempt the route from it.";

export const WRONG_PATH: Cause = {
  cause: "Nothing is mounted at this path.",
  fix: "Compare the path with the app's.",
};

const PROXY: Cause = {
  cause: "A proxy answers for an app that does not run, or takes too long.",
  fix: "Check that the app runs, and where the proxy forwards to.",
};

const UNKNOWN: Cause = {
  cause: "A framework or a proxy answers with a status of its own.",
  fix: EXEMPT_FIX,
};

const BY_STATUS: Readonly<Record<number, Cause>> = {
  400: {
    cause: "A body parser or a validation in front of the receiver refused the body.",
    fix: `Answer 200 to every signed request, whatever its content. ${PARSER_FIX}`,
  },
  401: {
    cause:
      "The receiver has another secret than SIGNING_SECRET here, its clock is wrong, or the body was changed on its way; or a log-in guards the route.",
    fix: "The receiver's log names the cause.",
  },
  403: {
    cause: "Something in front of the receiver guards the route: a log-in, CSRF protection or an allow-list.",
    fix: "Exempt the route: the signature guards it.",
  },
  404: WRONG_PATH,
  405: { cause: "The route exists, but not for POST.", fix: "Mount it for POST." },
  408: { cause: "The body was not read in time.", fix: "Let nothing wait before the receiver reads it." },
  411: { cause: "A proxy requires a Content-Length.", fix: "Let it forward chunked bodies." },
  413: {
    cause:
      "A body parser in front of the receiver has a limit, 100 kB by default, or the body is over the receiver's own (`maxBodyBytes`).",
    fix: `${PARSER_FIX} Where the receiver's own limit is meant to be so low, tell \`hookline check\` with --max-body.`,
  },
  415: {
    cause: "A body parser does not accept this content type, or the body came compressed.",
    fix: `The receiver accepts any type. ${PARSER_FIX}`,
  },
  422: {
    cause:
      "A gate or a tombstone says that the subscription is unwanted, or a validation refuses the content. At a 422 the service deletes the subscription.",
    fix: "Name an account and a subscription that are wanted; answer 200 and validate the content later.",
  },
  429: {
    cause: "A rate limit in front of the receiver refused it.",
    fix: "Exempt the route: the service redelivers what is refused, and so sends more.",
  },
  500: {
    cause: "A body parser read the body before the receiver, or the app threw.",
    fix: `The app's log says which. ${PARSER_FIX}`,
  },
  501: { cause: "The app does not know the method.", fix: "Mount it for POST." },
  502: PROXY,
  503: {
    cause:
      "The receiver is closing, has no secret, or could not store the delivery; or a proxy answers for an app that does not run.",
    fix: "The app's log names the cause.",
  },
  504: PROXY,
};
