import { getRequestListener } from "@hono/node-server";
import { readFileSync } from "node:fs";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { UsageError } from "../errors.ts";
import { createHttpTransport } from "./deliveries/transport.ts";
import { createEmulatedService } from "./emulated-service.ts";
import type { Emulator, EmulatorOptions, Variants } from "./emulator-types.ts";
import { controlRoutes, type AttemptListeners } from "./http/control-api.ts";
import { toOpenApi } from "./http/openapi.ts";
import { pageRoutes } from "./http/page-routes.ts";
import { serveRoutes, type Route } from "./http/routes.ts";
import { syncConfigRoutes } from "./sync-config/sync-config-routes.ts";
import { stateOf } from "./subscriptions/subscription.ts";
import { DEFAULT_PAGE_SIZE } from "./unified-api/pages.ts";
import { unifiedRoutes, type ResolvedVariants } from "./unified-api/unified-routes.ts";

const HOST = "127.0.0.1";

/**
 * Starts an emulator of the service on a local port: accounts, subscriptions and signed deliveries, with the law of redelivery.
 *
 * @throws UsageError `option-invalid`, `port-taken`
 * @see protocol 3, 6, 8; docs/emulator.md has the assumptions
 * @example
 * const emulator = await createEmulator({ clock: "virtual" });
 * const account = await emulator.account();
 * await emulator.subscribe(account, "/email/messages", "http://127.0.0.1:3000/webhooks");
 * await account.receiveMail();
 * await emulator.settled();
 * await emulator.close();
 */
export async function createEmulator(options: EmulatorOptions = {}): Promise<Emulator> {
  assertOptions(options);
  const listeners: AttemptListeners = new Set();
  let url = "";
  const service = createEmulatedService(options, {
    baseUrl: () => url,
    transport: createHttpTransport({ allowRemote: options.allowRemote ?? false }),
    onAttempt(attempt) {
      for (const listener of listeners) listener(attempt);
      options.onAttempt?.(attempt);
    },
  });
  const api = [
    ...unifiedRoutes(service, {
      pageSize: options.pageSize ?? DEFAULT_PAGE_SIZE,
      variants: resolveVariants(options.variants),
      deltaSync: options.deltaSync ?? {},
    }),
    ...syncConfigRoutes(service.syncConfig),
  ];
  const document: Route = { method: "GET", path: "/openapi.json", run: () => toOpenApi(api, url) };
  const routes = [...api, document, ...controlRoutes(service, listeners), ...pageRoutes(readPage)];
  const app = serveRoutes(routes, service);
  // Otherwise it replaces the global Request and Response of the app under test.
  const answer = getRequestListener((request) => app.fetch(toRequest(request)), { overrideGlobalObjects: false });
  const server = createServer((request, response) => void answer(request, response));
  const { port } = await listen(server, options.port ?? 0);
  url = `http://${HOST}:${port}`;

  async function close(): Promise<void> {
    await service.close();
    if (!server.listening) return;
    const closed = new Promise((resolve) => server.close(resolve));
    server.closeAllConnections();
    await closed;
  }

  return {
    url,
    syncConfigUrl: `${url}/v2`,
    secret: service.secret,
    appId: service.appId,
    appSecret: service.appSecret,
    clock: service.clock,
    account: service.account,
    subscribe: async ({ accountId }, resource, notificationUrl) =>
      (await service.subscribe(accountId, { resource, notificationUrl })).id,
    emit: service.emit,
    fault: service.fault,
    open: service.open,
    respond: service.respond,
    get subscriptions() {
      return [...service.subscriptions.values()].map(stateOf);
    },
    advance: service.advance,
    settled: service.settled,
    get journal() {
      return service.journal;
    },
    get attempts() {
      return service.attempts;
    },
    reset: service.reset,
    close,
    [Symbol.asyncDispose]: close,
  };
}

function resolveVariants({
  calendarCreatedStatus = 201,
  iCalUId = "iCalUId",
  tentative = "tentative",
  trackingId = "text",
}: Variants = {}): ResolvedVariants {
  return { calendarCreatedStatus, iCalUId, tentative, trackingId };
}

