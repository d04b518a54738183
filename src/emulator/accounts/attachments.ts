/** An attachment of an event or a message, as its record has it. */
export interface Attachment {
  readonly id: string;
  /** Base64. */
  readonly content?: string | undefined;
}

/** Attachments of a record, each with an id. */
export function attachmentsOf({ attachments }: Readonly<Record<string, unknown>>): readonly Attachment[] {
  if (!Array.isArray(attachments)) return [];
  return (attachments as readonly unknown[]).map((attachment, index) =>
    Object.assign({ id: `a-${index + 1}` }, attachment),
  );
}

/** Bytes of its content. */
export function sizeOf({ content }: Attachment): number {
  return typeof content === "string" ? Buffer.byteLength(content, "base64") : 0;
}
