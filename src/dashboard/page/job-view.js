import { byId, fillPairs, setText } from "../../page/dom.js";
import { toReadable } from "../../page/format.js";
import { fill, fillError, toHref } from "./parts.js";

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
      byId("job-card").hidden = job === undefined;
      byId("no-job").hidden = job !== undefined;
      if (job === undefined) return;
      const { state, type, consumer, accountId, subscription, attempts, error, replayOf, lane, delivery } = job;
      const numbers = { account: accountId, subscription };
      for (const [name, number] of Object.entries(numbers)) setText(part(name), number ?? "–");
      fill(part, { state, type, consumer: consumer ?? "–", attempts: attempts ?? "–", received: job.receivedAt });
      fill(part, {
        next: job.nextAttemptAt,
        settled: job.settledAt,
        failed: error?.at,
        lane: lane ?? (rights.content ? "–" : "hidden"),
      });
      part("state").dataset.kind = KINDS[state] ?? "";
      byId("job-error-card").hidden = error === undefined;
      fillError(part, error);
      part("replay-of").hidden = replayOf === undefined;
      setText(part("replay-of"), replayOf === undefined ? "" : `It replays job ${replayOf}`);
      if (replayOf !== undefined) part("replay-of").href = toHref("job", { id: replayOf });
      part("replay").disabled = !["done", "dead", "unhandled"].includes(state);
      part("drop").disabled = !["waiting", "dead", "unhandled"].includes(state);
      fill(part, {
        delivery: delivery.id,
        sent: delivery.sentAt,
        signed: delivery.signedBy,
        source: delivery.source ?? "–",
      });
      const key = `${id} ${delivery.id} ${rights.content}`;
      if (drawn !== key) draw(job, rights.content);
      drawn = key;
    },
  };

  /**
   * @param {Record<string, any>} job
   * @param {boolean} content
   */
  function draw({ id, type, accountId, subscription, delivery }, content) {
    const { headers = {}, bodyBase64 = "", bytes, isCut } = delivery;
    part("headers").replaceChildren();
    fillPairs(part("headers"), headers);
    const { text, size } = toReadable(
      new TextDecoder().decode(Uint8Array.from(atob(bodyBase64), (c) => c.charCodeAt(0))),
    );
    const whole = `Body, ${bytes.toLocaleString("en")} bytes`;
    setText(part("size"), content && !isCut ? size : `${whole}${content ? "; its beginning" : ", hidden"}`);
    setText(part("body"), text);
    part("body").hidden = !content;
    const like = JSON.stringify({ accountId, subscription });
    const to = "--to http://localhost:3000/webhooks";
    const exact = `echo '${JSON.stringify({ delivery: { id: delivery.id, bodyBase64 } })}' | npx hookline send --from /dev/stdin ${to}`;
    const whatItSends = isCut
      ? `Of a body so long, npx hookline inbox export --show-content writes a line for --from. This sends one like job ${id}, with made-up content:`
      : "It sends the same body, signed anew with the secret in SIGNING_SECRET:";
    setText(part("send"), content && !isCut ? exact : `npx hookline send ${type} ${to} --data '${like}'`);
    setText(
      part("send-about"),
      content ? whatItSends : `It sends one like job ${id}, with made-up content, because that of the job is hidden:`,
    );
  }
}

/** @param {string} name */
function part(name) {
  return byId(`job-${name}`);
}
