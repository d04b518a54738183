import { byId, copyOf, keyedList, setText } from "../../page/dom.js";
import { toCount, toSpan } from "../../page/format.js";
import { fill, fillProse, toHref } from "./parts.js";

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
  const changes = keyedList({
    list: byId("changes"),
    keyOf: ({ id }) => id,
    create() {
      const { root, part } = copyOf("change-template");
      return {
        root,
        show(/** @type {BegunChange} */ change) {
          const { verb, count, startedAt, endedAt, failed } = change;
          fill(part, { what: `${verb} ${count.toLocaleString("en")}`, at: startedAt, state: stateOf(change) });
          part("state").dataset.kind = failed !== undefined ? "bad" : endedAt === undefined ? "warning" : "good";
        },
      };
    },
  });
  const workers = keyedList({
    list: byId("workers"),
    keyOf: ({ id }) => id,
    create() {
      const { root, part } = copyOf("worker-template");
      return {
        root,
        show({ id, isThis, share, running, host }) {
          fill(part, {
            id: isThis ? `${id} (this process)` : id,
            share: `${(share * 100).toFixed(1)} %`,
            running,
            host,
          });
          part("bar").value = share;
        },
      };
    },
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
      for (const name of ["waiting", "blockedLanes", "dead", "unhandled", "stuck"])
        setText(byId(`tile-${name}`), answer[name].toLocaleString("en"));
      setText(byId("tile-oldest"), answer["waiting"] === 0 ? "–" : toSpan(oldestWaitingMs));
      byId("disk").hidden = freeDiskBytes === undefined;
      if (freeDiskBytes !== undefined) setText(byId("tile-disk"), `${(freeDiskBytes / 1e9).toFixed(1)} GB`);
      problems(found);
      byId("no-problems").hidden = found.length > 0;
      changes(answer.changes);
      byId("changes-card").hidden = answer.changes.length === 0;
      workers(answer["workers"]);
      byId("workers-card").hidden = answer["workers"].length === 0;
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
