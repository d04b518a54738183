import fc from "fast-check";
import { createReceiver, forwardInbox, type StoredDelivery } from "hookline";
import { createHmac } from "node:crypto";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, afterEach, beforeEach, describe, expect, test, vi } from "vitest";
import { signatureOf, signedHeaders } from "../support/sign.ts";
import { startCli } from "./child.ts";
import { runCli } from "./in-process.ts";

const secret = "whsec-of-these-tests";
const body = '{"subscription":1001,"note":"caf\u00E9 & it\'s \\"here\\"","payloads":[]}';
const nowMs = Date.parse("2026-11-21T10:00:00Z");
const at = new Date(nowMs - 190_000);
const timestamp = String(at.getTime() / 1_000);
const right = signatureOf(body, { secret, timestamp });

const folder = mkdtempSync(join(tmpdir(), "hookline-explain-"));
afterAll(() => rmSync(folder, { recursive: true, force: true }));
beforeEach(() => void vi.useFakeTimers({ toFake: ["Date"], now: nowMs }));
afterEach(() => void vi.useRealTimers());

describe("reads", () => {
  const { "X-Aurinko-Signature": signature } = signedHeaders(body, { secret, at });
  const lines = [`X-Aurinko-Signature: ${signature}`, `x-aurinko-request-timestamp:${timestamp}`];
  const bytes = Buffer.byteLength(body);
  const chunked = `5\r\n${body.slice(0, 5)}\r\n${(bytes - 5).toString(16)};x=y\r\n${body.slice(5)}\r\n0\r\n\r\n`;

  test.each([
    [
      "raw HTTP",
      ["POST /in?a=b HTTP/1.1", "Host: example.com", ...lines, "", body].join("\r\n"),
      "POST /in, 3 headers",
    ],
    [
      "raw HTTP with LF",
      ["POST /in HTTP/2", ":authority: example.com", ...lines, "", body].join("\n"),
      "POST /in, 3 headers",
    ],
    ["raw HTTP without its first line", [...lines, "", body].join("\n"), "2 headers"],
    [
      "raw HTTP after blank lines and a mark",
      `\uFEFF\r\n\n${["POST / HTTP/1.1", ...lines, "", body].join("\n")}`,
      "POST /, 2",
    ],
    [
      "raw HTTP in chunks",
      ["POST / HTTP/1.1", "Transfer-Encoding: chunked", ...lines, "", chunked].join("\r\n"),
      "POST /, 3",
    ],
    [
      "raw HTTP in chunks without the line ends behind them",
      ["POST / HTTP/1.1", "Transfer-Encoding: chunked", ...lines, "", chunked.replace(/\r\n(?=[\da-f]+;|0)/g, "")].join(
        "\r\n",
      ),
      "POST /, 3",
    ],
    [
      "raw HTTP with chunks taken away",
      ["POST / HTTP/1.1", "Transfer-Encoding: chunked", ...lines, "", body].join("\n"),
      "POST /",
    ],
    [
      "raw HTTP with its length",
      ["POST / HTTP/1.1", `Content-Length: ${bytes}`, ...lines, "", body].join("\n"),
      "POST /",
    ],
    [
      "JSON",
      JSON.stringify({ method: "POST", url: "https://example.com/in?validationToken=t", headers: headers(), body }),
      "POST https://example.com/in, 2",
    ],
    [
      "JSON of a function platform",
      JSON.stringify({
        headers: { ...headers(), x: ["1", "2", null], n: 5 },
        isBase64Encoded: true,
        body: base64(body),
      }),
      "4 headers",
    ],
    ["JSON with bytes", ` \n${JSON.stringify({ headers: headers(), bodyBase64: base64(body) }, null, 2)}`, "2 headers"],
  ])("%s", async (form, text, summary) => {
    const { out, code } = await explained(text);
    expect(out).toContain(
      `Read as ${form
        .split(" with")[0]
        ?.split(" ")
        .slice(0, form.startsWith("raw") ? 2 : 1)
        .join(" ")}: ${summary}`,
    );
    expect(out).toContain(
      `a body of ${bytes} bytes.\nThe signature is right.\nSigned 3 minutes ago, at 2026-11-21T09:56:50Z.\n`,
    );
    expect(out).not.toContain("validationToken");
    expect(code).toBe(0);
  });

  test("a body that is not UTF-8, byte for byte", async () => {
    const binary = Buffer.from([0x7b, 0xff, 0xfe, 0x0d, 0x0a, 0x0d, 0x0a, 0x00]);
    const head = Object.entries(signedHeaders(binary, { secret, at })).map(([name, value]) => `${name}: ${value}\r\n`);
    const { out, code } = await explained(
      Buffer.concat([Buffer.from(`POST / HTTP/1.1\r\n${head.join("")}\r\n`), binary]),
    );
    expect(out).toContain("The signature is right.");
    expect(code).toBe(0);
  });

  test("a delivery as it is handed to a queue", async () => {
    let stored: StoredDelivery | undefined;
    const receiver = createReceiver({ secret, inbox: forwardInbox(async ([delivery]) => void (stored = delivery)) });
    await receiver.receive({
      method: "POST",
      url: "/",
      headers: signedHeaders(body, { secret, at }),
      body: Buffer.from(body),
    });
    const { out, code } = await explained(JSON.stringify(stored));
    expect(out).toContain("The signature is right.");
    expect(code).toBe(0);
  });

  test("a URL without what it may hide, or a terminal would obey", async () => {
    const url = "https://ann:pw@example.com/in\u001B[2J?validationToken=t";
    const { out } = await explained(JSON.stringify({ method: "post", url, headers: headers(), body }));
    expect(out).toContain("Read as JSON: POST https://example.com/in?[2J, 2 headers");
    const odd = await explained(JSON.stringify({ method: "\u001B[2J", headers: headers(), body }));
    expect(odd.out).toContain("Read as JSON: 2 headers");
  });

  test("a handshake, whose body is empty", async () => {
    const url = "/in?validationToken=t";
    const signed = Object.entries(signedHeaders("", { secret, at })).map(([name, value]) => `${name}: ${value}`);
    for (const text of [
      ["POST /in?validationToken=t HTTP/1.1", ...signed].join("\r\n"),
      ["POST /in?validationToken=t HTTP/1.1", ...signed, "", ""].join("\r\n"),
      JSON.stringify({ url, headers: signedHeaders("", { secret, at }), body: "" }),
    ]) {
      expect(await explained(text)).toMatchObject({ code: 0 });
    }
  });
});

