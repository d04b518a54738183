import { execFile } from "node:child_process";
import { promisify } from "node:util";
import type { Emulator } from "hookline/emulator";
import type { Locator } from "playwright-core";
import { expect, onTestFinished, test } from "vitest";
import { serve } from "../support/http.ts";
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
import { signUpOf } from "./sync-config/sign-up.ts";

const run = promisify(execFile);

interface Listed {
  readonly id: string;
  readonly method: string;
  readonly path: string;
  readonly summary: string;
  readonly tag: string;
}

describeInBrowser(() => {
  test("it lists every operation of the document once, beside a link to each", async () => {
    const emulator = await started();
    await openPage(emulator, "/");
    await page.getByRole("link", { name: "API reference" }).click();
    await isReady();
    const expected = await operationsOf(emulator);
    expect(new Set(expected.map(({ id }) => id)).size).toBe(expected.length);
    const sections = await page.locator("#operations > section").evaluateAll((all) =>
      all.map((section) => {
        const text = (parent: typeof section, selector: string) => parent.querySelector(selector)?.textContent;
        const tag = text(section, "h2");
        return [...section.querySelectorAll("details.operation")].map((one) => {
          const [method, path, summary] = ["method", "path", "summary"].map((name) => text(one, `[data-part=${name}]`));
          return { id: one.id, method, path, summary, tag };
        });
      }),
    );
    expect(byId(sections.flat() as Listed[])).toEqual(byId(expected));
    const links = await page.locator("#tags a").evaluateAll((all) => all.map((one) => one.getAttribute("href")));
    expect(new Set(links)).toEqual(new Set(expected.map(({ id }) => `#${id}`)));
    await shows(page.locator("#count"), new RegExp(`^${expected.length} operations$`));
  });

  test("the filter leaves the operations that have all of its words", async () => {
    const emulator = await started();
    await opened(emulator);
    await page.getByLabel("Filter").fill("POST  calendar");
    const operations = await operationsOf(emulator);
    const expected = operations.filter(
      ({ method, path, summary, tag }) => method === "POST" && /calendar/i.test(`${path} ${summary} ${tag}`),
    );
    expect(expected.length).toBeGreaterThan(0);
    const shown = await page.locator("details.operation:visible").evaluateAll((all) => all.map(({ id }) => id));
    expect(new Set(shown)).toEqual(new Set(expected.map(({ id }) => id)));
    expect(await page.locator("#tags a:visible").count()).toBe(expected.length);
    expect(await page.locator("#operations h2:visible").count()).toBe(new Set(expected.map(({ tag }) => tag)).size);
    await shows(page.locator("#count"), `${expected.length} of ${operations.length} operations`);
  });

  test("an address with an operation opens it, also while the filter hides it", async () => {
    const emulator = await started();
    await opened(emulator, "#get_v1_calendars");
    await operation("get_v1_calendars").getByRole("table").waitFor();
    expect(await page.locator("details.operation[open]").count()).toBe(1);
    expect(await page.locator("#tags a[aria-current]").getAttribute("href")).toBe("#get_v1_calendars");

    await page.getByLabel("Filter").fill("contacts");
    await operation("get_v1_calendars").waitFor({ state: "hidden" });
    await page.evaluate(`location.hash = "#delete_v1_contacts_id"`);
    await operation("delete_v1_contacts_id").getByRole("table").waitFor();
    await page.goBack();
    await operation("get_v1_calendars").waitFor();
    expect(await page.getByLabel("Filter").inputValue()).toBe("");
  });

  test("the keyboard opens an operation, whose address is then shown, and reaches its fields", async () => {
    await opened(await started());
    await operation("get_v1_calendars").locator("summary").first().focus();
    await page.keyboard.press("Enter");
    await operation("get_v1_calendars").getByRole("table").waitFor();
    expect(await page.evaluate("location.hash")).toBe("#get_v1_calendars");
    const reached: string[] = [];
    while (reached.length < 40 && !reached.includes("Copy as curl")) {
      await page.keyboard.press("Tab");
      const [text, outline] = await page.evaluate<[string, string]>(FOCUS);
      expect({ text, outline }).toEqual({ text, outline: "solid" });
      reached.push(text);
    }
    expect(reached).toEqual(expect.arrayContaining(["Send", "Copy as curl"]));
  });

  test("parameters, the body and the answers are shown with their types and rules", async () => {
    await opened(await started(), "#get_v1_calendars");
    const mode = operation("get_v1_calendars").getByRole("row", { name: "mode" });
    await shows(mode, /query\s+string\s+one of "user", "group"\s+no/);
    await page.evaluate(`location.hash = "#post_v1_subscriptions"`);
    const body = operation("post_v1_subscriptions").locator("[data-part=body] .schema");
    await shows(body.locator("li").filter({ hasText: "notificationUrl" }), /string\s+required/);
    const answers = operation("post_v1_subscriptions").locator("[data-part=answers]");
    const refusal = answers.locator("> li").filter({ hasText: "A field is wrong" });
    await refusal.locator("summary").click();
    await shows(refusal, /400.*code\s+string\s+required/s);
  });

  test("a GET is sent with the query and as the account that are chosen, and the same as a command", async () => {
    const emulator = await started();
    await emulator.account();
    const ada = await emulator.account({ name: "Ada Byron" });
    await ada.receiveMail({ subject: "it's & more" });
    await ada.receiveMail({ subject: "Another" });
    await opened(emulator, "#get_v1_email_messages");
    const view = operation("get_v1_email_messages");
    await view.getByLabel("Account").selectOption("2002 Ada Byron");
    await view.getByLabel("q query").fill("subject:it's &");
    await view.getByLabel("bodyType").selectOption("text");
    await view.getByRole("button", { name: "Send" }).click();
    await shows(view.getByRole("status"), "Status 200 OK, after");
    await shows(view.locator("[data-part=headers]"), "application/json");
    const answer = String(await view.getByLabel("Body of the answer").textContent());
    expect(JSON.parse(answer)).toMatchObject({ records: [{ subject: "it's & more" }], length: 1 });
    expect(answer).toContain('\n  "length": 1');

    await view.getByRole("button", { name: "Copy as curl" }).click();
    await shows(page.locator("#notice"), "Copied the command.");
    const { stdout } = await run("sh", ["-c", await page.evaluate<string>("navigator.clipboard.readText()")]);
    expect(JSON.parse(stdout.split("\r\n\r\n")[1] ?? "")).toEqual(JSON.parse(answer));
  });

  test("a POST is sent with a body that begins as its schema wants it", async () => {
    const emulator = await started();
    await emulator.account();
    await opened(emulator, "#post_v1_calendars");
    const view = operation("post_v1_calendars");
    const body = view.getByRole("textbox", { name: "Body" });
    expect(JSON.parse(await body.inputValue())).toEqual({ name: "name" });
    await body.fill('{ "name": "Team <b>1</b>" }');
    await view.getByRole("button", { name: "Send" }).click();
    await shows(view.getByRole("status"), "Status 201 Created");
    await shows(view.getByLabel("Body of the answer"), '"name": "Team <b>1</b>"');
    const { stdout } = await run("sh", ["-c", String(await view.getByLabel("The request as a command").textContent())]);
    expect(stdout).toContain("HTTP/1.1 201");
    expect(stdout).toContain('"name":"Team <b>1</b>"');
  });

  test("a request that is refused shows the error", async () => {
    const emulator = await started();
    await emulator.account();
    await opened(emulator, "#post_v1_calendars", { expected: REFUSED });
    const view = operation("post_v1_calendars");
    await view.getByRole("textbox", { name: "Body" }).fill('{ "name": 5 }');
    await view.getByRole("button", { name: "Send" }).click();
    await shows(view.getByRole("status"), "Status 400 Bad Request");
    await shows(view.getByLabel("Body of the answer"), 'The field \\"name\\" is wrong');

    await view.getByLabel("Account").selectOption("none: without a token");
    await view.getByRole("button", { name: "Send" }).click();
    await shows(view.getByRole("status"), "Status 401 Unauthorized");
    await shows(view.getByLabel("Body of the answer"), "There is no Authorization header");
    await emulator.close();
    await view.getByRole("button", { name: "Send" }).click();
    await shows(view.getByRole("status"), "The emulator does not answer at");
  });

  test("an id goes into the path as one part of it, and is not left out", async () => {
    const emulator = await started();
    await emulator.account();
    await opened(emulator, "#get_v1_calendars_id", { expected: REFUSED });
    const view = operation("get_v1_calendars_id");
    await view.getByRole("button", { name: "Send" }).click();
    expect(await page.evaluate("document.activeElement.matches(':invalid')")).toBe(true);
    await view.getByLabel("id path, required").fill("a/b?c");
    await view.getByRole("button", { name: "Send" }).click();
    await shows(view.getByLabel("Body of the answer"), String.raw`There is no calendar \"a/b?c\"`);
  });

  test("what is chosen for one operation holds for the others, and accounts opened meanwhile appear", async () => {
    const emulator = await started();
    await opened(emulator, "#post_v1_calendars");
    await page.evaluate(`location.hash = "#get_v1_calendars"`);
    const views = [operation("post_v1_calendars"), operation("get_v1_calendars")] as const;
    for (const view of views) await shows(view.locator("[data-part=none]"), "There is no account yet");
    await emulator.account();
    const ada = await emulator.account({ name: "Ada Byron" });
    await page.evaluate(`dispatchEvent(new Event("focus"))`);
    await shows(views[0].getByLabel("Account"), "Ada Byron");
    await views[0].getByLabel("Account").selectOption("2002 Ada Byron");
    await shows(views[1].getByLabel("The request as a command"), ada.token);
  });

  test("an operation of the sync-configuration API is sent with a user's token", async () => {
    const emulator = await started();
    await opened(emulator, "#post_v2_signup");
    const signUp = operation("post_v2_signup");
    await signUp.getByRole("textbox", { name: "Body" }).fill(JSON.stringify(signUpOf(emulator)));
    await signUp.getByRole("button", { name: "Send" }).click();
    await shows(signUp.getByRole("status"), "Status 200 OK");
    const { accessToken } = JSON.parse(String(await signUp.getByLabel("Body of the answer").textContent())) as {
      readonly accessToken: string;
    };
    await page.evaluate(`location.hash = "#get_v2_me"`);
    const me = operation("get_v2_me");
    await me.getByLabel("User name or token").fill(accessToken);
    await me.getByRole("button", { name: "Send" }).click();
    await shows(me.getByRole("status"), "Status 200 OK");
  });

  test("a redirect is not followed, and said so", async () => {
    const emulator = await started();
    const { url, connections } = await serve(() => {});
    // Chromium reports it, and does not send it.
    await opened(emulator, "#get_v1_auth_authorize", { expected: new RegExp(`^request ${url}/back`) });
    const view = operation("get_v1_auth_authorize");
    const values = { clientId: emulator.appId, serviceType: "Google", returnUrl: `${url}/back` };
    for (const [name, value] of Object.entries(values)) await view.getByLabel(`${name} query`).fill(value);
    await view.getByRole("button", { name: "Send" }).click();
    await shows(view.getByRole("status"), "A redirect, which a browser does not show here");
    expect(connections()).toBe(0);
  });

  test("a body begins with its required fields, or with all where none is required", async () => {
    const many = Array.from({ length: 13 }, (_, index) => [`field${index}`, { type: "boolean" }]);
    const properties = {
      resource: { type: "string" },
      at: { type: "string", format: "date-time", pattern: "." },
      end: { type: "object", properties: { at: { type: "string", pattern: `^[\\d-]{10}T${"(?:)".repeat(20)}` } } },
      level: { type: "string", enum: ["low", "high"] },
      count: { type: "integer", minimum: 3, maximum: Number.MAX_SAFE_INTEGER },
      page: { type: "integer", default: 7 },
      owner: { anyOf: [{ type: "object", properties: { email: { type: "string" } } }, { type: "null" }] },
      rows: {
        type: "array",
        items: { type: "object", properties: { id: {}, more: {} }, required: ["id"] },
        maxItems: 9,
      },
      note: { type: ["string", "null"] },
      many: { type: "object", properties: Object.fromEntries(many) as object },
    };
    const { note: _, many: __, ...required } = properties;
    const schema = { type: "object", properties, required: Object.keys(required) };
    await documented({ requestBody: { content: { "application/json": { schema } } }, responses: {} });
    const view = operation("only");
    expect(JSON.parse(await view.getByRole("textbox", { name: "Body" }).inputValue())).toEqual({
      resource: "/email/messages",
      at: "2026-01-20T09:00:00Z",
      end: { at: "2026-01-20T10:00:00Z" },
      level: "low",
      count: 3,
      page: 7,
      owner: { email: "ada@example.com" },
      rows: [{ id: {} }],
    });
    const field = (name: string) =>
      view
        .locator("[data-part=body] li")
        .filter({ has: page.getByText(name, { exact: true }) })
        .first();
    await shows(field("at"), /at\s+string \(date-time\)\s+required\s*$/);
    await shows(field("end"), /such as 2026-01-20T09:00:00Z/);
    await shows(field("count"), /count\s+integer\s+required\s+at least 3\s*$/);
    await shows(field("owner"), /owner\s+object or null.*email/s);
    await shows(field("rows"), /rows\s+array of object\s+required\s+items: at most 9.*id\s+any\s+required/s);
    await shows(field("note"), /note\s+string or null\s*$/);
    await shows(field("many"), /object\s+13 fields\s*$/);
  });

  test("markup in the document is text, and a schema may contain itself", async () => {
    const evil = `<img src="x" onerror="document.title = 'hacked'">`;
    const node = {
      type: "object",
      description: evil,
      properties: { [evil]: { enum: [evil] }, next: { $ref: "#/components/schemas/Node" } },
      required: ["next"],
    };
    const schema = {
      anyOf: [{ $ref: "#/components/schemas/Node" }, { type: "array", items: { $ref: "#/components/schemas/Node" } }],
    };
    const content = { "application/json": { schema } };
    await documented(
      {
        summary: evil,
        tags: [evil],
        parameters: [{ name: "If-Match", in: "header", description: evil, schema: { type: "string", pattern: evil } }],
        requestBody: { content },
        responses: { 200: { description: evil, content }, 204: { description: evil } },
      },
      { path: `/${evil}`, text: evil, schemas: { Node: node } },
    );
    const view = operation("only");
    await view.getByRole("button", { name: "Send" }).waitFor();
    await page.evaluate(OPEN_ALL);
    await view.getByLabel("If-Match").fill("an-entity-tag");
    await shows(view.getByLabel("The request as a command"), "If-Match: an-entity-tag");
    for (const part of [
      "#about",
      "#tags .tag",
      "#operations h2",
      "#only h3",
      "#only summary",
      "#only table",
      "#only .answers",
    ])
      await shows(page.locator(part).first(), evil);
    expect(await page.locator("img, script:not([src])").count()).toBe(0);
    expect(await page.title()).toBe("API reference · Hookline emulator");
  });

  test("on a telephone all of it is readable, and nothing is wider than the screen", async () => {
    const emulator = await started();
    await emulator.account();
    await opened(emulator, "#get_v1_calendars", { look: { width: 390 } });
    await operation("get_v1_calendars").getByRole("button", { name: "Send" }).click();
    await shows(operation("get_v1_calendars").getByRole("status"), "Status 200 OK");
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    await page.evaluate(OPEN_ALL);
    const operations = await operationsOf(emulator);
    expect(await page.getByRole("button", { name: "Send" }).count()).toBe(operations.length);
    expect(await page.evaluate("document.documentElement.scrollWidth")).toBeLessThanOrEqual(390);
    for (const colorScheme of ["light", "dark"] as const) {
      await page.emulateMedia({ colorScheme });
      const found = await page.evaluate<{ background: string; texts: number; poor: string[] }>(CONTRAST);
      expect(found.poor).toEqual([]);
      expect(found.texts).toBeGreaterThan(1_000);
      expect(found.background).toBe(colorScheme);
    }
  });
});

