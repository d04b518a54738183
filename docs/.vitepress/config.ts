import { existsSync, readFileSync } from "node:fs";
import { dirname, join, posix, relative, resolve } from "node:path";
import { defineConfig, type DefaultTheme } from "vitepress";

const docs = join(import.meta.dirname, "..");

export default defineConfig({
  title: "Hookline",
  description: "Receive mailbox and calendar webhooks without losing one.",
  ignoreDeadLinks: false,
  srcExclude: ["tools/**"],
  markdown: { config: (md) => md.use(unlinkOutside) },
  themeConfig: {
    search: { provider: "local" },
    outline: [2, 3],
    nav: [
      { text: "Quickstart", link: "/start/quickstart" },
      { text: "Runbook", link: "/operate/runbook" },
      { text: "Dashboard", link: "/operate/dashboard" },
      { text: "API", link: "/reference/api/" },
    ],
    sidebar: [
      group("Start", "start", ["why", "quickstart", "first-subscription", "../recipes/connect-an-account", "glossary", "../faq"]),
      group("Concepts", "concepts", ["delivery", "guarantees", "answers", "jobs", "order-and-merging", "fairness", "handlers", "assumptions"]),
      group("Mounts", "mounts", [
        "index",
        "express",
        "koa",
        "node",
        "fastify",
        "nest",
        "hono",
        "fetch",
        "next",
        "workers",
        "aws-lambda",
        "gcp",
        "azure",
      ]),
      group("Deploy", "deploy", [
        "server",
        "container",
        "kubernetes",
        "gateway",
        "postgres",
        "replicas",
        "queues",
        "platforms",
        "functions",
        "bundlers",
      ]),
      group("Operate", "operate", [
        "runbook",
        "outage",
        "monitoring",
        "tracing",
        "storage",
        "upgrade",
        "security",
        "lifecycle",
      ]),
      group("Recipes", "recipes", [
        "local-development",
        "../client",
        "../sync",
        "fetch-a-mail",
        "store-attachments",
        "../subscriptions",
        "sync",
        "keep-events-in-step",
        "reauthorise",
        "activate-sync",
        "idempotent-effects",
        "unsubscribe",
        "queue",
        "several-consumers",
        "several-applications",
        "testing",
        "../emulator",
        "migrate",
      ]),
      group("Reference", "reference", ["options", "events", "context", "errors", "answers", "problems", "cli"]),
      { text: "API", collapsed: true, items: apiItems() },
      group("Extend", "extend", ["architecture", "mount", "inbox", "releasing", "../benchmarks"]),
    ],
  },
});

/** Pages of a folder under their own titles. */
function group(text: string, folder: string, pages: readonly string[]): DefaultTheme.SidebarItem {
  const paths = pages.map((page) => posix.join("/", folder, page));
  return { text, collapsed: false, items: paths.map((link) => ({ text: titleOf(link), link })) };
}

function titleOf(page: string): string {
  const title = /^# (.*)$/m.exec(readFileSync(join(docs, `${page}.md`), "utf8"))?.[1];
  if (title === undefined) throw new Error(`docs${page}.md has no title.`);
  return title;
}

/** What typedoc wrote for the same site. */
function apiItems(): DefaultTheme.SidebarItem[] {
  const file = join(docs, "reference/api/typedoc-sidebar.json");
  return existsSync(file) ? (JSON.parse(readFileSync(file, "utf8")) as DefaultTheme.SidebarItem[]) : [];
}

type MarkdownIt = Parameters<NonNullable<NonNullable<Parameters<typeof defineConfig>[0]["markdown"]>["config"]>>[0];

/** Files of the repository that are no pages are links where the pages are read as files, and plain text in the site. */
function unlinkOutside(md: MarkdownIt): void {
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
