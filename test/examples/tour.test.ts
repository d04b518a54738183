import { stripVTControlCharacters } from "node:util";
import { rmSync } from "node:fs";
import { dirname } from "node:path";
import { expect, onTestFinished, test } from "vitest";
import manifest from "../../package.json" with { type: "json" };
import { startNode } from "../cli/child.ts";
import { runCli } from "../cli/in-process.ts";
import { until } from "../support/event-loop.ts";

test("npm start runs the tour, in plain text without a terminal, and ends with 0", async () => {
  const [program, ...args] = manifest.scripts.start.split(" ");
  expect(program).toBe("node");
  const tour = startNode(args);
  expect(await tour.ended, tour.out() + tour.err()).toBe(0);

  const lines = tour.out().split("\n");
  const rows = lines.map((line) => line.trim().replaceAll(/ {2,}/g, " | "));
  expect(rows).toEqual(expect.arrayContaining(EXPECTED));
  expect(rows).toContainEqual(expect.stringMatching(/^again in \d+\.\d s$/));
  expect(rows).toContainEqual(expect.stringMatching(/^All as expected, in \d+\.\d s\. /));
  const [, inbox = ""] =
    /^The dashboard over its file: npm run hookline -- inbox ui --inbox \\\n {2}(\S+)$/m.exec(tour.out()) ?? [];
  onTestFinished(() => rmSync(dirname(inbox), { recursive: true, force: true }));
  const ui = runCli(["inbox", "ui", "--inbox", inbox]);
  await until(() => ui.out().includes("http://127.0.0.1:"));
  expect(Math.max(...lines.map((line) => line.length))).toBeLessThanOrEqual(100);
  expect(tour.out()).toBe(stripVTControlCharacters(tour.out()));
});

/** The important lines, whole, their columns parted by bars. */
const EXPECTED = [
  "1. The handshake",
  "/email/messages | token | 200 | subscription 1001 | the same token",
  "/email/messages | created m-1 | 200 | email.created | fetch m-1",
  "/calendars/primary/events signal | 200 | calendarEvent.signal | sync all of primary",
  "/email/messages | error | 200 | lifecycle.error | Active token is missing",
  "/email/messages | archived m-2 200 | unknown | stored: value not known",
  "/email/tracking | open | - | tracking.open | mail 77, in Oslo",
  "/email/tracking | redelivery | 200 | tracking.open | a duplicate: no call",
  "/email/messages | created m-2 | 401 | refused | signature-wrong",
  "/email/messages | redelivery | 200 | email.created | fetch m-2",
  "/tasklists/default/tasks | updated t-2 | 200 | task.updated | attempt 1: it is locked",
  "task.updated | attempt 3: fetch t-2",
  "email.updated | fetch m-3, for all 3",
  "/email/messages | created m-5 | 422 | subscription 1007 | the service deletes it",
  "/email/messages | created m-6 | - | not sent any more",
  "answered 200 | 30 | 30",
  "events handled | 25 | 25",
];
