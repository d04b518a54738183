import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { createEmulatedService } from "../../src/emulator/emulated-service.ts";
import type { Description, Route } from "../../src/emulator/http/routes.ts";
import { notPlayed } from "../../src/emulator/unified-api/not-played-routes.ts";
import { unifiedRoutes } from "../../src/emulator/unified-api/unified-routes.ts";
import type { Row } from "./read-code.ts";

const root = join(import.meta.dirname, "../..");

/** The page of all operations. @param generated says how it is made */
export function servicePage(generated: string, tableOf: (head: Row, rows: readonly Row[]) => string): string {
  return `# Operations of the service

${generated} Every operation of the unified API: [the client](../client.md)'s call of it, how [the emulator](../emulator.md) plays it, and
the event that it causes where somebody has subscribed.

- **exact**: the service's description says all that a program can see of it.
- **assumed**: its path, parameters and body are as described, and the emulator's page says what else is assumed.
- **not played**: the emulator answers 501, unless a program gives it an answer by \`emulator.respond(method, path, answer)\`.

${tableOf(["operation", "the client", "the emulator", "event"], serviceOperations())}
`;
}

/** Operation, the client's call, the emulator's state and the event, of all operations of the unified API. */
function serviceOperations(): readonly Row[] {
  const calls = clientCalls();
  const played = playedRoutes().map(({ method, path, description }): Row => {
    const operation = `${method} ${path.replaceAll(/:(\w+)/g, "{$1}")}`;
    return [operation, description.isExact === true ? "exact" : "assumed", description.causes ?? ""];
  });
  const others = notPlayed(playedRoutes()).map((operation): Row => [operation, "not played", ""]);
  return [...played, ...others]
    .map(([operation = "", state = "", causes = ""]): Row => {
      const call = calls.get(toKey(operation)) ?? "`client.request(...)`";
      const events = causes === "" ? "" : causes.replaceAll(/[\w.]+/g, "`$&`");
      return [`\`${operation}\``, call, state, events];
    })
    .toSorted(([a = ""], [b = ""]) => (pathOf(a) < pathOf(b) ? -1 : pathOf(a) > pathOf(b) ? 1 : 0));
}

function playedRoutes(): readonly (Route & { readonly description: Description })[] {
  const service = createEmulatedService(
    {},
    { transport: { close: () => {}, send: () => Promise.reject(new Error()) } },
  );
  const variants = {
    calendarCreatedStatus: 201,
    iCalUId: "iCalUId",
    tentative: "tentative",
    trackingId: "text",
  } as const;
  const routes = unifiedRoutes(service, { pageSize: 50, deltaSync: {}, variants });
  return routes.filter(
    (route): route is Route & { readonly description: Description } => route.description !== undefined,
  );
}

function pathOf(operation: string): string {
  return operation.replace(/^`\w+ |`$/g, "");
}

/** Names of parameters do not count. */
function toKey(operation: string): string {
  return operation.replaceAll(/\{\w+\}/g, "{}");
}

/** Where a program finds the interfaces that are not members of a client by their own name. */
const PLACES: Readonly<Record<string, string>> = {
  Availability: "client",
  OneCalendar: "client.calendar(id)",
  Events: "client.calendar(id).events",
  Folders: "foldersOf(client)",
  Drafts: "draftsOf(client)",
  DraftTracking: "draftTrackingOf(client)",
  Tracking: "trackingOf(client)",
  OwnAccount: "accountOf(client)",
  OAuth: "oauth",
  Accounts: "application.accounts",
  ServiceAccounts: "application.serviceAccounts",
  Tasks: "client.tasks(listId)",
  Bookings: "bookingsOf(client)",
  AccountBookings: "bookingsOf(client)",
  GroupBookings: "groupBookingsOf(application)",
  BookingForm: "createBookingForm(options)",
};

/** The same, of those that have a delta sync, by their files. */
const SYNCS: Readonly<Record<string, string>> = {
  "calendar.ts": "client.calendar(id)",
  "messages.ts": "client.messages",
  "contacts.ts": "client.contacts",
  "tasks.ts": "client.tasks(listId)",
};

/** By operation: a comment of a member begins with it. */
function clientCalls(): ReadonlyMap<string, string> {
  const calls = new Map<string, string>();
  const folder = join(root, "src/client");
  for (const name of readdirSync(folder, { recursive: true, encoding: "utf8" })) {
    if (!name.endsWith(".ts")) continue;
    const source = readFileSync(join(folder, name), "utf8");
    let place = "";
    const found = /interface (\w+)|\/\*\*(?:\s*\*)?\s*`([A-Z]+ \/v1\/[^`]+)`(?:(?!\*\/)[\s\S])*\*\/\s*(\w+)\(/g;
    for (const [, declared, operation, member] of source.matchAll(found)) {
      if (declared !== undefined)
        place = PLACES[declared] ?? `client.${declared.charAt(0).toLowerCase()}${declared.slice(1)}`;
      else if (operation !== undefined) {
        calls.set(toKey(operation), `\`${place}.${member}()\``);
        if (place === PLACES["Bookings"])
          calls.set(toKey(operation.replace("/account/", "/group/")), `\`${PLACES["GroupBookings"]}.${member}()\``);
      }
    }
    const owner = SYNCS[name.replace(/^.*[\\/]/, "")];
    for (const [, path = ""] of source.matchAll(/createDeltaSync\(send, \{\s*path: ["`]([^"`]+)["`]/g)) {
      const start = toKey(path.replaceAll(/\$\{(\w+)\}/g, (_, constant: string) => constantOf(source, constant)));
      calls.set(`POST ${start}`, `\`${owner}.sync.start()\``);
      for (const walk of ["updated", "deleted"]) calls.set(`GET ${start}/${walk}`, `\`${owner}.sync.${walk}()\``);
    }
  }
  return calls;
}

/** The text of a constant, with those that are in it. */
function constantOf(source: string, name: string): string {
  const text = new RegExp(`const ${name} = ["\`]([^"\`]+)["\`]`).exec(source)?.[1] ?? "";
  return text.replaceAll(/\$\{(\w+)\}/g, (_, inner: string) => constantOf(source, inner));
}
