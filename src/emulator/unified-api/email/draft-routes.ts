import * as z from "zod";
import { LONGEST_TIMER_MS } from "../../../clock.ts";
import type { Account } from "../../accounts/account.ts";
import type { MailboxRecord } from "../../accounts/mailbox.ts";
import type { EmulatedService } from "../../emulated-service.ts";
import { operationsOf } from "../../http/operation.ts";
import type { Route } from "../../http/routes.ts";
import { reachableAccountOf } from "../authenticate.ts";
import { toHtml } from "../html.ts";
import { bodyType, flag, nativeProperties, OK, OK_ANSWER } from "../schemas.ts";
import type { UnifiedOptions } from "../unified-routes.ts";
import { draftOf, sendDraft, toDraftId, unschedule, type DraftSending } from "./drafts.ts";
import { MESSAGE, toView } from "./message-view.ts";
import { messagesOf } from "./messages.ts";
import { OUT_TRACKING, WRITTEN } from "./send-message.ts";

const PATH = "/v1/email/drafts";
const SAVED = z.looseObject({ id: z.string() });
const DRAFT = z.looseObject({
  id: z.string(),
  message: MESSAGE,
  scheduled: z
    .looseObject({ jobId: z.int(), sendTime: z.string(), status: z.enum(["scheduled", "sent", "failed"]) })
    .optional(),
});
const DRAFT_SENT = z.looseObject({ status: z.enum(["Ok", "Scheduled"]), trackingId: z.string().optional() });
const SEND = z.object({ sendTime: z.union([z.literal(""), z.iso.datetime({ offset: true })]).optional() });

/** Drafts of an account: messages with the label `draft`. @see service's public description, email/drafts */
export function draftRoutes(service: EmulatedService, { variants }: UnifiedOptions): readonly Route[] {
  const operation = operationsOf({
    tag: "Drafts",
    auth: "bearer",
    caller: (context) => reachableAccountOf(service, context),
  });
  let jobs = 0;

  function schedule(
    account: Account,
    { id }: MailboxRecord,
    sending: DraftSending & { readonly sendTime: string },
  ): void {
    unschedule(account, id);
    const job = { jobId: (jobs += 1), sendTime: sending.sendTime };
    const wait = (): void => {
      const leftMs = Date.parse(job.sendTime) - service.clock.now();
      // A timer is not longer than this.
      const timer = service.clock.setTimer(leftMs > LONGEST_TIMER_MS ? wait : run, Math.min(leftMs, LONGEST_TIMER_MS));
      account.scheduled.set(id, { ...job, status: "scheduled", timer });
    };
    const run = (): void => {
      try {
        if (!account.hasAccess) throw new Error("The service has lost its access to the mailbox.");
        sendDraft(service, account, { ...sending, draft: draftOf(account, toDraftId(id)) });
      } catch (error) {
        const { message } = error as Error;
        account.scheduled.set(id, { ...job, status: "failed", errorMessage: message, timer: { clear: () => {} } });
      }
    };
    wait();
  }

  return [
    operation({
      method: "POST",
      path: PATH,
      summary: "Creates a draft.",
      query: z.object({ bodyType }),
      body: WRITTEN,
      answer: SAVED,
      causes: "email.created",
      run({ caller, query, body }) {
        const { name, email: address, mailbox } = caller;
        const message = mailbox.create(messagesOf(caller), {
          from: { name, address },
          ...toFields(body, query.bodyType),
          threadId: `t-${service.requestId()}`,
          sysLabels: ["draft"],
        });
        return { id: toDraftId(message.id) };
      },
    }),
    operation({
      method: "GET",
      path: `${PATH}/:draftId`,
      summary: "Gets a draft, and when it will be sent.",
      query: z.object({ bodyType, nativeProperties, loadInlines: flag(false) }),
      answer: DRAFT,
      errors: [404],
      run({ caller: account, query, param }) {
        const draft = draftOf(account, param("draftId"));
        const { timer: _, ...scheduled } = account.scheduled.get(draft.id) ?? {};
        return {
          id: toDraftId(draft.id),
          message: toView(draft, { account, ...query, now: service.clock.now() }),
          ...("jobId" in scheduled && { scheduled }),
        };
      },
    }),
    operation({
      method: "PUT",
      path: `${PATH}/:draftId`,
      summary: "Replaces what is written in a draft.",
      query: z.object({ bodyType }),
      body: WRITTEN,
      answer: SAVED,
      causes: "email.updated",
      errors: [404],
      run({ caller, query, body, param }) {
        const draft = draftOf(caller, param("draftId"));
        const { id, threadId, sysLabels, from, ...old } = draft;
        const gone = Object.fromEntries(Object.keys(old).map((field) => [field, undefined]));
        caller.mailbox.update(messagesOf(caller), id, {
          ...gone,
          from,
          threadId,
          sysLabels,
          ...toFields(body, query.bodyType),
        });
        return { id: toDraftId(id) };
      },
    }),
    operation({
      method: "DELETE",
      path: `${PATH}/:draftId`,
      summary: "Deletes a draft.",
      answer: OK_ANSWER,
      causes: "email.deleted",
      errors: [404],
      run({ caller, param }) {
        const { id } = draftOf(caller, param("draftId"));
        unschedule(caller, id);
        caller.mailbox.remove(messagesOf(caller), id);
        return OK;
      },
    }),
    operation({
      method: "POST",
      path: `${PATH}/:draftId/send`,
      summary: "Sends a draft, at once or at a time.",
      query: SEND,
      body: z.object({ tracking: OUT_TRACKING }),
      answer: DRAFT_SENT,
      causes: "email.deleted, email.created, tracking.initial",
      errors: [404],
      run({ caller, query: { sendTime = "" }, body: { tracking }, param }) {
        const draft = draftOf(caller, param("draftId"));
        const isLater = sendTime !== "" && Date.parse(sendTime) > service.clock.now();
        if (!isLater) return { status: "Ok", trackingId: sendDraft(service, caller, { draft, variants, tracking }) };
        schedule(caller, draft, { variants, tracking, sendTime });
        return { status: "Scheduled" };
      },
    }),
  ];
}

function toFields({ body, ...mail }: z.output<typeof WRITTEN>, form: "html" | "text"): object {
  return { ...mail, body: form === "text" ? toHtml(body) : body };
}