describe("names the mistake and the fix", () => {
  const written = JSON.stringify(JSON.parse(body), null, 2);
  const withBase64 = createHmac("sha256", secret).update(`v0:${timestamp}:${body}`).digest("base64");
  const ms = `${timestamp}123`;
  const old = String((nowMs - 12 * 86_400_000) / 1_000);
  const ahead = String((nowMs + 3_600_000) / 1_000);
  const over = (text: string, key: string | Buffer = secret) => createHmac("sha256", key).update(text).digest("hex");

  test.each<[string, { signature?: string | string[]; timestamp?: string | string[]; body?: string; secret?: string }]>(
    [
      ["signature-missing", { signature: [] }],
      ["signature-doubled", { signature: [right, right] }],
      ["signature-malformed", { signature: "nonsense!" }],
      ["signature-prefix", { signature: `sha256=${right}` }],
      ["signature-encoding", { signature: withBase64 }],
      ["timestamp-missing", { timestamp: [] }],
      ["timestamp-doubled", { timestamp: [timestamp, timestamp] }],
      ["timestamp-malformed", { timestamp: "yesterday" }],
      ["timestamp-milliseconds", { timestamp: ms, signature: over(`v0:${ms}:${body}`) }],
      ["timestamp-stale", { timestamp: old, signature: over(`v0:${old}:${body}`) }],
      ["timestamp-future", { timestamp: ahead, signature: over(`v0:${ahead}:${body}`) }],
      ["body-expected-empty", { signature: over(`v0:${timestamp}:`), body: "{}" }],
      ["body-whitespace", { body: `${body}\n` }],
      ["body-reserialised", { body: written }],
      ["secret-whitespace", { secret: `${secret} ` }],
      ["secret-quoted", { secret: `"${secret}"` }],
      ["secret-decoded", { secret: "c2VjcmV0", signature: over(`v0:${timestamp}:${body}`, Buffer.from("secret")) }],
      ["secret-wrong", { secret: "another" }],
      ["signed-body-only", { signature: over(body) }],
      ["signed-without-version", { signature: over(`${timestamp}.${body}`) }],
    ],
  )(
    "%s",
    async (code, { signature = right, timestamp: time = timestamp, body: text = body, secret: ours = secret }) => {
      const request = {
        headers: { "X-Aurinko-Signature": signature, "X-Aurinko-Request-Timestamp": time },
        body: text,
      };
      const got = await explained(JSON.stringify(request), { secret: ours });
      expect(got.out).toMatch(new RegExp(`^${code}: .+\\.\\nFix: .+\\.$`, "m"));
      expect(got.out).toContain(
        code === "timestamp-stale" || code === "timestamp-future"
          ? "The signature is right."
          : "The signature is wrong.",
      );
      expect(got.code).toBe(1);
    },
  );

  test("and tells how old it is, also from the future", async () => {
    const stale = await explained(captured({ timestamp: old }));
    expect(stale.out).toContain("Signed 12 days ago, at 2026-11-09T10:00:00Z.");
    expect(stale.out).toContain("An old capture is always stale");
    expect((await explained(captured({ timestamp: ahead }))).out).toContain(
      "Signed 1 hour from now, at 2026-11-21T11:00:00Z.",
    );
    expect((await explained(captured({ timestamp: String(nowMs / 1_000) }))).out).toContain("Signed 0 seconds ago");
  });

  test("and warns of the paste where the body's ends were changed", async () => {
    const warning = "A paste into a terminal or an editor adds or removes such bytes too";
    const raw = (sent: string, had: string) =>
      `POST / HTTP/1.1\nX-Aurinko-Signature: ${over(`v0:${timestamp}:${sent}`)}\nX-Aurinko-Request-Timestamp: ${timestamp}\n\n${had}`;
    expect((await explained(raw(body, `${body}\n`))).out).toContain(warning);
    expect((await explained(raw("", "\n"))).out).toContain(warning);
    expect((await explained(raw("", "{}"))).out).not.toContain(warning);
    expect((await explained(raw(body, written))).out).not.toContain(warning);
  });

  test("and what is odd beside the signature", async () => {
    const head = `X-Aurinko-Signature: ${right}\nX-Aurinko-Request-Timestamp: ${timestamp}`;
    const notes = async (text: string) => (await explained(text)).out.match(/^Note: .*$/gm);
    expect(await notes(`POST / HTTP/1.1\nContent-Length: ${Buffer.byteLength(body)}\n${head}\n\n${body}\r\n`)).toEqual([
      `Note: Content-Length says 66 bytes, here are 68: the line end after the body is left out.`,
    ]);
    expect(await notes(`POST / HTTP/1.1\nContent-Length: 5\n${head}\n\n${body}`)).toEqual([
      "Note: Content-Length says 5 bytes, here are 66: the body was changed or cut, so it is not the one that was signed.",
    ]);
    expect(await notes(`GET / HTTP/1.1\nContent-Encoding: gzip\n${head}\n\n${body}`)).toEqual([
      "Note: The method is GET, but the service sends POST: anything else is answered 405.",
      "Note: The body is compressed (gzip), which is answered 415: the service signs and sends it as it is.",
    ]);
    expect(await notes(JSON.stringify({ headers: headers() }))).toEqual(["Note: It has no body."]);
    // Chunks that are cut off are no chunks.
    const cut = await explained(`POST / HTTP/1.1\nTransfer-Encoding: chunked\n${head}\n\nff\r\n${body}`);
    expect(cut).toMatchObject({ code: 1, out: expect.stringContaining("a body of 70 bytes") as string });
    expect(await notes(JSON.stringify({ headers: headers(), body: JSON.parse(body) as object }))).toEqual([
      "Note: Its body is parsed JSON, not the text that was received: it is written again here, which may change it.",
    ]);
  });
});

