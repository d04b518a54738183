import { existsSync, readFileSync } from "node:fs";
import { join, posix } from "node:path";
import { defineConfig, type DefaultTheme } from "vitepress";
import manifest from "../../package.json" with { type: "json" };
import { extendMarkdown } from "./markdown.ts";
import { searchOptions, withSynonyms } from "./search.ts";

const docs = join(import.meta.dirname, "..");

/** Not known yet: docs/extend/releasing.md. */
const repository = (manifest as { readonly repository?: string }).repository?.replace(
  /^github:/,
  "https://github.com/",
);

export default defineConfig({
  title: "Hookline",
  description: "Receive Aurinko webhooks without losing one.",
  head: [["link", { rel: "icon", type: "image/svg+xml", href: "/mark.svg" }]],
  ignoreDeadLinks: false,
  srcExclude: ["tools/**"],
  markdown: { config: extendMarkdown },
  themeConfig: {
    logo: "/mark.svg",
    search: {
      provider: "local",
      options: {
        _render: (source, env, md) => withSynonyms(md.render(source, env), env.relativePath),
        miniSearch: searchOptions,
      },
    },
    outline: [2, 3],
    nav: [
      { text: "Quickstart", link: "/start/quickstart" },
      { text: "Guides", link: "/client", activeMatch: "^/(?:recipes/|client|sync|subscriptions|emulator)" },
      { text: "Deploy", link: "/deploy/production", activeMatch: "^/deploy/" },
      { text: "Operate", link: "/operate/runbook", activeMatch: "^/operate/" },
      { text: "API", link: "/reference/api/", activeMatch: "^/reference/" },
    ],
    ...(repository !== undefined && {
      editLink: { pattern: `${repository}/edit/main/docs/:path`, text: "Edit this page" },
      socialLinks: [{ icon: "github" as const, link: repository }],
    }),
    footer: { message: `Hookline ${manifest.version}, ${manifest.license} licence` },
    sidebar: [
      group("Start", "start", [
        "why",
        "quickstart",
        "first-subscription",
        "../recipes/connect-an-account",
        "glossary",
        "../faq",
      ]),
      group("Concepts", "concepts", [
        "delivery",
        "guarantees",
        "answers",
        "jobs",
        "order-and-merging",
        "fairness",
        "handlers",
        "assumptions",
      ]),
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
      group("Guides", "recipes", [
        "local-development",
        "../client",
        "../sync",
        "../subscriptions",
        "fetch-a-mail",
        "store-attachments",
        "sync",
        "keep-events-in-step",
        "tasks-in-step",
        "contacts-to-crm",
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
      group("Deploy", "deploy", [
        "production",
        "server",
        "container",
        "kubernetes",
        "postgres",
        "replicas",
        "functions",
        "lambda-only",
        "queues",
        "platforms",
        "bundlers",
        "many-accounts",
        "gateway",
      ]),
      group("Operate", "operate", [
        "runbook",
        "outage",
        "dashboard",
        "monitoring",
        "tracing",
        "storage",
        "upgrade",
        "security",
        "lifecycle",
      ]),
      group("Reference", "reference", [
        "options",
        "events",
        "context",
        "errors",
        "answers",
        "problems",
        "service",
        "cli",
      ]),
      { text: "API", collapsed: true, items: apiItems() },
      group("Extend", "extend", ["architecture", "mount", "inbox", "releasing", "../benchmarks", "benchmark-history"]),
    ],
  },
});

/** Pages of a folder under their own titles. The group that has the shown page is open, the others are not. */
function group(text: string, folder: string, pages: readonly string[]): DefaultTheme.SidebarItem {
  const paths = pages.map((page) => posix.join("/", folder, page));
  return { text, collapsed: true, items: paths.map((link) => ({ text: titleOf(link), link })) };
}

function titleOf(page: string): string {
  const title = /^# (.*)$/m.exec(readFileSync(join(docs, `${page}.md`), "utf8"))?.[1];
  if (title === undefined) throw new Error(`docs${page}.md has no title.`);
  return title;
}

/** A page for each entry, by the name that it is imported by. typedoc writes their list. */
function apiItems(): DefaultTheme.SidebarItem[] {
  const file = join(docs, "reference/api/index.md");
  if (!existsSync(file)) return [];
  const entries = [...readFileSync(file, "utf8").matchAll(/^- \[(hookline\S*)\]\((\S+)\.md\)$/gm)];
  return entries.map(([, text = "", path = ""]) => ({ text, link: `/reference/api/${path}` }));
}
