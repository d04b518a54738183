import { byId, setText } from "../../page/dom.js";
import { createMessage } from "../../page/message.js";
import { get, RefusedError } from "./api.js";
import { createConfirm } from "./confirm.js";
import { createDeadView } from "./dead-view.js";
import { createGapsView } from "./gaps-view.js";
import { createJobView } from "./job-view.js";
import { createLanesView } from "./lanes-view.js";
import { createNowView } from "./now-view.js";
import { setNow } from "./parts.js";
import { createRunbookView } from "./runbook-view.js";
import { createSubscriptionsView } from "./subscriptions-view.js";

/** @typedef {import("./api.js").Answer} Answer */
/**
 * @typedef {object} View
 * @property {string} title
 * @property {(query: URLSearchParams) => string} path what it reads, below `api/`
 * @property {(answer: Answer, query: Record<string, string>) => void} show
 */

const FIRST_REFRESH_MS = 2_000;
const TIMEOUT_MS = 30_000;
/** A server that takes long is asked less often: the page keeps it busy for no more than a tenth of the time. */
const REST = 10;

const { say, fail, copy } = createMessage();
const page = { copy, go, ...createConfirm({ say, fail, refresh: () => refresh() }) };
const now = createNowView();
/** By the last part of their address. @type {Map<string, View>} */
const VIEWS = new Map(
  Object.entries({
    "": now,
    lanes: createLanesView(),
    dead: createDeadView(page),
    job: createJobView(page),
    subscriptions: createSubscriptionsView(page),
    gaps: createGapsView(page),
    runbook: createRunbookView(),
  }),
);

let refreshMs = FIRST_REFRESH_MS;
/** @type {AbortController | undefined} of the look that goes on */
let looking;
/** @type {number | undefined} */
let timer;

document.addEventListener("click", followLink);
addEventListener("popstate", () => enter(false));
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
enter(true);

/** Shows the view of the address, at first with what it showed before, or with its skeleton. @param {boolean} isFirst */
function enter(isFirst) {
  const name = viewName();
  for (const section of document.querySelectorAll("section[data-view]"))
    /** @type {HTMLElement} */ (section).hidden = section.getAttribute("data-view") !== name;
  for (const link of document.querySelectorAll("nav a"))
    if (link.getAttribute("href") === `./${name}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  document.title = `${VIEWS.get(name)?.title} · Hookline`;
  if (!isFirst) {
    scrollTo(0, 0);
    // What is read aloud begins with the view.
    byId("main").querySelector("section:not([hidden]) h2").focus();
  }
  byId("main").setAttribute("aria-busy", "true");
  refresh();
}

/** Links between views change the address without loading the page again. @param {MouseEvent} event */
function followLink(event) {
  const link = /** @type {Element} */ (event.target).closest("a");
  if (link === null || event.button !== 0 || event.metaKey || event.ctrlKey || event.shiftKey) return;
  if (!link.getAttribute("href")?.startsWith("./")) return;
  event.preventDefault();
  go(link.href);
}

/** @param {string} href of a view */
function go(href) {
  history.pushState(undefined, "", href);
  enter(false);
}

function viewName() {
  const name = location.pathname.slice(location.pathname.lastIndexOf("/") + 1);
  return VIEWS.has(name) ? name : "";
}

/** Looks now, and from then on again and again: one look after the other, and none while the tab is not seen. */
function refresh() {
  clearTimeout(timer);
  looking?.abort();
  void look();
}

async function look() {
  const own = new AbortController();
  looking = own;
  const name = viewName();
  const view = VIEWS.get(name) ?? now;
  const query = new URLSearchParams(location.search);
  const begun = performance.now();
  try {
    const answer = await get(view.path(query), AbortSignal.any([own.signal, AbortSignal.timeout(TIMEOUT_MS)]));
    if (looking !== own) return;
    setNow(answer.now);
    refreshMs = answer.refreshMs;
    showCounts(answer);
    view.show(answer, Object.fromEntries(query));
    setConnection("live", "Live");
    setText(byId("trouble"), "");
    byId("main").removeAttribute("aria-busy");
    byId("main").querySelector(`section[data-view="${name}"]`).dataset.loaded = "";
  } catch (error) {
    if (looking !== own) return;
    showTrouble(error);
  }
  if (!document.hidden) timer = setTimeout(refresh, Math.max(refreshMs, (performance.now() - begun) * REST));
}

/** @param {Answer} answer */
function showCounts({ counts, rights, now: at }) {
  const { problems, blockedLanes, dead } = counts;
  for (const [id, count] of Object.entries({ problems, blockedLanes, dead })) {
    byId(`count-${id}`).hidden = count === 0;
    setText(byId(`count-${id}`), count.toLocaleString("en"));
  }
  byId("read-only").hidden = rights.change;
  byId("no-content").hidden = rights.content;
  document.body.classList.toggle("may-change", rights.change);
  now.record(Date.parse(at), counts.waiting);
}

/** @param {unknown} error */
function showTrouble(error) {
  if (!(error instanceof RefusedError)) return setConnection("lost", "No connection, trying again");
  const { status, body, message } = error;
  setConnection("lost", status === 403 ? "Refused" : "No answer, trying again");
  return setText(byId("trouble"), `${message}${body["code"] === undefined ? "" : ` (${body["code"]})`}`);
}

/**
 * @param {"live" | "lost"} state
 * @param {string} text
 */
function setConnection(state, text) {
  byId("connection").dataset.state = state;
  setText(byId("connection"), text);
}
