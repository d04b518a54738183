import type { Answer } from "../send/post.ts";

/** What the service makes of a status. Only exactly 200 acknowledges, and 422 is an order. */
export function meaningOf(status: number): string {
  if (status === 200) return "acknowledged";
  return status === 422 ? "the service would delete the subscription" : "not acknowledged: it would be redelivered";
}

/** What most likely gave this status, and what to do; `undefined` where it is right, or says nothing. */
export function causeOf({ status, location }: Pick<Answer, "status" | "location">): string | undefined {
  if (status === 200) return undefined;
  if (status > 200 && status < 300) return `Only exactly 200 acknowledges: answer 200 instead of ${status}.`;
  if (status >= 300 && status < 400) {
    const there = location === undefined ? "another URL" : location;
    return `Redirects are not followed: send to ${there} itself, and give that one to the service.`;
  }
  return CAUSES[status];
}

const GUARD =
  "Something in front of the receiver guards the route: leave it out of log-in, CSRF protection and allow-lists.";
const PROXY = "A proxy answers for an app that does not run, or takes too long.";

const CAUSES: Readonly<Record<number, string>> = {
  400: "A body parser or a validation in front of the receiver refused the request.",
  401: "The receiver has another secret than SIGNING_SECRET here, its clock is wrong, or the body changed on its way: its log names the cause. Else a log-in guards the route.",
  403: GUARD,
  404: "Nothing is mounted at this path: compare it with the app's.",
  405: "The route is there, but not for POST.",
  408: "The body did not arrive in time, or not whole.",
  411: "A proxy wants a Content-Length.",
  413: "The body is over a limit: of the receiver (`maxBodyBytes`), of a body parser or of a proxy.",
  415: "A body parser or a proxy does not take this content type, or the body came compressed.",
  422: "A receiver of Hookline says so by your decision alone: the gate, or `unsubscribe`. Else it is a framework's answer to a failed validation: answer 200, and judge the content later.",
  429: "A rate limit stands in front of the receiver: leave the route out, as the service redelivers each of them.",
  500: "The app threw, or a body parser read the body before the receiver: its log names the cause.",
  502: PROXY,
  503: "The receiver closes, its inbox is full or failed, or it has no secret: its log names the cause. Else a proxy answers for an app that does not run.",
  504: PROXY,
};
