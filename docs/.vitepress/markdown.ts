import { dirname, join, relative, resolve } from "node:path";
import type { MarkdownRenderer } from "vitepress";

const docs = join(import.meta.dirname, "..");

/** What the pages need beyond what VitePress does. */
export function extendMarkdown(md: MarkdownRenderer): void {
  unlinkOutside(md);
  hideEnds(md);
  labelCells(md);
}

/** Files of the repository that are no pages are links where the pages are read as files, and plain text in the site. */
function unlinkOutside(md: MarkdownRenderer): void {
  md.core.ruler.push("unlink-outside", ({ tokens, env }) => {
    const folder = dirname(join(docs, (env as { relativePath?: string }).relativePath ?? "index.md"));
    for (const { children } of tokens) {
      let isUnlinked = false;
      for (const token of children ?? []) {
        if (token.type === "link_open") {
          const [href = ""] = (token.attrGet("href") ?? "").split("#");
          const isRelative = href !== "" && !/^[a-z]+:|^\//.test(href);
          isUnlinked = isRelative && relative(docs, resolve(folder, href)).startsWith("..");
        }
        if (isUnlinked && (token.type === "link_open" || token.type === "link_close")) {
          if (token.type === "link_close") isUnlinked = false;
          [token.type, token.tag, token.nesting, token.content] = ["text", "", 0, ""];
          token.attrs = null;
        }
      }
    }
  });
}

/** One line of an example that closes what it opened, so that the test of the page ends. A program of a reader runs on. */
const CLOSES = /^(?:await )?[\w.]+\.(?:close|quit|disconnect|end|stop|closeAllConnections)\([^()]*\);(?: \/\/.*)?$/;

/** An example without the lines at its end that are for its test. The file of the page has them. */
export function withoutEnd(code: string): string {
  const lines = code.trimEnd().split("\n");
  const last = lines.findLastIndex((line) => line !== "" && !CLOSES.test(line));
  return `${lines.slice(0, last + 1).join("\n")}\n`;
}

function hideEnds(md: MarkdownRenderer): void {
  md.core.ruler.push("hide-ends", ({ tokens }) => {
    for (const token of tokens)
      if (token.type === "fence" && token.info.trim() === "ts") token.content = withoutEnd(token.content);
  });
}

/** Each cell knows the name of its column: on a narrow screen a row is a card (theme/style.css). */
function labelCells(md: MarkdownRenderer): void {
  md.core.ruler.push("label-cells", ({ tokens }) => {
    let columns: string[] = [];
    let place = 0;
    for (const [index, token] of tokens.entries()) {
      if (token.type === "table_open") columns = [];
      if (token.type === "tr_open") place = 0;
      if (token.type === "th_open") columns.push(tokens[index + 1]?.content.replaceAll(/[`*]/g, "") ?? "");
      if (token.type === "td_open") {
        const column = columns[place] ?? "";
        if (column !== "") token.attrSet("data-column", column);
        place += 1;
      }
    }
  });
}