/** What the library of the server gives is of a class of its own, which the global Request cannot copy: Hono's `bodyLimit` does so. */
function toRequest({ url, method, headers, body, signal }: Request): Request {
  const hasBody = method !== "GET" && method !== "HEAD";
  return new Request(url, { method, headers, signal, ...(hasBody && { body, duplex: "half" }) });
}

/** @throws UsageError `option-invalid` */
function assertOptions(options: EmulatorOptions): void {
  const { port, seed, secret, clock, startAt, redelivery, deliveryTimeoutMs, pageSize, callsPerSecond } = options;
  const { readyAfterMs, tokenLifeMs } = options.deltaSync ?? {};
  const { calendarCreatedStatus, iCalUId, tentative, trackingId } = options.variants ?? {};
  const { timestamp, giveUpAfter } = redelivery ?? {};
  const { signedText } = options.syncConfig ?? {};
  const isClock = typeof clock === "object" && typeof clock.now === "function" && typeof clock.setTimer === "function";
  const rules = [
    { port, isGood: isWhole(port, 0, 65_535), expected: "a whole number from 0 to 65535" },
    { seed, isGood: isWhole(seed, 0, 2 ** 32 - 1), expected: "a whole number from 0 to 4294967295" },
    { secret, isGood: secret === undefined || secret.trim() !== "", expected: "a text that is not empty" },
    {
      clock,
      isGood: isClock || [undefined, "real", "virtual"].includes(clock as string),
      expected: '"real", "virtual" or a clock',
    },
    { startAt, isGood: startAt === undefined || startAt.getTime() >= 0, expected: "a Date of 1970 or later" },
    { deliveryTimeoutMs, isGood: isWhole(deliveryTimeoutMs, 1, 600_000), expected: "milliseconds up to 600000" },
    { pageSize, isGood: isWhole(pageSize, 1, 1_000), expected: "a whole number from 1 to 1000" },
    { readyAfterMs, isGood: isWhole(readyAfterMs, 0, 1e12), expected: "milliseconds" },
    { tokenLifeMs, isGood: isWhole(tokenLifeMs, 1, 1e12), expected: "milliseconds from 1" },
    { callsPerSecond, isGood: isWhole(callsPerSecond, 1, 1e6), expected: "a whole number from 1" },
    { calendarCreatedStatus, isGood: [undefined, 200, 201].includes(calendarCreatedStatus), expected: "200 or 201" },
    { iCalUId, isGood: [undefined, "iCalUId", "iCalUid"].includes(iCalUId), expected: '"iCalUId" or "iCalUid"' },
    {
      tentative,
      isGood: [undefined, "tentative", "tentitive"].includes(tentative),
      expected: '"tentative" or "tentitive"',
    },
    { trackingId, isGood: [undefined, "text", "number"].includes(trackingId), expected: '"text" or "number"' },
    { signedText, isGood: [undefined, "ids", "literal"].includes(signedText), expected: '"ids" or "literal"' },
    { timestamp, isGood: [undefined, "kept", "renewed"].includes(timestamp), expected: '"kept" or "renewed"' },
    { giveUpAfter, isGood: isWhole(giveUpAfter, 1, 1e9), expected: "a whole number of attempts from 1" },
  ];
  for (const { isGood, expected, ...given } of rules) {
    const [[name, got] = []] = Object.entries(given);
    if (!isGood)
      throw new UsageError("option-invalid", `createEmulator got ${String(got)} as ${name}, expected ${expected}.`);
  }
}

function isWhole(value: number | undefined, least: number, most: number): boolean {
  return value === undefined || (Number.isInteger(value) && value >= least && value <= most);
}

/** Beside this file, in the sources and in the package. */
function readPage(file: string): string {
  return readFileSync(new URL(`./page/${file}`, import.meta.url), "utf8");
}

async function listen(server: Server, port: number): Promise<AddressInfo> {
  await new Promise<void>((resolve, reject) => {
    server.once("error", (error: NodeJS.ErrnoException) => {
      const taken = new UsageError("port-taken", `Port ${port} of ${HOST} is taken.`, {
        fix: "Give another port, or 0 for a free one.",
        cause: error,
      });
      reject(error.code === "EADDRINUSE" ? taken : error);
    });
    server.listen(port, HOST, resolve);
  });
  return server.address() as AddressInfo;
}
