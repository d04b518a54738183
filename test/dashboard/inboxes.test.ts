import { memoryInbox } from "hookline";
import { sqliteInbox } from "hookline/sqlite";
import { test } from "vitest";
import { inboxPath } from "../cli/inbox-file.ts";
import { checkDashboard } from "./check-dashboard.ts";

test("a dashboard over an inbox in memory", () => checkDashboard(memoryInbox()));

test("a dashboard over a file", () => checkDashboard(sqliteInbox(inboxPath())));
