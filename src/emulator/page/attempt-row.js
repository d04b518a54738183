import { copyOf, fillPairs, setText } from "../../page/dom.js";
import { toCurl, toDuration, toReadable, toTime } from "../../page/format.js";

/** @typedef {import("./api.js").Attempt} Attempt */
/** @typedef {(text: string, what: string) => void} Copy */

/**
 * One attempt: a row, and below it the request and the answer when it is opened.
 *
 * @param {Attempt} attempt
 * @param {{ number: number, isNew: boolean, copy: Copy }} options
 * @returns {HTMLElement}
 */
export function createAttemptRow(attempt, { number, isNew, copy }) {
  const { root, part } = copyOf("attempt-template");
  const { at, status, failure, outcome, nextAttemptAt, fault } = attempt;
  part("at").dateTime = at;
  part("at").title = at;
  setText(part("at"), toTime(at));
  setText(part("subscription"), attempt.subscription);
  setText(part("delivery"), attempt.delivery);
  setText(part("attempt"), attempt.attempt);
  setText(part("answer"), status ?? failure ?? "none");
  part("answer").classList.toggle("failure", status === undefined);
  setText(part("outcome"), outcome);
  part("outcome").dataset.kind = KINDS.get(outcome) ?? "";
  if (nextAttemptAt !== undefined) showNext(part("next"), at, nextAttemptAt);
  setText(part("fault"), fault ?? "");

  root.firstElementChild.classList.toggle("new", isNew);
  // Otherwise it would begin again whenever a filter shows the row.
  root.addEventListener("animationend", () => root.firstElementChild.classList.remove("new"));

  const button = part("expand");
  const detail = part("detail");
  detail.id = `attempt-${number}`;
  button.setAttribute("aria-controls", detail.id);
  const toggle = () => {
    if (!part("exchange").hasChildNodes()) part("exchange").append(createExchange(attempt, copy));
    detail.hidden = !detail.hidden;
    button.setAttribute("aria-expanded", String(!detail.hidden));
  };
  button.addEventListener("click", toggle);
  // A pointer may hit the row anywhere, unless it selects text.
  root.firstElementChild.addEventListener("click", (/** @type {MouseEvent} */ event) => {
    if (!button.contains(event.target) && String(getSelection()) === "") toggle();
  });
  return root;
}

/**
 * Without the date, if it is that of the attempt.
 *
 * @param {HTMLTimeElement} element
 * @param {string} at
 * @param {string} nextAttemptAt
 */
function showNext(element, at, nextAttemptAt) {
  const isSameDay = at.slice(0, 10) === nextAttemptAt.slice(0, 10);
  setText(element, isSameDay ? nextAttemptAt.slice(11, 19) : toTime(nextAttemptAt));
  element.dateTime = element.title = nextAttemptAt;
}

const KINDS = new Map([
  ["acknowledged", "good"],
  ["redelivery", "warning"],
  ["given-up", "bad"],
  ["unsubscribed", "bad"],
]);

/**
 * @param {Attempt} attempt
 * @param {Copy} copy
 */
function createExchange({ url, headers, body, answer, failure, fault, durationMs }, copy) {
  const { root, part } = copyOf("exchange-template");
  setText(part("url"), `POST ${url}`);
  fillPairs(part("requestHeaders"), headers);
  fillBody(part("requestBody"), part("requestSize"), body);
  part("copyBody").addEventListener("click", () => copy(body, "the body as it was sent"));
  part("copyCurl").addEventListener("click", () =>
    copy(toCurl({ url, headers, body }), "a command that sends it again"),
  );
  setText(part("status"), `${statusLine(answer, failure)}, after ${toDuration(durationMs)}`);
  part("answerHead").hidden = answer === undefined;
  if (answer !== undefined) {
    fillPairs(part("answerHeaders"), answer.headers);
    fillBody(part("answerBody"), part("answerSize"), answer.body);
  } else part("answerBody").hidden = true;
  if (fault === "slow-body" || fault === "silence")
    setText(part("requestSize"), `${part("requestSize").textContent}; not all of it may have been sent`);
  return root;
}

/**
 * @param {import("./api.js").Answer | undefined} answer
 * @param {string | undefined} failure
 */
function statusLine(answer, failure) {
  if (answer === undefined) return `There was none: ${failure}`;
  return failure === undefined ? `Status ${answer.status}` : `Status ${answer.status}, but ${failure}`;
}

/**
 * @param {HTMLElement} element
 * @param {HTMLElement} caption
 * @param {string} body
 */
function fillBody(element, caption, body) {
  const { text, size } = toReadable(body);
  setText(caption, size);
  setText(element, text);
  element.hidden = text === "";
}
