import { execFile } from "node:child_process";
import { readdirSync } from "node:fs";
import type { RequestListener } from "node:http";
import { promisify } from "node:util";
import type { Emulator } from "hookline/emulator";
import type { Locator } from "playwright-core";
import { expect, test } from "vitest";
import { freePort, send, serve } from "../support/http.ts";
import { mounted } from "../support/mounted.ts";
import {
  CONTRAST,
  FOCUS,
  REFUSED,
  describeInBrowser,
  openPage,
  page,
  shows,
  started,
  type Opening,
} from "./page-support.ts";

const run = promisify(execFile);

test("every file of the pages is served, and may load nothing from elsewhere", async () => {
  const { url } = await started();
  const filesOf = (folder: string) =>
    readdirSync(new URL(`../../src/${folder}/`, import.meta.url), { recursive: true, encoding: "utf8" });
  const files = [...filesOf("emulator/page"), ...filesOf("page").map((file) => `page/${file}`)];
  for (const file of files) {
    if (!file.includes(".") || file.endsWith(".ts")) continue;
    const { status, headers } = await send(`${url}/${file.replace(/\/?index.html$/, "")}`, { method: "GET" });
    expect({ file, status }).toEqual({ file, status: 200 });
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; script-src 'self'; style-src 'self';/);
  }
});

