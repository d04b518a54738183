import { byId, fillPairs, setText } from "../../page/dom.js";
import { toReadable } from "../../page/format.js";
import { idText, showFacts, showValue, toHref } from "./parts.js";

/** @type {Record<string, string>} */
const KINDS = { dead: "bad", waiting: "warning", running: "warning", unhandled: "warning", done: "good" };

/**
 * One job, with what is stored of its delivery.
 *
 * @param {{ ask: (wanted: import("./confirm.js").Wanted) => void, copy: (text: string, what: string) => void }} page
 */
export function createJobView({ ask, copy }) {
  /** What is drawn: headers and body of a delivery never change. */
  let drawn = "";

  for (const verb of /** @type {const} */ (["replay", "drop"]))
    part(verb).addEventListener("click", () =>
      ask({ verb, ids: [new URLSearchParams(location.search).get("id") ?? ""] }),
    );
  part("copy").addEventListener("click", () => copy(part("send").textContent, "the command"));

  return {
    title: "Job",
    path: (/** @type {URLSearchParams} */ query) => `job?${new URLSearchParams({ id: query.get("id") ?? "" })}`,
    /**
     * @param {import("./api.js").Answer} answer
     * @param {Record<string, string>} query
     */
    show({ job, rights }, { id = "" }) {
      setText(byId("job-title"), `Job ${id}`);
      part("card").hidden = job === undefined;
      byId("no-job").hidden = job !== undefined;
      if (job === undefined) return;
      const { state, error, replayOf, delivery } = job;
      const key = `${id} ${rights.content} ${state}`;
      if (drawn !== key) draw(job, rights.content);
      drawn = key;
      setText(part("state"), state);
      part("state").dataset.kind = KINDS[state] ?? "";
      part("error-card").hidden = error === undefined;
      setText(part("error"), error?.name ?? "");
      showValue(part("failed"), error?.at);
      setText(part("message"), error?.message ?? "");
      part("replay-of").hidden = replayOf === undefined;
      setText(part("replay-of"), `It replays job ${replayOf}`);
      part("replay-of").href = toHref("job", { id: replayOf });
      part("replay").disabled = !["done", "dead", "unhandled"].includes(state);
      part("drop").disabled = !["waiting", "dead", "unhandled"].includes(state);
      showFacts("job-facts", {
        Event: job.type,
        Account: idText(job.accountId),
        Subscription: idText(job.subscription),
        Consumer: job.consumer,
        Lane: job.lane ?? (rights.content ? undefined : "hidden"),
        Attempts: job.attempts,
        Received: job.receivedAt,
        "Next attempt": job.nextAttemptAt,
        Ended: job.settledAt,
      });
      const { id: deliveryId, sentAt, signedBy, source } = delivery;
      showFacts("delivery-facts", { Delivery: deliveryId, Sent: sentAt, "Signed by": signedBy, Source: source });
    },
  };
}

/**
 * @param {Record<string, any>} job
 * @param {boolean} content
 */
function draw({ id, type, accountId, subscription, delivery }, content) {
  const { headers = {}, bodyBase64 = "", bytes, isCut } = delivery;
  for (const list of ["job-facts", "delivery-facts", "job-headers"]) byId(list).replaceChildren();
  fillPairs(part("headers"), headers);
  const body = new TextDecoder().decode(Uint8Array.from(atob(bodyBase64), (character) => character.charCodeAt(0)));
  const { text, size } = toReadable(body);
  const whole = `Body, ${bytes.toLocaleString("en")} bytes${content ? "; its beginning" : ", hidden"}`;
  setText(part("size"), content && !isCut ? size : whole);
  setText(part("body"), text);
  part("body").hidden = !content;
  const to = "--to http://localhost:3000/webhooks";
  const exact = `echo '${JSON.stringify({ delivery: { id: delivery.id, bodyBase64 } })}' | npx hookline send --from /dev/stdin ${to}`;
  const like = `npx hookline send ${type} ${to} --data '${JSON.stringify({ accountId, subscription })}'`;
  const isExact = content && !isCut;
  setText(part("send"), isExact ? exact : like);
  setText(
    part("send-about"),
    isExact
      ? "It sends the same body, signed anew with the secret in SIGNING_SECRET:"
      : `It sends one like job ${id}, with made-up content, because its body is ${isCut ? "long: hookline inbox export writes it for --from" : "hidden"}:`,
  );
}

/** @param {string} name */
function part(name) {
  return byId(`job-${name}`);
}
