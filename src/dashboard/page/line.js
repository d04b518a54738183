import { make, setText } from "../../page/dom.js";
import { toSpan } from "../../page/format.js";

/** What it shows at most, and at least. */
const [SPAN_MS, SHORT_MS] = [15 * 60_000, 60_000];
const [WIDTH, HEIGHT] = [600, 48];

/** A line of waiting jobs in the last minutes, kept by the page alone. */
export function createLine() {
  /** @type {{ at: number, waiting: number }[]} */
  let seen = [];
  const svg = document.createElementNS("http://www.w3.org/2000/svg", "svg");
  const line = document.createElementNS("http://www.w3.org/2000/svg", "polyline");
  const caption = make("figcaption", { className: "hint" }, "Waiting jobs");
  svg.setAttribute("viewBox", `0 0 ${WIDTH} ${HEIGHT}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("aria-hidden", "true");
  svg.append(line);

  return {
    figure: make("figure", { className: "card" }, caption, svg),
    /**
     * @param {number} at
     * @param {number} waiting
     */
    record(at, waiting) {
      seen = [...seen.filter((one) => one.at > at - SPAN_MS && one.at < at), { at, waiting }];
    },
    draw() {
      const [first] = seen;
      const last = seen.at(-1);
      if (first === undefined || last === undefined) return;
      const most = Math.max(...seen.map(({ waiting }) => waiting));
      const span = Math.max(last.at - first.at, SHORT_MS);
      const points = seen.map(({ at, waiting }) => {
        const [x, y] = [1 - (last.at - at) / span, 1 - waiting / Math.max(most, 1)];
        return `${(x * WIDTH).toFixed(1)},${(2 + y * (HEIGHT - 4)).toFixed(1)}`;
      });
      line.setAttribute("points", points.join(" "));
      setText(caption, `Waiting jobs in the last ${toSpan(span)}: at most ${most.toLocaleString("en")}`);
    },
  };
}
