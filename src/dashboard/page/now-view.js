import { byId, copyOf, keyedList, setText } from "../../page/dom.js";
import { toCount, toSpan } from "../../page/format.js";
import { createTable, fillProse, showFacts, toHref } from "./parts.js";

/** @typedef {import("./api.js").BegunChange} BegunChange */

/** What the spark line shows. */
const SPAN_MS = 15 * 60_000;
const [WIDTH, HEIGHT] = [200, 32];

/** @type {Record<string, string>} */
const ROLES = {
  working: "This process works on the inbox.",
  standby: "This process stands by: another one works on the inbox.",
  receiving: "This process only receives: it runs no handler.",
  "worked-on": "A process works on this inbox.",
  "not-worked-on": "No process works on this inbox: what waits is handled once a receiver starts on it.",
};

/** Problems with their fixes, and how much there is. */
export function createNowView() {
  /** @type {{ at: number, waiting: number }[]} kept by the page alone */
  let seen = [];
  const problems = keyedList({
    list: byId("problems"),
    keyOf: ({ code, message }) => `${code} ${message}`,
    create({ code }) {
      const { root, part } = copyOf("problem-template");
      part("runbook").href = toHref("runbook", { code });
      setText(part("code"), code);
      return {
        root,
        show({ message, fix = "" }) {
          fillProse(part("message"), message);
          fillProse(part("fix"), fix);
        },
      };
    },
  });
  const showChanges = createTable({
    id: "changes",
    keyOf: ({ id }) => id,
    columns: [
      { head: "Change", text: ({ verb, count }) => `${verb} ${count.toLocaleString("en")}` },
      { head: "Begun", kind: "time", text: ({ startedAt }) => startedAt },
      { head: "State", text: stateOf },
    ],
  });
  const showWorkers = createTable({
    id: "workers",
    keyOf: ({ id }) => id,
    columns: [
      { head: "Process", text: ({ id, isThis }) => (isThis ? `${id} (this one)` : id) },
      { head: "Share of the lanes", text: ({ share }) => `${(share * 100).toFixed(1)} %` },
      { head: "Running", kind: "number", text: ({ running }) => running },
    ],
  });

  function drawLine() {
    const [first] = seen;
    const last = seen.at(-1);
    if (first === undefined || last === undefined) return;
    const most = Math.max(1, ...seen.map(({ waiting }) => waiting));
    const from = last.at - SPAN_MS;
    const points = seen.map(({ at, waiting }) => {
      const [x, y] = [((at - from) / SPAN_MS) * WIDTH, HEIGHT - 2 - (waiting / most) * (HEIGHT - 4)];
      return `${x.toFixed(1)},${y.toFixed(1)}`;
    });
    byId("spark").setAttribute("points", points.join(" "));
    byId("spark-about").textContent =
      `Waiting jobs of the last ${toSpan(last.at - first.at)}: at most ${most.toLocaleString("en")}`;
  }

  return {
    title: "Now",
    path: () => "now",
    /**
     * @param {number} at
     * @param {number} waiting
     */
    record(at, waiting) {
      seen = [...seen.filter((one) => one.at > at - SPAN_MS && one.at < at), { at, waiting }];
    },
    /** @param {import("./api.js").Answer} answer */
    show(answer) {
      const { problems: found, live, ready, role, oldestWaitingMs, freeDiskBytes } = answer;
      const isGood = ready && live && found.length === 0;
      byId("state").dataset.kind = isGood ? "good" : ready && live ? "warning" : "bad";
      setText(
        byId("state-title"),
        isGood ? "All is well" : ready ? toCount(found.length, "problem") : "Deliveries get 503",
      );
      setText(byId("state-about"), `${live ? "" : "A restart helps. "}${ROLES[role] ?? ""}`);
      setText(byId("waiting"), answer["waiting"].toLocaleString("en"));
      showFacts("tiles", {
        "Oldest waits": answer["waiting"] === 0 ? "–" : toSpan(oldestWaitingMs),
        "Blocked lanes": answer["blockedLanes"],
        "Dead jobs": answer["dead"],
        Unhandled: answer["unhandled"],
        Stuck: answer["stuck"],
        ...(freeDiskBytes !== undefined && { "Free disk": `${(freeDiskBytes / 1e9).toFixed(1)} GB` }),
      });
      problems(found);
      byId("no-problems").hidden = found.length > 0;
      showChanges(answer.changes);
      showWorkers(answer["workers"]);
      byId("workers-heading").hidden = answer["workers"].length === 0;
      drawLine();
    },
  };
}

/** @param {BegunChange} change */
function stateOf({ count, perSecond, endedAt, changed, failed }) {
  if (failed !== undefined) return `failed: ${failed}`;
  if (endedAt !== undefined) return `done: ${changed?.toLocaleString("en")}`;
  return perSecond === undefined
    ? "goes on"
    : `goes on, ${perSecond} a second: about ${toSpan((count / perSecond) * 1_000)} in all`;
}
