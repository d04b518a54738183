import axe from "axe-core";
import { expect, test } from "vitest";
import { APPS, served, stripping } from "../dashboard/servers.ts";
import { troubled } from "../dashboard/support.ts";
import { describeInBrowser, openPage, page } from "../emulator/page-support.ts";

const VIEWS = ["", "lanes", "dead", "dead?type=email.created", "job?id=2", "subscriptions", "gaps", "runbook?code=lag"];
/** An id of mail as Exchange makes them. */
const longer = (text: string) => text.replace(/^\w-\d+$/, (id) => `${id}-${"AAMkAGI2TG93AAA".repeat(8)}`);

describeInBrowser(() => {
  for (const [name, app] of Object.entries(APPS))
    for (const [prefix, strips] of [
      ["", false],
      ["/admin/hooks", false],
      ["/tools/hooks", true],
    ] as const)
      test(`${name} at ${prefix || "/"}${strips ? ", behind a proxy that strips it" : ""}: no complaint, no request elsewhere`, async () => {
        const receiver = await troubled();
        const own = await served(app(receiver, strips ? "" : prefix, () => ({ content: true, change: true })));
        const url = strips ? await stripping(prefix, own) : own;
        // The test's end looks at all that the browser said, and asked for.
        await openPage({ url }, `${prefix}/`);
        for (const view of VIEWS) {
          await page.goto(`${url}${prefix}/${view}`);
          await page.locator("main:not([aria-busy])").waitFor();
          expect(await page.locator("section:visible").count()).toBe(1);
        }
        if (prefix !== "" && !strips) {
          await page.goto(url + prefix);
          expect(page.url()).toBe(`${url}${prefix}/`);
          await page.locator("main:not([aria-busy])").waitFor();
        }
        await page.goto(`${url}${prefix}/dead`);
        await page.locator("#groups").getByRole("button", { name: "Replay" }).first().click();
        await page.locator("#confirm-do").click();
        await page.locator("#notice").filter({ hasText: "Replayed 3 jobs" }).waitFor();
      });

  for (const colorScheme of ["light", "dark"] as const)
    for (const width of [390, 1280])
      test(`${colorScheme}, ${width} px: nothing is wider than the screen, and axe finds nothing serious`, async () => {
        const receiver = await troubled({ mark: longer, dead: 60 });
        const url = await served(APPS["Koa"]!(receiver, "/admin/hooks", () => ({ content: true, change: true })));
        await openPage({ url }, "/admin/hooks/", { look: { colorScheme, width }, expected: /^$/ });
        for (const view of [...VIEWS, "dead?type=booking&consumer=nobody", "job?id=0"]) {
          await page.goto(`${url}/admin/hooks/${view}`);
          await page.locator("main:not([aria-busy])").waitFor();
          expect(await looks(), view).toEqual({ isWide: false, serious: [] });
        }
        await page.goto(`${url}/admin/hooks/dead`);
        await page.locator("#groups").getByRole("button", { name: "Drop" }).first().click();
        await page.locator("#confirm[open]").waitFor();
        expect(await looks(), "dialog").toEqual({ isWide: false, serious: [] });
      });
});

/** Whether it is wider than the screen, and what axe finds. */
async function looks(): Promise<unknown> {
  await page.evaluate(axe.source);
  return page.evaluate(`(async () => {
    const { violations } = await axe.run(document, { resultTypes: ["violations"] });
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    return {
      isWide: document.documentElement.scrollWidth > innerWidth,
      serious: serious.map(({ id, nodes }) => id + " " + nodes.map(({ html }) => html.slice(0, 150)).join(" ")),
    };
  })()`);
}
