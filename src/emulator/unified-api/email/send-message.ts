import * as z from "zod";
import type { MailboxRecord } from "../../accounts/mailbox.ts";
import { receiveMessage, threadOf, type Account } from "../../accounts/account.ts";
import type { TrackedMessage } from "../../accounts/tracking.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { labelsOf } from "../../accounts/labels.ts";
import { checked } from "../../http/routes.ts";
import { toHtml } from "../html.ts";
import type { ResolvedVariants } from "../unified-routes.ts";
import { messagesOf } from "./messages.ts";

const TRACKING = z.looseObject({
  opens: z.boolean().optional(),
  threadReplies: z.boolean().optional(),
  trackOpensAfterSendDelay: z.number().min(0).optional(),
  context: z.string().optional(),
});
const address = z.looseObject({ address: z.string().min(1), name: z.string().optional() });
const addresses = z.array(address).default([]);

/** How an outgoing message is tracked. @see protocol 6.2 */
export const OUT_TRACKING = TRACKING.optional();

/** What is written of a message, as in a draft. @see protocol 2.1, outgoing email; other fields are kept as they are */
export const WRITTEN = z.looseObject({
  subject: z.string().default(""),
  body: z.string().default(""),
  from: address.optional(),
  to: addresses,
  cc: addresses,
  bcc: addresses,
  replyTo: z.array(address).optional(),
  inReplyTo: z.string().optional(),
  attachments: z.array(z.looseObject({ name: z.string().optional(), content: z.string().optional() })).optional(),
  tracking: OUT_TRACKING,
  followUp: z.looseObject({}).optional(),
});

/** Its subject and its addressees follow from the message that it answers, unless they are given. */
export const REPLY = WRITTEN.omit({ inReplyTo: true }).extend({ subject: z.string().optional() });

/** What is sent. */
export const OUTGOING = WRITTEN.refine(({ to, cc, bcc }) => to.length + cc.length + bcc.length > 0, {
  path: ["to"],
  message: "there is no addressee in to, cc or bcc",
});

/** @see protocol 2.1, where the schema of a send response is not shown */
export const SENT = z.looseObject({
  status: z.literal("Ok"),
  submittedMessageId: z.string(),
  id: z.string().optional(),
  threadId: z.string().optional(),
  trackingId: z.union([z.string(), z.int()]).optional(),
  processingStatus: z.enum(["Ok", "Incomplete"]),
  processingError: z.looseObject({ failedSteps: z.array(z.string()), errorMessage: z.string() }).optional(),
});

/** A message, and how it is sent. */
export interface Sending<M = z.output<typeof OUTGOING>> {
  readonly account: Account;
  readonly mail: M;
  readonly variants: ResolvedVariants;
  readonly bodyType: "html" | "text";
  readonly returnIds: boolean;
}

/**
 * Puts a message into the account's mailbox as sent, and into those of addressees that are accounts of this emulator. A follow-up cannot be
 * started: the mail has gone out, and the answer is `Incomplete`.
 */
export function sendMessage(
  service: EmulatedService,
  { account, mail: given, variants, bodyType, returnIds }: Sending,
): z.output<typeof SENT> {
  const { tracking, followUp, body, ...mail } = given;
  const messages = messagesOf(account);
  const internetMessageId = `<${service.requestId()}@example.com>`;
  const html = bodyType === "text" ? toHtml(body) : body;
  const sent = { from: { name: account.name, address: account.email }, ...mail, internetMessageId };
  const threadId = threadOf(account, mail.inReplyTo) ?? `t-${service.requestId()}`;
  const message = account.mailbox.create(messages, {
    ...sent,
    body: html,
    threadId,
    sentAt: new Date(service.clock.now()).toISOString(),
    sysLabels: ["sent"],
  });
  const tracked = tracking && account.tracking.start(message, tracking);
  const picture = tracked === undefined ? "" : pictureOf(service, tracked);
  const { bcc, ...visible } = sent;
  const wanted = new Set([...mail.to, ...mail.cc, ...bcc].map((one) => one.address.toLowerCase()));
  for (const addressee of service.accounts.values())
    if (wanted.has(addressee.email.toLowerCase())) receiveMessage(addressee, { ...visible, body: html + picture });
  return {
    status: "Ok",
    submittedMessageId: internetMessageId,
    ...(returnIds && { id: message.id, threadId }),
    ...(tracked && {
      trackingId: variants.trackingId === "number" ? tracked.trackingId : String(tracked.trackingId),
    }),
    processingStatus: followUp === undefined ? "Ok" : "Incomplete",
    ...(followUp !== undefined && {
      processingError: { failedSteps: ["followUp"], errorMessage: "The emulator has no rules of follow-ups." },
    }),
  };
}

/** The picture in a tracked message, which tells that it was opened. Empty where openings are not tracked. */
export function pictureOf({ baseUrl }: EmulatedService, { options, trackingCode }: TrackedMessage): string {
  return options.opens === true ? `<img src="${baseUrl()}/open/${trackingCode}">` : "";
}

/** Sends an answer in the conversation of a message. @throws ApiError 400 where nobody would get it */
export function sendReply(
  service: EmulatedService,
  message: MailboxRecord,
  { mail: given, ...sending }: Sending<z.output<typeof REPLY>>,
): z.output<typeof SENT> {
  const { subject, from, replyTo, to, references, internetMessageId } = message as MailboxRecord &
    Record<string, string>;
  const isOwn = labelsOf(message).includes("sent");
  const asked = given.to.length + given.cc.length + given.bcc.length > 0;
  const mail = checked(OUTGOING, {
    subject: /^re:/i.test(subject ?? "") ? subject : `Re: ${subject ?? ""}`,
    ...given,
    ...(!asked && { to: isOwn ? to : (replyTo ?? (from === undefined ? [] : [from])) }),
    inReplyTo: internetMessageId,
    references: [references, internetMessageId].filter((id) => id !== undefined).join(" "),
  });
  return sendMessage(service, { ...sending, mail });
}
