import { existsSync } from "node:fs";
import { createEmulator, type Emulator, type EmulatorOptions } from "hookline/emulator";
import { chromium, type Browser, type Locator, type Page } from "playwright-core";
import { afterAll, beforeAll, describe, expect, onTestFinished } from "vitest";

const CHROMIUM = [process.env["HOOKLINE_TEST_CHROMIUM"], "/usr/bin/chromium", "/usr/bin/chromium-browser"].find(
  (file) => file !== undefined && existsSync(file),
);
const skip = CHROMIUM === undefined ? "skipped: chromium is not installed" : undefined;
/** Chromium reports every answer above 399 so, and every one that does not come. */
export const REFUSED = /^Failed to load resource/;

/** One for all tests of a file: to open another takes longer than most of them. */
export let page: Page;
/** What the page's console said, and what it asked for. */
const complaints: string[] = [];

export interface Opening {
  readonly look?: { readonly colorScheme?: "light" | "dark"; readonly width?: number };
  readonly expected?: RegExp;
}

/** Tests that have `page`; without Chromium they are skipped, and their name says so. */
export function describeInBrowser(tests: () => void): void {
  describe.skipIf(skip !== undefined)(skip === undefined ? "in a browser" : `in a browser (${skip})`, () => {
    let browser: Browser | undefined;
    beforeAll(async () => {
      browser = await chromium.launch({ executablePath: CHROMIUM!, args: ["--no-sandbox"] });
      page = await browser.newPage({ permissions: ["clipboard-read", "clipboard-write"] });
      page.on("console", (message) => void complaints.push(message.text()));
      page.on("pageerror", (error) => void complaints.push(String(error)));
      page.on("request", (request) => {
        if (!/^(data|about):/.test(request.url())) complaints.push(`request ${request.url()}`);
      });
      await page.addInitScript(
        `addEventListener("securitypolicyviolation", ({ violatedDirective }) => console.error(violatedDirective))`,
      );
    });
    afterAll(() => browser?.close());
    tests();
  });
}

/** An emulator until the test ends. Its clock is virtual, unless something else is said. */
export async function started(options: EmulatorOptions = {}): Promise<Emulator> {
  const emulator = await createEmulator({ clock: "virtual", ...options });
  onTestFinished(emulator.close);
  return emulator;
}

/** One of its pages, until the test ends: then nothing was loaded from elsewhere, and the browser has no complaint but an expected one. */
export async function openPage(
  { url }: Pick<Emulator, "url">,
  path: string,
  { look = {}, expected = /^$/ }: Opening = {},
): Promise<void> {
  const { colorScheme = "light", width = 1280 } = look;
  await page.emulateMedia({ colorScheme, reducedMotion: "reduce" });
  await page.setViewportSize({ width, height: 900 });
  complaints.length = 0;
  onTestFinished(async () => {
    await page.goto("about:blank");
    expect(complaints.filter((one) => !expected.test(one) && !one.startsWith(`request ${url}/`))).toEqual([]);
  });
  await page.goto(url + path);
}

export async function shows(locator: Locator, text: string | RegExp): Promise<void> {
  await locator.filter({ hasText: text }).waitFor();
}

/** Texts with what they are drawn on: WCAG 2.2, 1.4.3. */
export const CONTRAST = `(() => {
  const channels = (color) => color.match(/[\\d.]+/g).map(Number);
  const luminance = (color) => {
    const [red, green, blue] = channels(color).map((value) => value / 255).map((value) => value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4);
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const ground = (element) => {
    const color = getComputedStyle(element).backgroundColor;
    return channels(color)[3] === 0 ? ground(element.parentElement) : color;
  };
  const poor = [];
  let texts = 0;
  for (const element of document.body.querySelectorAll("*")) {
    const isText = element.matches("input, select, textarea") || [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim() !== "");
    if (!isText || !element.checkVisibility() || element.closest("option, .skip, .hidden")) continue;
    texts += 1;
    const [low, high] = [luminance(getComputedStyle(element).color), luminance(ground(element))].sort((one, other) => one - other);
    const ratio = (high + 0.05) / (low + 0.05);
    if (ratio < 4.5) poor.push(element.outerHTML.slice(0, 80) + " " + ratio);
  }
  return { background: luminance(ground(document.body)) > 0.5 ? "light" : "dark", texts, poor };
})()`;

/** What has the focus, and the outline that shows it. */
export const FOCUS = `[
  document.activeElement === document.body ? "body" : document.activeElement.textContent.trim(),
  getComputedStyle(document.activeElement).outlineStyle,
]`;
