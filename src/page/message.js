import { byId, setText } from "./dom.js";

const NOTICE_MS = 8_000;

/** What a page says over its content. */
export function createMessage() {
  /** @type {number | undefined} */
  let timer;

  byId("dismiss").addEventListener("click", () => say("", ""));

  /**
   * A failure stays until it is closed, or something else is said.
   *
   * @param {"notice" | "failure" | ""} kind
   * @param {string} text
   */
  function say(kind, text) {
    clearTimeout(timer);
    byId("dismiss").hidden = kind === "";
    byId("message").dataset.kind = kind;
    setText(byId("notice"), kind === "notice" ? text : "");
    setText(byId("failure"), kind === "failure" ? text : "");
    if (kind === "notice") timer = setTimeout(() => say("", ""), NOTICE_MS);
  }

  /** @param {unknown} error */
  function fail(error) {
    say("failure", /** @type {Error} */ (error).message);
  }

  /**
   * @param {string} text
   * @param {string} what
   */
  function copy(text, what) {
    navigator.clipboard.writeText(text).then(
      () => say("notice", `Copied ${what}.`),
      () => say("failure", "The browser did not allow to copy. Select the text instead."),
    );
  }

  return { say, fail, copy };
}
