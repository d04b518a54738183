import type { IncomingMessage, ServerResponse } from "node:http";
import { expect, test } from "vitest";
import { serve } from "../support/http.ts";
import { mounted, SECRET } from "../support/mounted.ts";
import { signatureOf } from "../support/sign.ts";
import { runCli } from "./in-process.ts";

test("a receiver's own answer is right", async () => {
  const { url } = await mounted();
  const cli = shake(`${url}/webhooks?tenant=7`);
  expect(await cli.ended).toBe(0);
  expect(cli.out()).toMatch(/^200 in [\d.]+ ms: the handshake is right\.\n$/);
});

test("it asks as the service does: an empty body, signed, and a token that must be decoded", async () => {
  const requests: IncomingMessage[] = [];
  const { url } = await serve((request, response) => {
    requests.push(request);
    plain(response, tokenOf(request));
  });
  expect(await shake(`${url}/webhooks?tenant=7`).ended).toBe(0);
  const [request] = requests;
  const timestamp = request?.headers["x-aurinko-request-timestamp"] as string;
  expect(request?.method).toBe("POST");
  expect(request?.url).toMatch(/^\/webhooks\?tenant=7&validationToken=[\w.%-]+%2B00%3A00$/);
  expect(request?.headers).toMatchObject({
    "content-type": "text/plain; charset=utf-8",
    "content-length": "0",
    "x-aurinko-signature": signatureOf("", { secret: SECRET, timestamp }),
  });
});

test.each<[string, (response: ServerResponse, token: string, request: IncomingMessage) => void, string]>([
  ["an error page", (response) => page(response, 404), "The status is 404, expected 200. Nothing is mounted"],
  ["a teapot", (response) => page(response, 418), "The status is 418, expected 200."],
  ["201", (response, token) => plain(response, token, 201), "The status is 201, expected 200. 201 is what a framework"],
  [
    "HTML",
    (response, token) => typed(response, "text/html; charset=utf-8", token),
    "The content type is text/html; charset=utf-8, expected text/plain",
  ],
  [
    "no content type",
    (response, token) => void response.end(token),
    "The content type is missing, expected text/plain",
  ],
  ["JSON", (response, token) => plain(response, JSON.stringify(token)), "The body is the token in quotes"],
  ["a newline", (response, token) => plain(response, `${token}\n`), "The body has white space around the token"],
  ["nothing", (response) => plain(response, ""), "The body is empty, expected the token"],
  [
    "ok",
    (response) => plain(response, "ok"),
    'The body is something else, expected exactly the token: it begins with "ok".',
  ],
  [
    "more",
    (response, token) => plain(response, `token: ${token}`),
    "The body is more than the token, expected exactly the token: it begins with ",
  ],
  [
    "the raw query",
    (response, _, { url }) => plain(response, url?.split("=")[1] ?? ""),
    "The body is the token as the URL has it",
  ],
  [
    "the token encoded again",
    (response, token) => plain(response, encodeURIComponent(token)),
    "The body is the token as the URL has it",
  ],
  [
    "the token decoded twice",
    (response, token) => plain(response, token.replace("+", " ")),
    "The body is the token decoded twice",
  ],
])("%s is wrong, and it says what", async (_, wrong, words) => {
  const { url } = await serve((request, response) => wrong(response, tokenOf(request), request));
  const cli = shake(url);
  expect(await cli.ended).toBe(1);
  const [first, second, ...rest] = cli.out().split("\n");
  expect(first).toMatch(/^\d{3} in [\d.]+ ms: the handshake is wrong, so the subscription would not be made\.$/);
  expect(second).toContain(words);
  expect(rest).toEqual([""]);
});

test("all that is wrong is told at once", async () => {
  const { url } = await serve((_, response) => typed(response, "application/json", "{}", 202));
  const cli = shake(url);
  expect(await cli.ended).toBe(1);
  expect(cli.out().trimEnd().split("\n")).toHaveLength(4);
});

test("a server that is not there ends with 1", async () => {
  const { server, url } = await serve(() => {});
  await new Promise((resolve) => server.close(resolve));
  const cli = shake(url);
  expect(await cli.ended).toBe(1);
  expect(cli.out()).toMatch(
    /^No answer: nothing listens on 127\.0\.0\.1:\d+: is the app running, and on that port\? \(ECONNREFUSED\)\.\n$/,
  );
});

function shake(url: string) {
  return runCli(["send", "handshake", "--to", url], { env: { SIGNING_SECRET: SECRET } });
}

/** As a receiver decodes it. */
function tokenOf({ url }: IncomingMessage): string {
  return new URL(url ?? "", "http://localhost").searchParams.get("validationToken") ?? "";
}

function plain(response: ServerResponse, body: string, status = 200): void {
  typed(response, "text/plain", body, status);
}

function typed(response: ServerResponse, type: string, body: string, status = 200): void {
  response.writeHead(status, { "Content-Type": type }).end(body);
}

function page(response: ServerResponse, status: number): void {
  typed(response, "text/html", "<!DOCTYPE html>", status);
}
