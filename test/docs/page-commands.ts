import { blocksOf, pageOf, pages, type Page } from "./pages.ts";

const lines = pages.flatMap((page) => commandsOf(page).map((line) => ({ page, line })));
const unique = (pattern: RegExp) => [...new Set(lines.map(({ line }) => line).filter((line) => pattern.test(line)))];

/** Commands that say all by themselves, on whatever page: each is run once. */
export const common = {
  requests: unique(/^SIGNING_SECRET=\S+ npx hookline (?:check|send) /),
  apiCalls: unique(/^curl .*\$API\//),
  installs: lines.filter(({ line }) => line.startsWith("npm install ")),
  /** With the test that does the same. */
  elsewhere: new Map([
    ["SIGNING_SECRET=whsec node app.ts", "test/docs/readme.test.ts"],
    ["SIGNING_SECRET=... node app.ts", "test/docs/readme.test.ts"],
    ["npx hookline inbox ui --inbox inbox.db", "test/cli/inbox-ui.test.ts"],
    ["npm ci && npm run build && npm pack", "test/package.test.ts"], // it packs what `npm run test:package` built
    ["npm ci && npm start", "test/examples/tour.test.ts"], // it runs what `npm start` runs
    ["npm ci && npm test", "test/docs/commands.test.ts"], // whoever reads its result has done so
  ]),
};

const { requests, apiCalls, installs, elsewhere } = common;
const commonLines = new Set([...requests, ...apiCalls, ...installs.map(({ line }) => line), ...elsewhere.keys()]);

/** Pages with commands that belong together, and to their page. */
export const pagesWithOwn: readonly Page[] = pages.filter((page) =>
  commandsOf(page).some((line) => !commonLines.has(line)),
);

/**
 * The blocks of such a page, without what is common.
 *
 * @throws Error when there are not as many as its test runs
 */
export function ownBlocksOf(file: string, count: number): readonly (readonly string[])[] {
  const blocks = blocksOf(pageOf(file), "sh")
    .map((block) => linesOf(block).filter((line) => !commonLines.has(line)))
    .filter((block) => block.length > 0);
  if (blocks.length !== count)
    throw new Error(`${file} has ${blocks.length} blocks of commands, its test runs ${count}.`);
  return blocks;
}

/** All commands of a page. */
export function commandsOf(page: Page): readonly string[] {
  return blocksOf(page, "sh").flatMap(linesOf);
}

/** Without comments. One that goes on over lines is one. */
function linesOf(block: string): readonly string[] {
  return block
    .replaceAll("\\\n", " ")
    .split("\n")
    .map((line) => line.replace(/(?:^|\s+)#\s.*$/, "").trim())
    .filter((line) => line !== "");
}
