import { BodyError, isHooklineError } from "../errors.ts";
import { bodyTooLarge } from "./body-errors.ts";
import { headerOf } from "./header-of.ts";
import type { ReceivingParts } from "./parts.ts";
import type { RawRequest, ReadLimits } from "./raw.ts";
import { REFUSALS, type RefusalCode } from "./refusals.ts";
import { Refused, type Checked, type Read } from "./steps.ts";

type Parts = Pick<ReceivingParts, "clock" | "maxBodyBytes" | "bodyTimeoutMs" | "intake">;

/** Rows 5 to 7 of the table of answers: the body as bytes, within its limits. */
export async function read(
  checked: Checked,
  { clock, maxBodyBytes, bodyTimeoutMs, intake }: Parts,
): Promise<Read | Refused> {
  const { request } = checked;
  // Said before a byte of it is asked for.
  if (Number(headerOf(request.headers, "content-length")) > maxBodyBytes)
    return new Refused("body-too-large", bodyTooLarge(maxBodyBytes));
  const { source } = request;
  const controller = new AbortController();
  let timer: { clear(): void } | undefined;
  // A way to read that ignores its signal is not waited for.
  const late = new Promise<never>((_resolve, reject) => {
    timer = clock.setTimer(() => {
      const error = bodyLate(bodyTimeoutMs);
      controller.abort(error);
      reject(error);
    }, bodyTimeoutMs);
  });
  let counted = 0;
  let over = false;
  const count = (bytes: number): void => {
    if (over) throw bodyLate(bodyTimeoutMs); // nobody would give back what is taken now
    intake.take(bytes);
    counted += bytes;
  };
  try {
    const body = await Promise.race([
      bytesOf(request.body, { maxBytes: maxBodyBytes, signal: controller.signal, count }),
      late,
    ]);
    if (body.byteLength > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
    return { checked, body, source, receivedAt: clock.now() } as Read;
  } catch (error) {
    return new Refused(codeOf(error), error);
  } finally {
    timer?.clear();
    over = true;
    intake.give(counted);
  }
}

function bytesOf(body: RawRequest["body"], limits: Required<ReadLimits>): Uint8Array | Promise<Uint8Array> {
  if (body instanceof Uint8Array) return body;
  return typeof body === "function" ? body(limits) : gather(body, limits);
}

async function gather(
  chunks: AsyncIterable<Uint8Array>,
  { maxBytes, signal, count }: Required<ReadLimits>,
): Promise<Uint8Array> {
  const parts: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of chunks) {
    signal.throwIfAborted();
    length += chunk.byteLength;
    if (length > maxBytes) throw bodyTooLarge(maxBytes);
    count(chunk.byteLength);
    parts.push(chunk);
  }
  return parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts, length);
}

function bodyLate(bodyTimeoutMs: number): BodyError {
  return new BodyError("body-late", `The body did not arrive within ${bodyTimeoutMs} ms.`);
}

function codeOf(error: unknown): RefusalCode {
  if (isHooklineError(error) && Object.hasOwn(REFUSALS, error.code)) return error.code as RefusalCode;
  return "internal";
}
