import * as z from "zod";
import type { Account } from "../../accounts/account.ts";
import { attachmentsOf, sizeOf, type Attachment } from "../../accounts/attachments.ts";
import type { MailboxRecord } from "../../accounts/mailbox.ts";
import { RECORD } from "../schemas.ts";

/** How a message is asked for. */
export interface View {
  /** Whose message it is. */
  readonly account: Account;
  readonly bodyType: "html" | "text";
  readonly stripQuoted?: boolean;
  /** With what is in inline attachments. */
  readonly loadInlines?: boolean;
  /** Of the body there is only the beginning. */
  readonly isPreview?: boolean;
  /** Present time, milliseconds. */
  readonly now: number;
}

/** @see protocol 2.1, where the schema of a message is not shown */
export const MESSAGE = RECORD.extend({
  threadId: z.string().optional(),
  subject: z.string().optional(),
  sysLabels: z.array(z.string()).optional(),
  body: z.string().optional(),
  bodySnippet: z.string(),
  hasAttachments: z.boolean(),
  omitted: z.array(z.enum(["threadId", "body"])),
});

/**
 * A message as the API shows it.
 *
 * @see protocol 2.1, `omitted`
 */
export function toView(
  message: MailboxRecord,
  { account, bodyType, stripQuoted = false, loadInlines = false, isPreview = false, now }: View,
): Record<string, unknown> {
  const { threadIdAfterMs: _, tracking: __, followUp: ___, body, threadId, attachments: ____, ...fields } = message;
  const html = typeof body === "string" ? body : "";
  const shown = stripQuoted ? withoutQuotes(html) : html;
  const hasThread = threadKnownInMs(message, now) <= 0;
  const files = attachmentsOf(message).map((file) => toShown(file, loadInlines));
  return {
    ...fields,
    folderId: account.folders.idFor(message),
    ...(hasThread && { threadId }),
    ...(!isPreview && { body: bodyType === "text" ? toText(shown) : shown }),
    bodySnippet: toText(html).slice(0, SNIPPET_CHARACTERS),
    hasAttachments: files.length > 0,
    ...(files.length > 0 && { attachments: files }),
    omitted: [...(hasThread ? [] : ["threadId"]), ...(isPreview ? ["body"] : [])],
  };
}

/** What is in an attachment is shown only of an inline one, and only when asked for. */
function toShown(attachment: Attachment & { readonly inline?: unknown }, loadInlines: boolean): object {
  const { content, ...others } = attachment;
  const isShown = loadInlines && others.inline === true;
  return { ...others, size: sizeOf(attachment), ...(isShown && { content }) };
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
