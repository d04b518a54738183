import { readdirSync, statSync } from "node:fs";
import type { Access } from "hookline/dashboard";
import { sample, signedDelivery } from "hookline/testing";
import { expect, test } from "vitest";
import { describeInBrowser, FOCUS, openPage, page, REFUSED, shows, type Opening } from "../emulator/page-support.ts";
import { troubled } from "./support.ts";
import { APPS, served } from "./servers.ts";
import type { Trouble } from "./troubled-receiver.ts";

test("all files of the page together have no more than 120 kB", () => {
  const sizeOf = (folder: string) => {
    const path = new URL(`../../src/${folder}/`, import.meta.url);
    const files = readdirSync(path).filter((file) => !file.endsWith(".ts"));
    return files.reduce((sum, file) => sum + statSync(new URL(file, path)).size, 0);
  };
  expect(sizeOf("dashboard/page") + sizeOf("page")).toBeLessThan(120_000);
});

describeInBrowser(() => {
  test("each view has an address, and shows what is there; links change it without a new page", async () => {
    await opened("/");
    await shows(page.locator("#problems li"), "dead-letters");
    await shows(page.locator("#state-title"), "5 problems");
    await page.getByRole("link", { name: "Lanes" }).click();
    await shows(page.locator("#lanes tbody tr").first(), "ECONNREFUSED");
    await page.getByRole("link", { name: "Dead letters" }).click();
    await page.getByRole("link", { name: "email.created" }).click();
    await shows(page.locator("#dead-jobs tbody tr").first(), "TypeError");
    await page.locator("#dead-jobs").getByRole("link", { name: "2", exact: true }).click();
    await shows(page.locator("#job-title"), "Job 2");
    await shows(page.locator("#job-body"), '"m-2002"');
    expect(page.url()).toMatch(/\/admin\/hooks\/job\?id=2$/);
    await page.goBack();
    await shows(page.locator("#filter-words"), "email.created");
    await page.reload();
    await shows(page.locator("#filter-words"), "email.created");
    await page.getByRole("link", { name: "Subscriptions" }).click();
    await shows(page.locator("#tombstones tbody tr"), "The customer left us");
    await page.getByRole("link", { name: "Gaps" }).click();
    await shows(page.locator("#gaps tbody tr").first(), "calendarEvent");
    await page.getByRole("link", { name: "Now" }).click();
    await page.getByRole("link", { name: "Runbook" }).first().click();
    await shows(page.locator("#runbook"), "Symptom");
  });

  test("a group is replayed and dropped by the keyboard alone; what grew meanwhile is asked for again", async () => {
    const receiver = await opened("/dead", { expected: REFUSED });
    const row = page.locator("#groups tbody tr", { hasText: "email.created" });
    await row.getByRole("button", { name: "Drop" }).focus();
    await page.keyboard.press("Enter");
    await shows(page.locator("#confirm-title"), "Drop 3 jobs?");
    await shows(page.locator("#confirm-filter"), "consumer crm, type email.created, error TypeError");
    const event = sample("email.created", { id: "m-9" });
    await receiver.receive(signedDelivery(event, { secret: "a signing secret" }));
    await expect.poll(async () => (await receiver.health()).dead).toBe(7);
    await page.keyboard.press("Tab");
    await page.keyboard.press("Shift+Tab");
    await page.keyboard.press("Enter");
    await shows(page.locator("#confirm-title"), "Drop 4 jobs?");
    await shows(page.locator("#confirm-note"), "There were 3 when you looked");
    await page.locator("#confirm-do").press("Enter");
    await shows(page.locator("#notice"), "Dropped 4 jobs");
    expect((await receiver.health()).dead).toBe(3);
    await shows(page.locator("#dead-count"), "3 dead jobs in 1 group");

    await page.getByRole("link", { name: "booking" }).click();
    await page.getByLabel("Select all that are listed").check();
    await page.getByRole("button", { name: "Replay selected" }).click();
    await shows(page.locator("#confirm-title"), "Replay 3 jobs?");
    await page.locator("#confirm-do").click();
    await shows(page.locator("#notice"), "Replayed 3 jobs");
  });

  test("a tombstone is lifted, and a gap is cleared", async () => {
    const receiver = await opened("/subscriptions");
    await page.getByRole("button", { name: "Lift" }).click();
    await page.getByRole("button", { name: "Lift 1 tombstone" }).click();
    await shows(page.locator("#no-tombstones"), "No subscription is unwanted");
    expect(await receiver.lists.tombstones()).toEqual([]);
    await page.getByRole("link", { name: "Gaps" }).click();
    await page.getByLabel("Family").selectOption("calendarEvent");
    await page.getByRole("button", { name: "Clear all of calendarEvent" }).click();
    await page.getByRole("button", { name: "Clear 2 gaps" }).click();
    await shows(page.locator("#no-gaps"), "Nothing is missing");
  });

  test("the pages of a list follow one another to its end, and lead back to the first", async () => {
    await opened("/dead?type=email.created", {}, { dead: 120 });
    const list = page.locator("#dead-jobs");
    const ids = () => list.locator("tbody tr").getByRole("link").allTextContents();
    const next = page.getByRole("link", { name: "Next page" });
    const seen: string[] = [];
    for (const rows of [50, 50, 23]) {
      if (seen.length > 0) await next.click();
      // Page by page, newest first.
      await expect.poll(async () => seen.length === 0 || Number((await ids())[0]) < Number(seen.at(-1))).toBe(true);
      const found = await ids();
      expect(found).toHaveLength(rows);
      seen.push(...found);
    }
    expect(new Set(seen).size).toBe(123);
    await expect.poll(() => next.isVisible()).toBe(false);
    await page.getByRole("link", { name: "First page" }).click();
    await expect.poll(async () => (await ids())[0]).toBe(seen[0]);
  });

  test("who only reads has no buttons for changes, and no content", async () => {
    await opened("/dead?type=email.created", {}, { access: {} });
    await shows(page.locator("#dead-jobs tbody tr").first(), "TypeError");
    await shows(page.locator("#read-only"), "read only");
    await shows(page.locator("#no-content"), "content hidden");
    for (const button of await page.locator("button.changes, .changes button").all())
      expect(await button.isVisible()).toBe(false);
    await page.goto(page.url().replace(/dead.*/, "job?id=2"));
    await shows(page.locator("#job-send"), `hookline send email.created --to http://localhost:3000/webhooks`);
    expect(await page.locator("body").textContent()).not.toContain("m-2002");
  });

  test("markup in ids, errors, lanes and reasons is text", async () => {
    const mark = (text: string) => `${text}<script>alert(1)</script><img src=x onerror=alert(2)>`;
    await opened("/", {}, { mark });
    for (const view of ["", "lanes", "dead", "dead?type=email.created", "job?id=2", "subscriptions", "gaps"]) {
      await page.goto(page.url().replace(/hooks\/.*/, `hooks/${view}`));
      await page.locator("main:not([aria-busy])").waitFor();
      expect(await page.locator("main script, main img").count()).toBe(0);
    }
    await page.goto(page.url().replace(/hooks\/.*/, "hooks/lanes"));
    await shows(page.locator("#lanes tbody tr").first(), "<script>alert(1)</script>");
  });

  test("it looks again and again, one look after the other, and not in a hidden tab", async () => {
    await opened("/");
    await shows(page.locator("#state-title"), "5 problems");
    const begun: string[] = [];
    let open = 0;
    let most = 0;
    page.on("request", (request) => {
      if (!request.url().includes("/api/")) return;
      begun.push(request.url());
      most = Math.max(most, (open += 1));
    });
    page.on("requestfinished", (request) => void (request.url().includes("/api/") && (open -= 1)));
    await expect.poll(() => begun.length, { timeout: 20_000 }).toBeGreaterThan(1);
    expect(most).toBe(1);
    // Once more, in a tab that is hidden: by the end of this look it is decided whether another one follows.
    await page.evaluate(`{
      Object.defineProperty(document, "hidden", { value: true, configurable: true });
      window.planned = [];
      const { setTimeout: own } = window;
      window.setTimeout = (run, ms, ...more) => { planned.push(ms); return own(run, ms, ...more); };
      dispatchEvent(new Event("popstate"));
    }`);
    await page.locator("main:not([aria-busy])").waitFor();
    expect(await page.evaluate("planned")).toEqual([]);
    const before = begun.length;
    await page.evaluate(`delete document.hidden; document.dispatchEvent(new Event("visibilitychange"))`);
    await expect.poll(() => begun.length).toBeGreaterThan(before);
  });

  test("while the inbox fails the page says so, and goes on when it answers", async () => {
    const receiver = await troubled();
    const { blockedLanes } = receiver.lists;
    receiver.lists.blockedLanes = () => Promise.reject(Object.assign(new Error("x"), { code: "storage-failed" }));
    await openPage({ url: await served(app(receiver, {})) }, "/admin/hooks/lanes", { expected: REFUSED });
    await shows(page.locator("#trouble"), "The inbox gives no answer");
    receiver.lists.blockedLanes = blockedLanes;
    await shows(page.locator("#lanes tbody tr").first(), "email.updated");
    await shows(page.locator("#connection"), "Live");
  });

  test("what has the focus shows it", async () => {
    await opened("/dead");
    await page.locator("main:not([aria-busy])").waitFor();
    await page.keyboard.press("Tab");
    expect(await page.evaluate(FOCUS)).toEqual(["Skip to the content", "solid"]);
    await page.keyboard.press("Tab");
    expect(await page.evaluate(FOCUS)).toEqual([expect.stringContaining("Now"), "solid"]);
  });
});

interface World extends Trouble {
  readonly access?: Access;
}

/** A dashboard in Express behind helmet at a path, opened. */
async function opened(view: string, opening: Opening = {}, { access, ...trouble }: World = {}) {
  const receiver = await troubled(trouble);
  const url = await served(app(receiver, access ?? { content: true, change: true }));
  await openPage({ url }, `/admin/hooks${view}`, opening);
  return receiver;
}

function app(receiver: Awaited<ReturnType<typeof troubled>>, access: Access) {
  return APPS["Express and helmet"]!(receiver, "/admin/hooks", () => access);
}
