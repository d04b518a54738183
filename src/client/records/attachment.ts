import * as z from "zod/mini";
import { fromBase64 } from "../web-crypto.ts";
import { AnswerProblem, recordReader, type Reader } from "./reader.ts";

/** The content of an attachment. */
export interface Attachment {
  readonly content: Uint8Array;
}

const readContent = recordReader<{ content: string }>({ content: z.string() });

/** The service sends base64. */
export const readAttachment: Reader<Attachment> = (json) => {
  const { content } = readContent(json);
  try {
    return { content: fromBase64(content) };
  } catch {
    throw new AnswerProblem('its field "content" is no base64');
  }
};
