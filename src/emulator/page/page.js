import { createAccountsPanel } from "./accounts-panel.js";
import { get, post } from "./api.js";
import { createClockPanel } from "./clock-panel.js";
import { byId, setText } from "../../page/dom.js";
import { createJournalPanel } from "./journal-panel.js";
import { createLive } from "./live.js";
import { createMessage } from "../../page/message.js";
import { createSubscribeForm } from "./subscribe-form.js";
import { createSubscriptionsPanel } from "./subscriptions-panel.js";

const POLL_MS = 1_000;
const SOON_MS = 100;
const STATE_TIMEOUT_MS = 10_000;

const { say, fail, copy } = createMessage();
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

for (const button of document.querySelectorAll("button[data-copy]")) {
  const { copy: id = "", name = "" } = /** @type {HTMLElement} */ (button).dataset;
  button.addEventListener("click", () => copy(byId(id).textContent, name));
}
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
