import * as z from "zod";
import { receiveMessage, threadOf, type Account } from "../../accounts/account.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { toHtml } from "../html.ts";
import { messagesOf } from "./messages.ts";

const address = z.looseObject({ address: z.string().min(1), name: z.string().optional() });
const addresses = z.array(address).default([]);

/** @see protocol 2.1, outgoing email; 6.2 names the fields of `tracking`; other fields are kept as they are */
export const OUTGOING = z
  .looseObject({
    subject: z.string().default(""),
    body: z.string().default(""),
    from: address.optional(),
    to: addresses,
    cc: addresses,
    bcc: addresses,
    inReplyTo: z.string().optional(),
    attachments: z.array(z.looseObject({ name: z.string().optional(), content: z.string().optional() })).optional(),
    tracking: z
      .looseObject({
        opens: z.boolean().optional(),
        threadReplies: z.boolean().optional(),
        trackOpensAfterSendDelay: z.number().min(0).optional(),
        context: z.string().optional(),
      })
      .optional(),
    followUp: z.looseObject({}).optional(),
  })
  .refine(({ to, cc, bcc }) => to.length + cc.length + bcc.length > 0, {
    path: ["to"],
    message: "there is no addressee in to, cc or bcc",
  });

/** @see protocol 2.1, where the schema of a send response is not shown */
export const SENT = z.looseObject({
  status: z.literal("Ok"),
  submittedMessageId: z.string(),
  id: z.string().optional(),
  threadId: z.string().optional(),
  trackingId: z.int().optional(),
  processingStatus: z.enum(["Ok", "Incomplete"]),
  processingError: z.looseObject({ failedSteps: z.array(z.string()), errorMessage: z.string() }).optional(),
});

/** A message, and how it is sent. */
export interface Sending {
  readonly account: Account;
  readonly mail: z.output<typeof OUTGOING>;
  readonly bodyType: "html" | "text";
  readonly returnIds: boolean;
}

/**
 * Puts a message into the account's mailbox as sent, and into those of addressees that are accounts of this emulator. A follow-up cannot be
 * started: the mail has gone out, and the answer is `Incomplete`.
 */
export function sendMessage(
  service: EmulatedService,
  { account, mail: given, bodyType, returnIds }: Sending,
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
  const picture =
    tracked?.options.opens === true ? `<img src="${service.baseUrl()}/open/${tracked.trackingCode}">` : "";
  const { bcc, ...visible } = sent;
  const wanted = new Set([...mail.to, ...mail.cc, ...bcc].map((one) => one.address.toLowerCase()));
  for (const addressee of service.accounts.values())
    if (wanted.has(addressee.email.toLowerCase())) receiveMessage(addressee, { ...visible, body: html + picture });
  return {
    status: "Ok",
    submittedMessageId: internetMessageId,
    ...(returnIds && { id: message.id, threadId }),
    ...(tracked && { trackingId: tracked.trackingId }),
    processingStatus: followUp === undefined ? "Ok" : "Incomplete",
    ...(followUp !== undefined && {
      processingError: { failedSteps: ["followUp"], errorMessage: "The emulator has no rules of follow-ups." },
    }),
  };
}
