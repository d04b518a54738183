import { byId, setText, textElement } from "../../page/dom.js";
import { fillProse } from "./parts.js";

/** What the package's runbook says about a problem. */
export function createRunbookView() {
  let drawn = "";
  return {
    title: "Runbook",
    path: (/** @type {URLSearchParams} */ query) => `runbook?${new URLSearchParams({ code: query.get("code") ?? "" })}`,
    /**
     * @param {import("./api.js").Answer} answer
     * @param {Record<string, string>} query
     */
    show({ text }, { code = "" }) {
      if (drawn === code + text) return;
      drawn = code + text;
      setText(byId("runbook-title"), code);
      byId("runbook").replaceChildren(...text.split(/\n\n+|\n(?=- )/).map(toParagraph));
    },
  };
}

/** @param {string} text */
function toParagraph(text) {
  if (text.startsWith("```")) return textElement("pre", text.replaceAll(/^```\w*\n|\n```$/g, ""));
  const paragraph = document.createElement("p");
  // A link's target is another page of the package.
  fillProse(paragraph, text.replace(/^- /, "").replaceAll(/\[([^\]]+)\]\([^)]+\)/g, "$1"));
  return paragraph;
}
