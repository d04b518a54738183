import type { MailboxRecord } from "../accounts/mailbox.ts";

/** How a message is asked for. */
export interface View {
  readonly bodyType: "html" | "text";
  readonly stripQuoted: boolean;
  /** Present time, milliseconds. */
  readonly now: number;
}

/**
 * A message as the API shows it.
 *
 * @see protocol 2.1, `omitted`
 */
export function toView(message: MailboxRecord, { bodyType, stripQuoted, now }: View): Record<string, unknown> {
  const { threadIdAfterMs: _, body, ...fields } = message;
  const html = typeof body === "string" ? body : "";
  const shown = stripQuoted ? withoutQuotes(html) : html;
  const hasThread = threadKnownInMs(message, now) <= 0;
  const view: Record<string, unknown> = {
    ...fields,
    body: bodyType === "text" ? toText(shown) : shown,
    bodySnippet: toText(html).slice(0, SNIPPET_CHARACTERS),
    omitted: hasThread ? [] : ["threadId"],
  };
  if (!hasThread) delete view["threadId"];
  return view;
}

const SNIPPET_CHARACTERS = 100;

/** Until the service finds the thread of a message, milliseconds: a message that was given a `threadIdAfterMs` has none at first. */
export function threadKnownInMs({ threadIdAfterMs, createdTime }: MailboxRecord, now: number): number {
  return typeof threadIdAfterMs === "number" ? Date.parse(createdTime) + threadIdAfterMs - now : 0;
}

function withoutQuotes(html: string): string {
  return html.replaceAll(/<blockquote[\s\S]*?<\/blockquote>/gi, "").replaceAll(/^>.*\n?/gm, "");
}

/** Good enough for a body that a test made. */
function toText(html: string): string {
  return html
    .replaceAll(/<br\s*\/?>|<\/p>/gi, "\n")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&lt;", "<")
    .replaceAll("&gt;", ">")
    .replaceAll("&amp;", "&")
    .trim();
}

/** The message as its sender's program wrote it. @see RFC 5322 */
export function toRaw(message: MailboxRecord): string {
  const { from, to, cc, subject, body, createdTime, internetMessageId } = message;
  const headers = [
    ["From", addressesOf(from)],
    ["To", addressesOf(to)],
    ["Cc", addressesOf(cc)],
    ["Subject", textOf(subject)],
    ["Date", new Date(createdTime).toUTCString().replace("GMT", "+0000")],
    ["Message-ID", textOf(internetMessageId)],
    ["MIME-Version", "1.0"],
    ["Content-Type", "text/html; charset=utf-8"],
  ];
  const lines = headers.flatMap(([name, value]) => (value === "" ? [] : `${name}: ${value}`));
  return `${lines.join("\r\n")}\r\n\r\n${textOf(body)}\r\n`;
}

interface Address {
  readonly name?: string;
  readonly address?: string;
}

function addressesOf(given: unknown): string {
  const list = (Array.isArray(given) ? given : given === undefined ? [] : [given]) as readonly Address[];
  return list.map(({ name, address = "" }) => (name === undefined ? address : `${name} <${address}>`)).join(", ");
}

function textOf(field: unknown): string {
  return typeof field === "string" ? field.replaceAll(/[\r\n]+(?=\S)/g, " ") : "";
}
