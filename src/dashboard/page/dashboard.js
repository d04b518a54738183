import { byId, make, setText } from "../../page/dom.js";
import { createMessage } from "../../page/message.js";
import { get, RefusedError } from "./api.js";
import { createConfirm } from "./confirm.js";
import { createDeadView } from "./dead-view.js";
import { createJobView } from "./job-view.js";
import { createGapsView, createLanesView, createSubscriptionsView } from "./list-views.js";
import { createNowView } from "./now-view.js";
import { setNow, toHref } from "./parts.js";
import { createRunbookView } from "./runbook-view.js";

/** @typedef {import("./api.js").Answer} Answer */
/**
 * @typedef {object} View
 * @property {string} title
 * @property {readonly Element[]} parts
 * @property {(answer: Answer, query: Record<string, string>) => string | void} show gives a heading that is not the title
 */

const FIRST_REFRESH_MS = 2_000;
const TIMEOUT_MS = 30_000;
/** A server that takes long is asked less often: the page keeps it busy for no more than a tenth of the time. */
const REST = 10;

const { say, fail, copy } = createMessage();
const page = { copy, go, ...createConfirm({ say, fail, refresh: () => refresh() }) };
const now = createNowView(page);
/** By the last part of their address. @type {Record<string, View>} */
const VIEWS = {
  "": now,
  lanes: createLanesView(),
  dead: createDeadView(page),
  job: createJobView(page),
  subscriptions: createSubscriptionsView(page),
  gaps: createGapsView(page),
  runbook: createRunbookView(),
};
const sections = new Map(Object.entries(VIEWS).map(([name, view]) => [name, createSection(name, view)]));

let refreshMs = FIRST_REFRESH_MS;
/** @type {AbortController | undefined} of the look that goes on */
let looking;
/** @type {number | undefined} */
let timer;

byId("main").append(...[...sections.values()].map(({ root }) => root));
document.addEventListener("click", followLink);
addEventListener("popstate", () => enter(false));
document.addEventListener("visibilitychange", () => {
  if (!document.hidden) refresh();
});
enter(true);

/**
 * @param {string} name
 * @param {View} view
 */
function createSection(name, { title, parts, show }) {
  const heading = make("h2", { id: `${name || "now"}-title`, tabIndex: -1 }, title);
  const first = make("a", { hidden: true }, "First page");
  const next = make("a", { hidden: true }, "Next page");
  const root = make("section", { hidden: true }, heading, ...parts, make("p", { className: "actions" }, first, next));
  root.setAttribute("aria-labelledby", heading.id);
  return {
    root,
    heading,
    title,
    /** @param {Answer} answer */
    show(answer) {
      const query = Object.fromEntries(new URLSearchParams(location.search));
      const { after, ...others } = query;
      setText(heading, show(answer, query) ?? title);
      first.hidden = after === undefined;
      first.href = toHref(name, others);
      next.hidden = answer["next"] === undefined;
      next.href = toHref(name, { ...others, after: answer["next"] });
      root.dataset["loaded"] = "";
    },
  };
}

/** The view of the address. */
function current() {
  const name = location.pathname.slice(location.pathname.lastIndexOf("/") + 1);
  return { name: sections.has(name) ? name : "", section: sections.get(name) ?? sections.get("") };
}

/** Shows the view of the address, at first with what it showed before, or with its skeleton. @param {boolean} isFirst */
function enter(isFirst) {
  const { name, section } = current();
  for (const one of sections.values()) one.root.hidden = one !== section;
  for (const link of document.querySelectorAll("nav a"))
    link.ariaCurrent = link.getAttribute("href") === `./${name}` ? "page" : null;
  document.title = `${section?.title} · Hookline`;
  if (!isFirst) {
    scrollTo(0, 0);
    // What is read aloud begins with the view.
    section?.heading.focus();
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

/** Looks now, and from then on again and again: one look after the other, and none while the tab is not seen. */
function refresh() {
  clearTimeout(timer);
  looking?.abort();
  void look();
}

async function look() {
  const own = new AbortController();
  looking = own;
  const { name, section } = current();
  const begun = performance.now();
  try {
    const signal = AbortSignal.any([own.signal, AbortSignal.timeout(TIMEOUT_MS)]);
    const answer = await get(`${name || "now"}${location.search}`, signal);
    if (looking !== own) return;
    setNow(answer.now);
    refreshMs = answer.refreshMs;
    showCounts(answer);
    section?.show(answer);
    setConnection("live", "Live");
    setText(byId("trouble"), "");
    byId("main").removeAttribute("aria-busy");
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
