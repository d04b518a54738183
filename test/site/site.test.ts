import { existsSync, mkdirSync, readFileSync, statSync } from "node:fs";
import { createServer, type Server } from "node:http";
import { once } from "node:events";
import type { AddressInfo } from "node:net";
import { extname, join } from "node:path";
import { chromium, type Browser, type Page } from "playwright-core";
import { afterAll, beforeAll, expect, test } from "vitest";
import { pages, root } from "../docs/pages.ts";
import { QUESTIONS } from "./questions.ts";

const dist = join(root, "docs/.vitepress/dist");
/** `SITE_PICTURES` names a folder for pictures of some pages, to look at. */
const pictures = process.env["SITE_PICTURES"];

const TYPES: Readonly<Record<string, string>> = {
  ".css": "text/css",
  ".html": "text/html",
  ".js": "text/javascript",
  ".png": "image/png",
  ".svg": "image/svg+xml",
};

/** For a busy machine: it only ends what hangs. */
const PATIENT = { timeout: 60_000 };

/** Of 40 questions. */
const LEAST_FOUND = 38;
const FIRST = 3;

let server: Server;
let browser: Browser;
let url = "";

beforeAll(async () => {
  if (!existsSync(join(dist, "index.html")))
    throw new Error("Got no built site. Run `npm run test:browser`, which builds it first.");
  server = createServer((req, res) => {
    const path = decodeURIComponent(new URL(req.url ?? "/", "http://localhost").pathname);
    const file = [path, `${path}.html`, join(path, "index.html")]
      .map((one) => join(dist, one))
      .find((one) => existsSync(one) && statSync(one).isFile());
    if (file === undefined) return void res.writeHead(404).end();
    res.writeHead(200, { "Content-Type": TYPES[extname(file)] ?? "application/octet-stream" }).end(readFileSync(file));
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  browser = await chromium.launch({
    executablePath: process.env["CHROMIUM"] ?? "/usr/bin/chromium",
    args: ["--no-sandbox"],
  });
});
afterAll(async () => {
  await browser?.close();
  server?.close();
});

test(`of ${QUESTIONS.length} questions to the search, the right page is among the first ${FIRST} for ${LEAST_FOUND}`, async () => {
  expect(QUESTIONS).toHaveLength(40);
  const page = await browser.newPage();
  await page.goto(`${url}/start/why`);
  await page.locator(".VPNavBarSearch button").first().click();
  const input = page.locator("#localsearch-input");
  await input.waitFor();
  const missed: string[] = [];
  for (const [question, wanted] of QUESTIONS) {
    await input.fill("");
    await page.waitForFunction(`${LINKS}.length === 0`);
    await input.fill(question);
    await page.waitForFunction(`${LINKS}.length > 0`);
    const links = await page.evaluate<string[]>(`${LINKS}.map((link) => link.pathname.replace(/\\.html$/, ""))`);
    // Sections of one page are one page.
    const first = [...new Set(links)].slice(0, FIRST);
    if (!first.includes(wanted)) missed.push(`${question}: expected ${wanted}, got ${first.join(", ")}`);
  }
  await page.close();
  expect(QUESTIONS.length - missed.length, missed.join("\n")).toBeGreaterThanOrEqual(LEAST_FOUND);
});

test(
  "no page is wider than the window, and no code or table is cut, at 1280 and at 390 px",
  { timeout: 300_000 },
  async () => {
    const shown = pages
      .filter(({ file }) => file.startsWith("docs/"))
      .map(({ file }) => file.replace(/^docs\//, "/").replace(/(?:index)?\.md$/, ""));
    const page = await browser.newPage();
    // A page is whole without them, and to run them takes longer than to look at it.
    await page.route("**/*.js", (route) => route.abort());
    const wide: string[] = [];
    for (const path of shown) {
      await page.goto(`${url}${path}`);
      for (const width of [1280, 390]) {
        await page.setViewportSize({ width, height: 900 });
        const found = await widerThanTheirPlace(page);
        wide.push(...found.map((what) => `${path} at ${width} px: ${what}`));
      }
    }
    await page.close();
    expect(wide).toEqual([]);
  },
);

test("the group of the shown page is open, and the others are not", async () => {
  const page = await browser.newPage({ viewport: { width: 1280, height: 900 } });
  await page.goto(`${url}/deploy/server`);
  const open = page.locator(".VPSidebarItem.level-0:not(.collapsed) > .item .text");
  await expect.poll(() => open.allTextContents(), PATIENT).toEqual(["Deploy"]);
  expect(await page.locator(".VPNavBarMenu .VPNavBarMenuLink").allTextContents()).toEqual([
    "Quickstart",
    "Guides",
    "Deploy",
    "Operate",
    "API",
  ]);
  await page.goto(`${url}/reference/api/hookline/express`);
  const entries = page.locator(".VPSidebarItem.level-0:not(.collapsed) .items .text");
  await expect.poll(() => entries.allTextContents(), PATIENT).toContain("hookline/express");
  await page.close();
});

test("an example ends on the site without the lines that are for its test", async () => {
  const page = await browser.newPage();
  await page.goto(`${url}/mounts/express`);
  expect(await page.locator(".vp-doc").textContent()).toContain("keepRawBody");
  expect(await page.locator(".vp-doc div[class*=language-]").allTextContents()).not.toContainEqual(
    expect.stringMatching(/await receiver\.close\(\);\s*$/),
  );
  await page.close();
});

test.skipIf(pictures === undefined)("pictures to look at", { timeout: 300_000 }, async () => {
  mkdirSync(pictures ?? "", { recursive: true });
  for (const colorScheme of ["light", "dark"] as const)
    for (const width of [1280, 390]) {
      const page = await browser.newPage({ viewport: { width, height: 900 }, colorScheme });
      for (const path of ["/", "/deploy/server", "/reference/options", "/concepts/guarantees", "/mounts/express"]) {
        await page.goto(`${url}${path}`);
        const name = `${path.replaceAll("/", "_")}-${width}-${colorScheme}.png`;
        await page.screenshot({ path: join(pictures ?? "", name), fullPage: path === "/" });
      }
      await page.close();
    }
});

/** In the page. */
const LINKS = `[...document.querySelectorAll("#localsearch-list a")]`;

/** What sticks out of the window, or of what it is in. */
function widerThanTheirPlace(page: Page): Promise<readonly string[]> {
  return page.evaluate(`(() => {
    const found = [];
    if (document.documentElement.scrollWidth > window.innerWidth) found.push("the page");
    for (const one of document.querySelectorAll(".vp-doc table, .vp-doc pre"))
      if (one.scrollWidth > one.clientWidth + 1 || one.getBoundingClientRect().right > window.innerWidth)
        found.push(one.tagName.toLowerCase() + " " + one.textContent.trim().slice(0, 40));
    return found;
  })()`);
}
