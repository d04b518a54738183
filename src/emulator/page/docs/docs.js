import { get } from "../api.js";
import { byId, copyOf, setText } from "../../../page/dom.js";
import { toCount } from "../../../page/format.js";
import { createMessage } from "../../../page/message.js";
import { operationsOf } from "./api-document.js";
import { createCredentials } from "./credentials.js";
import { createOperationView } from "./operation-view.js";

/** @typedef {import("./api-document.js").Operation} Operation */
/** @typedef {{ words: string, view: HTMLDetailsElement, root: HTMLElement, link: HTMLAnchorElement }} Entry An operation, and the link to it in its item. */

const { fail, copy } = createMessage();
const credentials = createCredentials();
const filter = byId("filter");
/** @type {Entry[]} */
const entries = [];

byId("contents").open = matchMedia("(min-width: 60rem)").matches;
filter.addEventListener("input", showFiltered);
addEventListener("hashchange", reveal);
addEventListener("focus", refresh);
try {
  const openApi = await get("/openapi.json");
  setText(byId("about"), `${openApi.info.title}. ${openApi.info.description}`);
  show(operationsOf(openApi));
} catch (error) {
  fail(error);
}
refresh();

/** Accounts are opened elsewhere, too. */
function refresh() {
  credentials.refresh().catch(fail);
}

/** @param {readonly Operation[]} operations */
function show(operations) {
  for (const [tag, own] of Map.groupBy(operations, (one) => one.tag)) {
    const nav = copyOf("tag-template");
    const section = copyOf("section-template");
    setText(nav.part("name"), tag);
    setText(section.part("name"), tag);
    const added = own.map((operation) => createEntry(operation));
    nav.part("links").append(...added.map(({ root }) => root));
    section.root.append(...added.map(({ view }) => view));
    byId("tags").append(nav.root);
    byId("operations").append(section.root);
    entries.push(...added);
  }
  byId("main").removeAttribute("aria-busy");
  showFiltered();
  reveal();
}

/** @param {Operation} operation */
function createEntry(operation) {
  const { id, method, path, summary, tag } = operation;
  const view = createOperationView(operation, { credentials, copy });
  view.querySelector("summary")?.addEventListener("click", () => {
    if (view.open) return;
    history.replaceState(undefined, "", `#${id}`);
    showCurrent();
  });
  const { root, part } = copyOf("link-template");
  const link = part("link");
  link.href = `#${id}`;
  // The hash does not change by a link to where one is already.
  link.addEventListener("click", () => link.hash === location.hash && reveal());
  setText(part("method"), method);
  part("method").dataset.method = method;
  setText(part("path"), path);
  return { words: `${method} ${path} ${summary} ${tag}`.toLowerCase(), view, link, root };
}

/** Opens the operation that the address names. */
function reveal() {
  const entry = entries.find(({ link }) => link.hash === location.hash);
  if (entry === undefined) return;
  const { view, link } = entry;
  if (view.hidden) {
    filter.value = "";
    showFiltered();
  }
  view.open = true;
  view.querySelector("summary")?.focus({ preventScroll: true });
  link.scrollIntoView({ block: "nearest" });
  view.scrollIntoView();
  showCurrent();
}

function showCurrent() {
  for (const { link } of entries)
    if (link.hash === location.hash) link.setAttribute("aria-current", "true");
    else link.removeAttribute("aria-current");
}

/** Those that have all words of the filter. */
function showFiltered() {
  const wanted = filter.value.toLowerCase().split(/\s+/);
  let shown = 0;
  for (const { words, view, root } of entries) {
    view.hidden = root.hidden = wanted.some((/** @type {string} */ word) => !words.includes(word));
    if (!view.hidden) shown += 1;
  }
  const all = toCount(entries.length, "operation");
  setText(byId("count"), shown === entries.length ? all : `${shown} of ${all}`);
}
