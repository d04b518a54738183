import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";

/** The repository's folder. */
export const root = join(import.meta.dirname, "../..");

/** A page of Markdown that people read. */
export interface Page {
  /** From the repository's folder. */
  readonly file: string;
  readonly text: string;
}

/** README, the other pages at the top, and docs without the generated API. */
export const pages: readonly Page[] = globSync(["*.md", "docs/**/*.md"], {
  cwd: root,
  exclude: ["docs/reference/api", "docs/.vitepress", "**/node_modules"],
})
  .filter((file) => !file.startsWith("docs/reference/api/"))
  .toSorted()
  .map((file) => ({ file, text: readFileSync(join(root, file), "utf8") }));

/** The blocks of one language that name no file. */
export function blocksOf({ text }: Page, language: string): readonly string[] {
  return [...text.matchAll(new RegExp(`^\`\`\`${language}\\n(.*?)^\`\`\`$`, "gms"))].map(([, code = ""]) => code);
}

/** @throws Error when there is no such page */
export function pageOf(file: string): Page {
  const page = pages.find((one) => one.file === file);
  if (page === undefined) throw new Error(`There is no ${file}.`);
  return page;
}