/** Opens what is closed, and what that has in it. The first error stands for the others, which have the same body. */
const OPEN_ALL = `(() => {
  for (let depth = 0; depth < 5; depth += 1)
    for (const details of document.querySelectorAll("details:not([open], .answers > :nth-child(n + 3) > *)")) {
      details.open = true;
      // The browser's own comes later.
      details.dispatchEvent(new Event("toggle"));
    }
})()`;

/** What the document lists. */
async function operationsOf(emulator: Emulator): Promise<readonly Listed[]> {
  const { paths } = (await (await fetch(`${emulator.url}/openapi.json`)).json()) as {
    readonly paths: Readonly<
      Record<string, Readonly<Record<string, { operationId: string; summary: string; tags: string[] }>>>
    >;
  };
  return Object.entries(paths).flatMap(([path, methods]) =>
    Object.entries(methods).map(
      ([
        method,
        {
          operationId: id,
          summary,
          tags: [tag = ""],
        },
      ]) => ({
        id,
        method: method.toUpperCase(),
        path,
        summary,
        tag,
      }),
    ),
  );
}

function byId(listed: readonly Listed[]): readonly Listed[] {
  return listed.toSorted((one, other) => (one.id < other.id ? -1 : 1));
}

/** The reference of one operation, `only`, which is open. */
async function documented(
  described: object,
  { path = "/v1/things", text = "Things", schemas = {} }: { path?: string; text?: string; schemas?: object } = {},
): Promise<void> {
  const json = {
    info: { title: text, description: text },
    components: { schemas },
    paths: { [path]: { put: { operationId: "only", ...described } } },
  };
  await page.route("**/openapi.json", (route) => route.fulfill({ json }));
  onTestFinished(() => page.unroute("**/openapi.json"));
  await opened(await started(), "#only");
  await operation("only").getByRole("button", { name: "Send" }).waitFor();
}

/** The reference. @param hash names an operation */
async function opened(emulator: Emulator, hash = "", opening: Opening = {}): Promise<void> {
  await openPage(emulator, `/docs${hash}`, opening);
  await isReady();
}

async function isReady(): Promise<void> {
  await page.locator("#main:not([aria-busy])").waitFor();
}

function operation(id: string): Locator {
  return page.locator(`#${id}`);
}
