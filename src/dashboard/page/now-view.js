import { keyedList, make, setText } from "../../page/dom.js";
import { toCount, toSpan } from "../../page/format.js";
import { createLine } from "./line.js";
import { actionsColumn, createFacts, createTable, fillProse, toHref } from "./parts.js";

/** @type {Record<string, string>} */
const ROLES = {
  working: "This process works on the inbox.",
  standby: "This process stands by: another one works on the inbox.",
  receiving: "This process only receives: it runs no handler.",
  "worked-on": "A process works on this inbox.",
  "not-worked-on": "No process works on this inbox: what waits is handled once a receiver starts on it.",
};

/**
 * Problems with their fixes, and how much there is.
 *
 * @param {{ ask: (wanted: import("./confirm.js").Wanted) => void }} page
 */
export function createNowView({ ask }) {
  const title = make("p", { id: "state-title", className: "big" }, "\u00A0");
  const about = make("p", { className: "hint" }, "\u00A0");
  const state = make("div", { className: "card state" }, title, about);
  const facts = createFacts("tiles", "facts tiles");
  const line = createLine();
  const none = make(
    "p",
    { className: "empty", hidden: true },
    "No problem. What health() reports is listed here, the worst first, each with what to do about it.",
  );
  const list = make("ul", { id: "problems", className: "list" });
  const problems = keyedList({ list, keyOf: ({ code, message }) => `${code} ${message}`, create: createProblem });
  const changes = createTable({
    id: "changes",
    title: "Changes made here",
    empty: "None since the start of this process. A replay is listed here, and goes on when the page is closed.",
    keyOf: ({ id }) => id,
    columns: [
      { head: "Change", text: ({ verb, count }) => `${verb} ${count.toLocaleString("en")}` },
      { head: "Begun", text: ({ startedAt }) => startedAt },
      { head: "State", text: stateOf },
    ],
  });
  const paused = createTable({
    id: "paused",
    title: "Paused",
    empty: "Nothing is paused. A pause starts no further handler of a consumer or an account; deliveries are stored.",
    keyOf: targetOf,
    columns: [
      { head: "Consumer", text: ({ consumer = "all" }) => consumer },
      { head: "Account", text: ({ accountId }) => (accountId === undefined ? "all" : String(accountId)) },
      { head: "Waiting", kind: "number", text: ({ waiting }) => waiting },
      { head: "Since", text: ({ since }) => since },
      { head: "Until", text: ({ until = "resumed" }) => until },
      { head: "Reason", text: ({ reason = "hidden" }) => reason },
      actionsColumn({ Resume: (one) => ask({ verb: "resume", filter: JSON.parse(targetOf(one)) }) }),
    ],
  });
  const workers = createTable({
    id: "workers",
    title: "Workers",
    empty: "No process works on the inbox.",
    keyOf: ({ id }) => id,
    columns: [
      { head: "Process", text: ({ id, isThis }) => (isThis ? `${id} (this one)` : id) },
      { head: "Share of the lanes", text: ({ share }) => `${(share * 100).toFixed(1)} %` },
      { head: "Running", kind: "number", text: ({ running }) => running },
    ],
  });
  const ofWorkers = make("div", { className: "list", hidden: true }, ...workers.parts);

  return {
    title: "Now",
    parts: [
      state,
      facts.list,
      line.figure,
      make("h3", {}, "Problems"),
      none,
      list,
      ...paused.parts,
      createPauseForm(ask),
      ...changes.parts,
      ofWorkers,
    ],
    record: line.record,
    /** @param {import("./api.js").Answer} answer */
    show(answer) {
      const { problems: found, live, ready, role, oldestWaitingMs, freeDiskBytes, waiting } = answer;
      const isGood = ready && live && found.length === 0;
      state.dataset["kind"] = isGood ? "good" : ready && live ? "warning" : "bad";
      setText(title, isGood ? "All is well" : ready ? toCount(found.length, "problem") : "Deliveries get 503");
      setText(about, `${live ? "" : "A restart helps. "}${ROLES[role] ?? ""}`);
      facts.show({
        Waiting: waiting,
        "Oldest waits": waiting === 0 ? "–" : toSpan(oldestWaitingMs),
        ...(answer["pausedWaiting"] > 0 && { "Waiting paused": answer["pausedWaiting"] }),
        "Blocked lanes": answer["blockedLanes"],
        "Dead jobs": answer["dead"],
        Unhandled: answer["unhandled"],
        Stuck: answer["stuck"],
        ...(answer["succeeded"] !== undefined && {
          Done: answer["succeeded"],
          Failures: answer["failed"],
        }),
        ...(freeDiskBytes !== undefined && { "Free disk": `${(freeDiskBytes / 1e9).toFixed(1)} GB` }),
      });
      line.draw();
      problems(found);
      none.hidden = found.length > 0;
      paused.show(answer["paused"]);
      changes.show(answer.changes);
      workers.show(answer["workers"]);
      ofWorkers.hidden = answer["workers"].length === 0;
    },
  };
}

/** @param {{ consumer?: string, accountId?: number }} pause */
function targetOf({ consumer, accountId }) {
  return JSON.stringify({ consumer, accountId: accountId?.toString() });
}

/** @param {(wanted: import("./confirm.js").Wanted) => void} ask */
function createPauseForm(ask) {
  const consumer = make("input", { id: "pause-consumer", size: 12 });
  const account = make("input", { id: "pause-account", size: 12, pattern: "\\d{1,16}" });
  const reason = make("input", { id: "pause-reason", size: 24, required: true });
  const fields = Object.entries({ Consumer: consumer, Account: account, Reason: reason });
  const labels = fields.map(([name, input]) => make("label", { className: "inline" }, `${name} `, input));
  const form = make("form", { id: "pause", className: "actions changes" }, ...labels, make("button", {}, "Pause"));
  form.addEventListener("submit", (/** @type {Event} */ event) => {
    event.preventDefault();
    const given = { consumer: consumer.value.trim(), accountId: account.value.trim(), reason: reason.value.trim() };
    ask({ verb: "pause", filter: Object.fromEntries(Object.entries(given).filter(([, text]) => text !== "")) });
  });
  return form;
}

/** @param {{ code: string, message: string, fix?: string }} problem */
function createProblem({ code }) {
  const [message, fix] = [make("p"), make("p", { className: "fix" })];
  const badge = make("code", { className: "badge" }, code);
  badge.dataset["kind"] = "warning";
  const runbook = make("a", { href: toHref("runbook", { code }) }, "Runbook");
  return {
    root: make("li", { className: "card" }, make("p", { className: "actions" }, badge, runbook), message, fix),
    show(/** @type {{ message: string, fix?: string }} */ latest) {
      fillProse(message, latest.message);
      fillProse(fix, latest.fix ?? "");
    },
  };
}

/** @param {import("./api.js").BegunChange} change */
function stateOf({ count, perSecond, endedAt, changed, failed }) {
  if (failed !== undefined) return `failed: ${failed}`;
  if (endedAt !== undefined) return `done: ${changed?.toLocaleString("en")}`;
  return perSecond === undefined
    ? "goes on"
    : `goes on, ${perSecond} a second: about ${toSpan((count / perSecond) * 1_000)} in all`;
}