describe("ends with 2 for what it cannot read, and says what it takes", () => {
  const forms =
    'It takes raw HTTP (request line, headers, blank line, body) or JSON ({"headers": {...}, "body": "..."}, or bodyBase64 instead of body).';

  test.each([
    ["", "It is empty."],
    [" \n", "It is empty."],
    ["hello", "This is not a request in a known form."],
    ["HELLO world", "This is not a request in a known form."],
    ["https://example.com/in", "This is not a request in a known form."],
    ["HTTP/1.1 200 OK\r\n\r\n", "It is an answer, not a request."],
    [
      Buffer.from("\uFEFFPOST / HTTP/1.1", "utf16le"),
      "It is UTF-16, as Windows PowerShell writes files: save it as UTF-8.",
    ],
    [
      "POST / HTTP/1.1\nHost: a\n{}",
      'Line 3 is no header: got "{}", expected "Name: value". A blank line ends the headers.',
    ],
    [
      `POST / HTTP/1.1\n${"x".repeat(50)}`,
      `Line 2 is no header: got "${"x".repeat(40)}...", expected "Name: value". A blank line ends the headers.`,
    ],
    ["{", "It begins like JSON, but is not valid JSON."],
    ["[]", "It is JSON, but a list: expected one object."],
    ['"text"', "It is JSON, but a string: expected one object."],
    ["{}", 'Its "headers" are missing: expected an object of texts.'],
    ['{"headers":null}', 'Its "headers" are null: expected an object of texts.'],
    ['{"headers":{"a":{}}}', 'Its header "a" is an object: expected a text.'],
    ['{"headers":{},"bodyBase64":"%"}', 'Its "bodyBase64" is no base64.'],
    ["curl -d {} localhost", "It is a curl command: send it to a listener such as nc, and give what that captured."],
  ])("%j", async (text, message) => {
    const cli = runCli(["explain"], { env: { SIGNING_SECRET: secret }, stdin: text });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toBe(`hookline explain: ${message} ${forms}\nSee hookline explain --help.\n`);
    expect(cli.out()).toBe("");
  });

  test.each([
    [["nowhere.txt"], `There is no file nowhere.txt. ${forms}`],
    [[folder], `${folder} is a folder. ${forms}`],
    [[""], 'FILE got "", expected the path of a file, or "-" for stdin.'],
    [["a", "b"], 'Got the argument "b", expected one FILE and flags only. Allowed: --help.'],
    [["--file", "a"], "There is no flag --file. Allowed: --help."],
  ])("hookline explain %j", async (args, message) => {
    const cli = runCli(["explain", ...args], { env: { SIGNING_SECRET: secret } });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toBe(`hookline explain: ${message}\nSee hookline explain --help.\n`);
  });

  test.each([
    ["EACCES", "stdin may not be read by this user."],
    ["EIO", "stdin cannot be read: it failed."],
  ])("and for a stdin that fails with %s", async (code, message) => {
    const error = Object.assign(new Error("it failed"), { code });
    const cli = runCli(["explain"], { env: { SIGNING_SECRET: secret }, stdin: error });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain(`hookline explain: ${message} ${forms}`);
  });

  test("and for a secret that is missing", async () => {
    const cli = runCli(["explain"], { stdin: captured() });
    expect(await cli.ended).toBe(2);
    expect(cli.err()).toContain("hookline explain: SIGNING_SECRET is not set.");
  });

  test("whatever it is, it is told in a sentence", async () => {
    const piece = fc.oneof(
      fc.constantFrom(
        "curl ",
        "\\x",
        '"',
        "\\\n",
        "POST / HTTP/1.1\n",
        "\r\n\r\n",
        '{"headers":',
        "}",
        "Transfer-Encoding: chunked\n",
        "ffffffff\r\n",
        "0\r\n",
        "Content-Length: 1\n",
      ),
      fc.string({ maxLength: 5 }),
    );
    await fc.assert(
      fc.asyncProperty(fc.array(piece, { maxLength: 12 }), async (pieces) => {
        const cli = runCli(["explain"], { env: { SIGNING_SECRET: secret }, stdin: pieces.join("") });
        expect([1, 2]).toContain(await cli.ended);
        expect(cli.err()).not.toContain(".ts:");
      }),
    );
  });
});

