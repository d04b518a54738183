import { randomBytes } from "node:crypto";
import { toCountedHealth, unreadableHealth } from "../../dashboard/counted-health.ts";
import { dashboardListener } from "../../dashboard/mount.ts";
import type { DashboardSource } from "../../dashboard/source.ts";
import { defineCommand, EXIT } from "../command.ts";
import { PORT } from "../flags.ts";
import { isLoopbackName, listen } from "../serve/listen.ts";
import { createLog } from "../serve/log.ts";
import { listenForStop } from "../signals.ts";
import { CONTENT_FLAG, INBOX_FLAGS } from "./inbox-flags.ts";
import { readStats, type InboxStats } from "./read-stats.ts";
import { inboxPlace, withInbox, type OpenInbox, type Place } from "./with-inbox.ts";

const REFRESH_MS = 2_000;
/** Counts that several views show are read once in this time. */
const SHARED_MS = 1_000;

/** `hookline inbox ui`: the dashboard over an inbox, for the one who started it. */
export const uiCommand = defineCommand({
  name: "inbox ui",
  summary: "Open the dashboard over an inbox, in a browser.",
  help: {
    usage: "hookline inbox ui --inbox <inbox> [--write] [--show-content]",
    about: `Open the dashboard over an inbox: problems, blocked lanes, dead letters, subscriptions and gaps.

  hookline inbox ui --inbox inbox.db
  hookline inbox ui --inbox inbox.db --write --show-content

It prints a URL with a random token, which only this machine reaches: who has the URL may do what the flags say. Without
--write it writes nothing into the inbox, and the page has no buttons for changes.`,
    notes:
      "A receiver may run on the inbox. On a file the process that works on it carries changes out. Ctrl-C ends it; a replay that goes on ends with it.",
  },
  flags: {
    inbox: INBOX_FLAGS.inbox,
    schema: INBOX_FLAGS.schema,
    port: { ...PORT, value: "<port>", about: "Where to listen on 127.0.0.1; 0 takes a free port.", default: 0 },
    write: { about: "Allow to replay, drop and pause jobs, lift tombstones, and forget gaps." },
    ...CONTENT_FLAG,
  },
  run({ inbox, schema, port, write, "show-content": showContent }, io) {
    const place = { inbox: inboxPlace({ inbox, schema }, io.env), schema };
    return withInbox({ ...place, io, access: write ? "change" : "read" }, async ({ receiver, printer }) => {
      // A part of the path, so that all relative URLs have it; no cookie, which every port of this machine would get.
      const path = `/${randomBytes(16).toString("base64url")}`;
      const dashboard = dashboardListener(
        { source: toSource(receiver, place), log: createLog(io.stderr), refreshMs: REFRESH_MS },
        { path, access: () => ({ content: showContent, change: write, who: "hookline inbox ui" }) },
      );
      const server = await listen(
        (request, response) => {
          // DNS rebinding: a page of another site may have its name resolve to this machine.
          if (isLoopbackName(request.headers.host)) dashboard(request, response);
          else response.writeHead(403).end("Only this machine may ask.\n");
        },
        { host: "127.0.0.1", port },
      );
      const stop = listenForStop(io);
      try {
        const may = [write ? "may change" : "read only", showContent ? "shows content" : "content hidden"];
        await printer.print([`${server.url}${path}/`, `It is ${may.join(", ")}. Ctrl-C ends it.`]);
        await stop.asked;
      } finally {
        stop.remove();
        const closed = server.close();
        server.closeConnections();
        await closed;
      }
      return EXIT.done;
    });
  },
});

function toSource(
  { flow, jobs, lists, resubscribe }: OpenInbox["receiver"],
  place: Place & { inbox: string },
): DashboardSource {
  let latest: { readonly at: number; readonly stats: Promise<InboxStats | undefined> } | undefined;
  let isWorkedOn = false;

  function stats(): Promise<InboxStats | undefined> {
    if (latest === undefined || performance.now() - latest.at > SHARED_MS)
      latest = { at: performance.now(), stats: readStats(place).catch(() => undefined) };
    return latest.stats;
  }

  return {
    flow,
    jobs,
    lists,
    resubscribe,
    async health() {
      const counts = await stats();
      isWorkedOn = counts?.isWorkedOn ?? false;
      return counts === undefined ? unreadableHealth() : toCountedHealth(counts, Date.now());
    },
    activity: () => ({ role: isWorkedOn ? "worked-on" : "not-worked-on" }),
  };
}