describeInBrowser(() => {
  test("an account, a subscription and a delivery are made by hand, and the delivery is seen at once", async () => {
    const emulator = await started();
    const { url, receiver } = await receiverOf(emulator);
    const ids: unknown[] = [];
    receiver.on("contact.updated", (event) => void ids.push(event.id), { merge: false });
    await receiver.start();
    await opened(emulator);
    await shows(page.locator("#no-accounts"), "There is no account yet");
    await page.getByLabel("Name").fill("Ada Byron");
    await page.getByRole("button", { name: "Open account" }).click();
    await shows(page.getByRole("article", { name: "2001 Ada Byron" }), "has access");

    await page.getByRole("combobox", { name: "Resource" }).selectOption("/contacts");
    await page.getByLabel("Notification URL").fill(`${url}/webhooks`);
    await page.getByRole("button", { name: "Subscribe", exact: true }).click();
    const card = page.getByRole("article", { name: "1001 /contacts" });
    await shows(card, "active");
    await shows(page.locator("#no-attempts"), "Nothing was delivered yet");

    await card.getByRole("button", { name: "Emit" }).click();
    await shows(rows(), "acknowledged");
    await emulator.settled();
    await receiver.idle();
    expect(ids).toHaveLength(1);
    expect(await page.locator("#journal-count").textContent()).toBe("1 attempt");
  });

  test("a resource that the list has not is typed", async () => {
    const { emulator, receiverUrl } = await subscribed();
    await page.locator("#subscribe summary").click();
    await page.getByRole("combobox", { name: "Resource" }).selectOption("another one…");
    await page.getByLabel("Path of the resource").fill("/booking/7");
    await page.getByLabel("Notification URL").fill(receiverUrl);
    await page.getByRole("button", { name: "Subscribe", exact: true }).click();
    await page.getByRole("article", { name: "1002 /booking/7" }).waitFor();
    expect(emulator.subscriptions).toHaveLength(2);
  });

  test("a handshake that fails says why, beside the form", async () => {
    const emulator = await started();
    await emulator.account();
    const wrong = await serve((_, answer) => answer.end("hello"));
    await opened(emulator, { expected: REFUSED });
    await page.getByLabel("Notification URL").fill(wrong.url);
    await page.getByRole("button", { name: "Subscribe", exact: true }).click();
    await shows(page.locator("#subscribe-form").getByRole("alert"), 'was 200 with the body "hello"');
    expect(emulator.subscriptions).toEqual([]);
  });

  test("the command that is shown while there is no subscription subscribes", async () => {
    const emulator = await started();
    await emulator.account();
    const { url } = await receiverOf(emulator);
    await opened(emulator);
    const command = await page.getByLabel("A command that subscribes").textContent();
    await run("sh", ["-c", String(command).replace("http://127.0.0.1:3000", url)]);
    await page.getByRole("article", { name: "1001 /email/messages" }).waitFor();
  });

  test("a fault is chosen, the delivery fails, time passes, and after the recovery it arrives", async () => {
    const { card } = await subscribed();
    await card.getByLabel("Fault").selectOption("wrong-signature");
    await card.getByRole("button", { name: "Fail so" }).click();
    await shows(card, "Fault wrong-signature");
    await page.getByRole("button", { name: "Receive a mail" }).click();
    await shows(rows(), "redelivery");
    expect(await cells(rows())).toMatchObject({
      Subscription: "1001",
      Delivery: "1",
      Attempt: "1",
      Answer: "401",
      "Next attempt": "03:04:06",
      Fault: "wrong-signature",
    });
    await shows(card, "1 delivery, next in 1 s");

    await card.getByRole("button", { name: "Recover" }).click();
    await shows(card, "Fault none");
    await page.getByRole("button", { name: "1 s", exact: true }).click();
    await shows(rows().first(), "acknowledged");
    expect(await cells(rows().first())).toMatchObject({ Delivery: "1", Attempt: "2", Answer: "200", Fault: "" });
    await shows(page.locator("#now"), "2026-01-02 03:04:06 UTC");
    await shows(card, "Waiting none");
  });

  test("time passes by any number of seconds", async () => {
    const { emulator } = await subscribed();
    await page.getByLabel("seconds").fill("0.5");
    await page.getByRole("button", { name: "Advance", exact: true }).click();
    await page.locator('#now[datetime="2026-01-02T03:04:05.500Z"]').waitFor();
    await page.getByRole("button", { name: "1 day" }).click();
    await shows(page.locator("#now"), "2026-01-03 03:04:05 UTC");
    expect(new Date(emulator.clock.now()).toISOString()).toBe("2026-01-03T03:04:05.500Z");
  });

  test("a fault with a number has a field for it", async () => {
    const { emulator, card } = await subscribed();
    await card.getByLabel("Fault").selectOption("entries");
    await card.getByLabel("entries").fill("3");
    await card.getByRole("button", { name: "Fail so" }).click();
    await shows(card, "Fault entries");
    await card.getByRole("button", { name: "Emit" }).click();
    await shows(rows(), "acknowledged");
    expect(JSON.parse(emulator.journal[0]!.body)).toMatchObject({ payloads: [{}, {}, {}] });
  });

  test("all faults can be chosen", async () => {
    const { emulator, card } = await subscribed();
    const offered = await card
      .getByLabel("Fault")
      .locator("option")
      .evaluateAll((all) => all.map((option) => (option as unknown as { readonly value: string }).value));
    let refusal = "";
    try {
      emulator.fault(1001, "none" as "split");
    } catch (error) {
      refusal = String(error).split("Expected one of ")[1] ?? "";
    }
    const known = [...refusal.matchAll(/([a-z][a-zA-Z-]+)[,:]/g)].map(([, name]) => name);
    expect(known.length).toBeGreaterThan(10);
    expect(new Set(offered)).toEqual(new Set(known));
  });

  test("credentials expire and are restored", async () => {
    const { card } = await subscribed();
    await page.getByRole("button", { name: "Expire credentials" }).click();
    await shows(card, "errored");
    await shows(card, "Active token is missing, since 2 Jan 03:04:05");
    const account = page.getByRole("article", { name: "2001 Grace Hopper" });
    await shows(account, "access lost");
    await account.getByRole("button", { name: "Restore credentials" }).click();
    await shows(card, "active");
    await shows(account, "has access");
    await shows(rows().nth(1), "acknowledged");
  });

  test("an attempt opens to the whole request and the whole answer, by the keyboard too", async () => {
    const { emulator, account } = await subscribed((_, answer) => {
      answer.writeHead(503, { "X-Reason": "maintenance" }).end('{"later":true}');
    });
    await account.receiveMail();
    const row = rows();
    await row.getByRole("button").focus();
    await page.keyboard.press("Enter");
    const detail = page.locator("tr.detail");
    await shows(detail, "Status 503, after");
    const [attempt] = emulator.journal;
    for (const value of [
      ...Object.entries(attempt!.headers).flat(),
      "x-reason",
      "maintenance",
      '{\n  "later": true\n}',
    ])
      expect(await detail.textContent()).toContain(value);
    expect(await detail.getByLabel("Body of the request").textContent()).toBe(
      JSON.stringify(JSON.parse(attempt!.body), undefined, 2),
    );
    expect(await row.getByRole("button").getAttribute("aria-expanded")).toBe("true");
    await page.keyboard.press("Enter");
    await detail.waitFor({ state: "hidden" });
  });

  test("the command of an attempt sends the same bytes with the same signature again", async () => {
    const { emulator } = await subscribed();
    await emulator.emit(1001, [{ id: "it's $HOME `id`", changeType: "created" }]);
    await rows().getByRole("button").click();
    await page.getByRole("button", { name: "Copy as curl" }).click();
    await shows(page.locator("#notice"), "Copied a command that sends it again.");
    const { stdout } = await run("sh", ["-c", await page.evaluate<string>("navigator.clipboard.readText()")]);
    expect(stdout).toMatch(/^HTTP\/1.1 200 OK/);
  });

  test("what is copied is the whole of it", async () => {
    const { emulator, account } = await subscribed();
    await page.getByRole("button", { name: "Copy token" }).click();
    await shows(page.locator("#notice"), "Copied the token of account 2001.");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(account.token);
    await page.getByRole("button", { name: "Copy secret" }).click();
    await shows(page.locator("#notice"), "Copied the secret.");
    expect(await page.evaluate("navigator.clipboard.readText()")).toBe(emulator.secret);
  });

  test("markup in names, bodies and headers is text", async () => {
    const evil = `<img src="x" onerror="document.title = 'hacked'"><script>document.title = "hacked"</script>`;
    const { emulator } = await subscribed((_, answer) => {
      answer.writeHead(500, { "X-Evil": evil }).end(evil);
    });
    await emulator.account({ name: evil, email: evil });
    await emulator.emit(1001, [{ id: evil, changeType: "created" }]);
    await rows().getByRole("button").click();
    await shows(page.getByLabel("Body of the request"), JSON.stringify(evil).slice(1, -1));
    await shows(page.getByLabel("Body of the answer"), evil);
    await shows(page.locator("tr.detail dl").nth(1), evil);
    await shows(page.getByRole("heading", { name: "2002" }), evil);
    expect(await page.locator("img, script:not([src])").count()).toBe(0);
    expect(await page.title()).toBe("Hookline emulator");
  });

  test("the journal is filtered by subscription and by outcome", async () => {
    const { emulator, account, card } = await subscribed();
    const broken = await serve((request, answer) => {
      const token = new URL(request.url ?? "", "http://host").searchParams.get("validationToken");
      answer.writeHead(token === null ? 500 : 200, { "Content-Type": "text/plain" }).end(token);
    });
    await emulator.subscribe(account, "/email/messages", broken.url);
    await account.receiveMail();
    await rows().nth(1).waitFor();
    await page.getByRole("combobox", { name: "Subscription" }).selectOption("1002");
    await shows(page.locator("#journal-count"), "1 of 2 attempts");
    expect((await cells(rows()))["Answer"]).toBe("500");
    await page.getByLabel("Outcome").selectOption("acknowledged");
    await shows(page.locator("#no-attempts"), "No attempt is like the filter");
    await page.getByRole("combobox", { name: "Subscription" }).selectOption("all");
    await shows(rows(), "acknowledged");

    // What arrives later is filtered, too.
    await card.getByRole("button", { name: "Emit" }).click();
    await page.getByRole("button", { name: "1 s", exact: true }).click();
    await shows(page.locator("#journal-count"), "2 of 4 attempts");
  });

  test("the latest 500 attempts are kept, those from before the page was opened included", async () => {
    const { emulator } = await subscribed((_, answer) => answer.end());
    for (let count = 0; count < 510; count += 1)
      await emulator.emit(1001, [{ id: `m-${count}`, changeType: "created" }]);
    await emulator.settled();
    await shows(page.locator("#journal-count"), "500 attempts; of 510 the latest are kept here");
    await page.reload();
    await shows(page.locator("#journal-count"), "500 attempts; of 510 the latest are kept here");
    expect(await rows().count()).toBe(500);
    await rows().first().getByRole("button").click();
    await shows(page.getByLabel("Body of the request"), '"m-509"');
  });

  test("an attempt that is open stays so while others arrive", async () => {
    const { account } = await subscribed();
    await account.receiveMail();
    await rows().getByRole("button").click();
    await account.receiveMail();
    await rows().nth(1).waitFor();
    expect(await rows().nth(0).getByRole("button").getAttribute("aria-expanded")).toBe("false");
    expect(await rows().nth(1).getByRole("button").getAttribute("aria-expanded")).toBe("true");
    await shows(page.locator("tr.detail:visible"), "Status 200");
  });

  test("after a program's reset the journal begins anew, even if more attempts follow than were before", async () => {
    const { emulator, card, receiverUrl } = await subscribed();
    await card.getByRole("button", { name: "Emit" }).click();
    await shows(page.locator("#journal-count"), "1 attempt");
    await emulator.advance(1_000);
    await emulator.reset();
    await emulator.subscribe(await emulator.account(), "/contacts", receiverUrl);
    for (const id of ["c-1", "c-2"]) await emulator.emit(1001, [{ id, changeType: "created" }]);
    await shows(page.locator("#journal-count"), "2 attempts");
    for (const row of await rows().all()) await shows(row, "2 Jan 03:04:06");
  });

  test("what a program does shows without a reload, and an unsubscribed receiver goes", async () => {
    const { emulator, account, receiverUrl, card } = await subscribed();
    await emulator.subscribe(account, "/contacts", receiverUrl);
    await page.getByRole("article", { name: "1002 /contacts" }).waitFor();
    await card.getByRole("button", { name: "Unsubscribe" }).click();
    await card.waitFor({ state: "detached" });
    expect(emulator.subscriptions.map(({ id }) => id)).toEqual([1002]);
  });

  test("a reset asks first", async () => {
    const { emulator, card } = await subscribed();
    await card.getByRole("button", { name: "Emit" }).click();
    await rows().waitFor();
    await page.getByRole("button", { name: "Reset…" }).click();
    await page.keyboard.press("Escape");
    expect(emulator.subscriptions).toHaveLength(1);
    await page.getByRole("button", { name: "Reset…" }).click();
    await page.getByRole("dialog").getByRole("button", { name: "Reset" }).click();
    await card.waitFor({ state: "detached" });
    await rows().waitFor({ state: "detached" });
    await shows(page.locator("#no-accounts"), "There is no account yet");
  });

  test("a real clock cannot be advanced, and the page says why", async () => {
    await opened(await started({ clock: "real" }));
    await shows(page.locator("#clock-hint"), "Start the emulator with --clock virtual");
    for (const name of ["1 s", "1 min", "10 min", "1 h", "1 day", "Advance"])
      expect(await page.getByRole("button", { name, exact: true }).isDisabled()).toBe(true);
  });

  test("an emulator that goes away is waited for", async () => {
    const port = await freePort();
    const first = await started({ port });
    await first.account({ name: "Before" });
    await opened(first, { expected: REFUSED });
    await page.getByRole("heading", { name: "Before" }).waitFor();
    await first.close();
    await shows(page.locator("#connection"), "No connection, trying again");
    await page.getByRole("button", { name: "Receive a mail" }).click();
    await shows(page.locator("#failure"), `The emulator does not answer at http://127.0.0.1:${port}.`);
    const second = await started({ port });
    await second.account({ name: "After" });
    await shows(page.locator("#connection"), "Live");
    await page.getByRole("heading", { name: "After" }).waitFor();
  });

  test.each(["light", "dark"] as const)("text and buttons are readable on %s ground", async (colorScheme) => {
    const { account, card } = await subscribed(undefined, { colorScheme });
    await account.expireCredentials();
    await shows(rows(), "acknowledged");
    await rows().getByRole("button").click();
    await card.getByRole("button", { name: "Emit" }).hover();
    await page.locator("#open-account summary").click();
    await page.locator("#subscribe summary").click();
    const found = await page.evaluate<{ background: string; texts: number; poor: string[] }>(CONTRAST);
    expect(found.poor).toEqual([]);
    expect(found.texts).toBeGreaterThan(60);
    expect(found.background).toBe(colorScheme === "light" ? "light" : "dark");
  });

  test("on a telephone nothing is wider than the screen", async () => {
    const { account } = await subscribed(undefined, { width: 390 });
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await account.receiveMail({ subject: "x".repeat(500), threadId: "t".repeat(500) });
    await rows().getByRole("button").click();
    await page.locator("#open-account summary").click();
    await page.locator("#subscribe summary").click();
    await page.getByRole("button", { name: "Copy token" }).click();
    await shows(page.locator("#notice"), "Copied");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
  });

  test("the keyboard reaches everything, and shows where it is", async () => {
    await subscribed();
    const reached: string[] = [];
    for (let presses = 0; presses < 40; presses += 1) {
      await page.keyboard.press("Tab");
      const [text, outline] = await page.evaluate<[string, string]>(FOCUS);
      if (text === "body") break;
      expect({ text, outline }).toEqual({ text, outline: "solid" });
      reached.push(text);
    }
    expect(reached).toEqual(
      expect.arrayContaining(["Skip to the journal", "1 day", "Copy token", "Emit", "Fail so", "Subscribe", "Reset…"]),
    );
  });
});

