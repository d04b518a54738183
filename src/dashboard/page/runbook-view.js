import { make } from "../../page/dom.js";
import { fillProse } from "./parts.js";

/** What the package's runbook says about a problem. */
export function createRunbookView() {
  let drawn = "";
  const prose = make("div", { id: "runbook", className: "card prose" });
  return {
    title: "Runbook",
    parts: [make("p", {}, make("a", { href: "./" }, "Back to Now")), prose],
    /**
     * @param {import("./api.js").Answer} answer
     * @param {Record<string, string>} query
     */
    show({ text }, { code = "" }) {
      if (drawn !== text) prose.replaceChildren(...text.split(/\n\n+|\n(?=- )/).map(toParagraph));
      drawn = text;
      return code;
    },
  };
}

/** @param {string} text */
function toParagraph(text) {
  if (text.startsWith("```")) return make("pre", {}, text.replaceAll(/^```\w*\n|\n```$/g, ""));
  const paragraph = make("p");
  // A link's target is another page of the package.
  fillProse(paragraph, text.replace(/^- /, "").replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1"));
  return paragraph;
}