test("on a terminal it says what to do", async () => {
  const cli = runCli(["explain", "-"], { env: { SIGNING_SECRET: secret }, stdin: captured(), terminal: true });
  expect(await cli.ended).toBe(0);
  expect(cli.err()).toBe("Paste the request, then press Ctrl-D on a line of its own.\n");
});

describe("as a process", () => {
  test("it reads stdin, and ends with 0 where all is well", async () => {
    vi.useRealTimers();
    const cli = startCli(
      ["explain"],
      { SIGNING_SECRET: secret },
      JSON.stringify({ headers: signedHeaders(body, { secret }), body }),
    );
    expect(await cli.ended).toBe(0);
    expect(cli.out()).toMatch(
      /^Read as JSON: 2 headers, a body of 66 bytes\.\nThe signature is right\.\nSigned \d+ seconds? ago, at .+Z\.\n$/,
    );
    expect(cli.err()).toBe("");
  });

  test("it reads a file, and ends with 1 where a mistake is found", async () => {
    vi.useRealTimers();
    const file = join(folder, "captured.txt");
    const head = Object.entries(signedHeaders(body, { secret })).map(([name, value]) => `${name}: ${value}\n`);
    writeFileSync(file, `POST / HTTP/1.1\n${head.join("")}\n${body}\n`);
    const cli = startCli(["explain", file], { SIGNING_SECRET: secret });
    expect(await cli.ended).toBe(1);
    expect(cli.out()).toContain("\nbody-whitespace: ");
  });
});

function headers(): Record<string, string> {
  return signedHeaders(body, { secret, at });
}

function base64(text: string): string {
  return Buffer.from(text).toString("base64");
}

/** A request that is signed right, at some time. */
function captured({ timestamp: time = timestamp } = {}): string {
  const signature = signatureOf(body, { secret, timestamp: time });
  return JSON.stringify({ headers: { "x-aurinko-signature": signature, "x-aurinko-request-timestamp": time }, body });
}

/** What it prints on stdout, which is never the secret, nor a signature. */
async function explained(stdin: string | Uint8Array, { secret: ours = secret } = {}) {
  const cli = runCli(["explain"], { env: { SIGNING_SECRET: ours }, stdin });
  const code = await cli.ended;
  const out = cli.out();
  expect(cli.err()).toBe("");
  expect(out).not.toContain(secret);
  expect(out).not.toMatch(/[\da-f]{64}/);
  return { code, out };
}