/** A receiver for its deliveries. */
function receiverOf({ secret, clock }: Emulator) {
  return mounted({ secret, clock });
}

async function opened(emulator: Emulator, opening: Opening = {}): Promise<void> {
  await openPage(emulator, "/", opening);
  await shows(page.locator("#connection"), "Live");
}

/** A page with an account and a subscription to its mail. @param answer what the receiver does after the handshake */
async function subscribed(answer?: RequestListener, look: Opening["look"] = {}) {
  const emulator = await started();
  const account = await emulator.account();
  const around = (own: RequestListener): RequestListener => {
    return (request, response) => (request.url?.includes("validationToken") ? own : (answer ?? own))(request, response);
  };
  const { url } = await mounted({ secret: emulator.secret, clock: emulator.clock, around });
  const receiverUrl = `${url}/webhooks`;
  await emulator.subscribe(account, "/email/messages", receiverUrl);
  await opened(emulator, { look });
  const card = page.getByRole("article", { name: "1001 /email/messages" });
  await card.waitFor();
  return { emulator, account, card, receiverUrl };
}

/** Those that the filters show. */
function rows(): Locator {
  return page.locator("tr.attempt:visible");
}

/** A row, by the names of its columns. */
async function cells(row: Locator): Promise<Record<string, string>> {
  const texts = await row.locator("td").evaluateAll((all) =>
    all.map((cell) => {
      const { dataset, textContent } = cell as unknown as { dataset: Record<string, string>; textContent: string };
      return [dataset["label"] ?? "", textContent] as const;
    }),
  );
  return Object.fromEntries(texts);
}
