import { make, setText } from "../../page/dom.js";
import { toReadable } from "../../page/format.js";
import { createFacts, fillProse, idText, showValue, toHref } from "./parts.js";

/** @type {Record<string, string>} */
const KINDS = { dead: "bad", waiting: "warning", running: "warning", unhandled: "warning", done: "good" };
/** States from which each change is possible. */
const POSSIBLE = { replay: ["done", "dead", "unhandled"], drop: ["waiting", "dead", "unhandled"] };

/**
 * One job, with what is stored of its delivery.
 *
 * @param {{ ask: (wanted: import("./confirm.js").Wanted) => void, copy: (text: string, what: string) => void }} page
 */
export function createJobView({ ask, copy }) {
  let id = "";
  /** What is drawn: headers and body of a delivery never change. */
  let drawn = "";
  const none = make(
    "p",
    { className: "empty", hidden: true },
    "There is no such job. Jobs that are done are removed after a week, dead ones when they are replayed or dropped.",
  );
  const state = make("span", { className: "badge" });
  const replayOf = make("a");
  const buttons = {
    replay: make("button", { className: "changes", onclick: () => ask({ verb: "replay", ids: [id] }) }, "Replay"),
    drop: make("button", { className: "danger changes", onclick: () => ask({ verb: "drop", ids: [id] }) }, "Drop"),
  };
  const [name, failed] = [make("strong"), make("time")];
  const message = make("p", { className: "error-text" });
  const failure = make("div", { className: "card state" }, make("p", {}, name, " ", failed), message);
  const facts = createFacts("job-facts");
  const about = make("p", { className: "hint" });
  const send = make("pre", { id: "job-send", tabIndex: 0, ariaLabel: "A command that sends it again" });
  const copying = make("button", { className: "small", onclick: () => copy(send.textContent, "the command") });
  const delivery = createFacts("delivery-facts");
  const headers = createFacts("job-headers");
  const size = make("p", { className: "hint" });
  const body = make("pre", { id: "job-body", tabIndex: 0, ariaLabel: "Body" });
  copying.append("Copy command");
  failure.dataset["kind"] = "bad";
  const card = make(
    "div",
    { className: "list" },
    make("div", { className: "actions" }, state, replayOf, buttons.replay, buttons.drop),
    failure,
    facts.list,
    make("h3", {}, "Send it again"),
    about,
    send,
    make("p", {}, copying),
    make("h3", {}, "Its delivery"),
    delivery.list,
    headers.list,
    size,
    body,
  );

  /**
   * @param {Record<string, any>} job
   * @param {boolean} content
   */
  function draw({ type, accountId, subscription, delivery: of }, content) {
    const { bodyBase64 = "", bytes, isCut } = of;
    headers.show(of.headers ?? {});
    const bytesOfBody = Uint8Array.from(atob(bodyBase64), (character) => character.charCodeAt(0));
    const readable = toReadable(new TextDecoder().decode(bytesOfBody));
    const isWhole = content && !isCut;
    const cut = `Body, ${bytes.toLocaleString("en")} bytes${content ? "; its beginning" : ", hidden"}`;
    setText(size, isWhole ? readable.size : cut);
    setText(body, readable.text);
    body.hidden = !content;
    const to = "--to http://localhost:3000/webhooks";
    const exact = `echo '${JSON.stringify({ delivery: { id: of.id, bodyBase64 } })}' | npx hookline send --from /dev/stdin ${to}`;
    const like = `npx hookline send ${type} ${to} --data '${JSON.stringify({ accountId, subscription })}'`;
    setText(send, isWhole ? exact : like);
    const why = content ? "long: `hookline inbox export` writes it for `--from`" : "hidden";
    fillProse(
      about,
      isWhole
        ? "It sends the same body, signed anew with the secret in `SIGNING_SECRET`:"
        : `It sends one like job ${id}, with made-up content, because its body is ${why}:`,
    );
  }

  return {
    title: "Job",
    parts: [none, card],
    /**
     * @param {import("./api.js").Answer} answer
     * @param {Record<string, string>} query
     */
    show({ job, rights }, query) {
      id = query["id"] ?? "";
      card.hidden = job === undefined;
      none.hidden = job !== undefined;
      const heading = `Job ${id}`;
      if (job === undefined) return heading;
      const key = `${id} ${rights.content}`;
      if (drawn !== key) draw(job, rights.content);
      drawn = key;
      setText(state, job.state);
      state.dataset["kind"] = KINDS[job.state] ?? "";
      failure.hidden = job.error === undefined;
      setText(name, job.error?.name ?? "");
      if (job.error !== undefined) showValue(failed, job.error.at);
      setText(message, job.error?.message ?? "");
      replayOf.hidden = job.replayOf === undefined;
      setText(replayOf, `It replays job ${job.replayOf}`);
      replayOf.href = toHref("job", { id: job.replayOf });
      buttons.replay.disabled = !POSSIBLE.replay.includes(job.state);
      buttons.drop.disabled = !POSSIBLE.drop.includes(job.state);
      facts.show({
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
      const { id: deliveryId, sentAt, signedBy, source } = job.delivery;
      delivery.show({ Delivery: deliveryId, Sent: sentAt, "Signed by": signedBy, Source: source });
      return heading;
    },
  };
}
