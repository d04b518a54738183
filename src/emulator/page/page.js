import { createAccountsPanel } from "./accounts-panel.js";
import { get, post } from "./api.js";
import { createClockPanel } from "./clock-panel.js";
import { byId, setText } from "./dom.js";
import { createJournalPanel } from "./journal-panel.js";
import { createLive } from "./live.js";
import { createSubscribeForm } from "./subscribe-form.js";
import { createSubscriptionsPanel } from "./subscriptions-panel.js";

const POLL_MS = 1_000;
const SOON_MS = 100;
const STATE_TIMEOUT_MS = 10_000;
const NOTICE_MS = 8_000;

const page = { act, copy, fail };
const journal = createJournalPanel(page);
const panels = [
  createClockPanel(page),
  createAccountsPanel(page),
  createSubscribeForm(page),
  createSubscriptionsPanel(page),
  journal,
];
const live = createLive({
  onOpen: () => void journal.load().then(() => setConnection("live", "Live")),
  onAttempt(number, attempt) {
    journal.add(number, attempt);
    refreshSoon();
  },
  onLost: showLost,
});
let asked = 0;
let shown = 0;
/** @type {number | undefined} */
let soon;
/** @type {number | undefined} */
let noticeTimer;

for (const button of document.querySelectorAll("button[data-copy]")) {
  const { copy: id = "", name = "" } = /** @type {HTMLElement} */ (button).dataset;
  button.addEventListener("click", () => copy(byId(id).textContent, name));
}
byId("dismiss").addEventListener("click", () => say("", ""));
prepareReset();
setText(byId("base-url"), location.origin);
document.addEventListener("visibilitychange", poll);
setInterval(poll, POLL_MS);
void refresh();

function poll() {
  if (!document.hidden) void refresh();
}

/** Shows everything as it is now. An answer that a later one has overtaken is not shown. */
async function refresh() {
  const number = (asked += 1);
  try {
    const state = await get("/emulator/state", AbortSignal.timeout(STATE_TIMEOUT_MS));
    if (number < shown) return;
    shown = number;
    setText(byId("secret"), state.secret);
    for (const panel of panels) panel.show(state);
    byId("main").removeAttribute("aria-busy");
    live.connect();
  } catch {
    showLost();
  }
}

/** After a moment, in which more may happen. */
function refreshSoon() {
  soon ??= setTimeout(() => {
    soon = undefined;
    void refresh();
  }, SOON_MS);
}

/**
 * Does what a person wants, and says how it went.
 *
 * @param {() => Promise<string>} run
 * @param {(message: string) => void} [onError] says it where the person looks
 */
async function act(run, onError) {
  try {
    say("notice", await run());
  } catch (error) {
    if (onError === undefined) fail(error);
    else onError(/** @type {Error} */ (error).message);
  }
  await refresh();
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

/**
 * A failure stays until it is closed, or something else is said.
 *
 * @param {"notice" | "failure" | ""} kind
 * @param {string} text
 */
function say(kind, text) {
  clearTimeout(noticeTimer);
  byId("dismiss").hidden = kind === "";
  byId("message").dataset.kind = kind;
  setText(byId("notice"), kind === "notice" ? text : "");
  setText(byId("failure"), kind === "failure" ? text : "");
  if (kind === "notice") noticeTimer = setTimeout(() => say("", ""), NOTICE_MS);
}

function showLost() {
  setConnection("lost", "No connection, trying again");
}

/**
 * @param {"live" | "lost"} state
 * @param {string} text
 */
function setConnection(state, text) {
  byId("connection").dataset.state = state;
  setText(byId("connection"), text);
}

function prepareReset() {
  const dialog = byId("reset-dialog");
  byId("reset").addEventListener("click", () => dialog.showModal());
  byId("reset-cancel").addEventListener("click", () => dialog.close());
  byId("reset-confirm").addEventListener("click", () => {
    dialog.close();
    void act(async () => {
      await post("/emulator/reset");
      return "The emulator begins anew.";
    });
  });
}
