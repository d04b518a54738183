import * as z from "zod";
import { attachmentsOf } from "../accounts/attachments.ts";
import { ApiError } from "../http/routes.ts";

export const ATTACHMENT_CONTENT = z.object({ content: z.string() });

/** Of an attachment of an event or a message. @throws ApiError 404 */
export function contentOf(record: Readonly<Record<string, unknown>>, id: string): z.output<typeof ATTACHMENT_CONTENT> {
  const attachment = attachmentsOf(record).find((one) => one.id === id);
  if (attachment !== undefined) return { content: attachment.content ?? "" };
  throw new ApiError(404, "not_found", `There is no attachment ${JSON.stringify(id)}.`);
}
