import { BodyError, isHooklineError } from "../errors.ts";
import { bodyTooLarge } from "./body-errors.ts";
import { headerOf } from "../protocol/headers.ts";
import type { ReceivingParts } from "./parts.ts";
import type { RawRequest, ReadLimits } from "./types.ts";
import { REFUSALS, type RefusalCode } from "./responses.ts";
import { sourceOf } from "./source-of.ts";
import { Refused, type Checked, type Read } from "./steps.ts";

type Parts = Pick<ReceivingParts, "clock" | "maxBodyBytes" | "bodyTimeoutMs" | "intake">;

/** Rows 5 to 7 of the table of answers: the body as bytes, within its limits. */
export async function readBody(checked: Checked, parts: Parts): Promise<Read | Refused> {
  const { request } = checked;
  const { clock, maxBodyBytes } = parts;
  // Said before a byte of it is asked for.
  if (Number(headerOf(request.headers, "content-length")) > maxBodyBytes)
    return new Refused("body-too-large", bodyTooLarge(maxBodyBytes));
  let source: string | undefined;
  try {
    source = sourceOf(request);
  } catch (error) {
    return new Refused("internal", error); // whatever code the user's error has
  }
  try {
    const body = request.body instanceof Uint8Array ? request.body : await stream(request.body, parts);
    if (body.byteLength > maxBodyBytes) throw bodyTooLarge(maxBodyBytes);
    return { checked, body, source, receivedAt: clock.now() } as Read;
  } catch (error) {
    return new Refused(codeOf(error), error);
  }
}

type Streamed = Exclude<RawRequest["body"], Uint8Array>;

/** A way to read that ignores its signal is not waited for. A promise by hand: `Promise.race` costs as much as the rest of a read. */
function stream(way: Streamed, { clock, maxBodyBytes, bodyTimeoutMs, intake }: Parts): Promise<Uint8Array> {
  return new Promise((resolve, reject) => {
    const controller = new AbortController();
    let counted = 0;
    let over = false;
    const end = (): void => {
      timer.clear();
      intake.give(counted);
      counted = 0;
      over = true;
    };
    const timer = clock.setTimer(() => {
      const error = bodyLate(bodyTimeoutMs);
      controller.abort(error);
      end();
      reject(error);
    }, bodyTimeoutMs);
    const count = (bytes: number): void => {
      if (over) throw bodyLate(bodyTimeoutMs); // nobody would give back what is taken now
      intake.take(bytes);
      counted += bytes;
    };
    bytesOf(way, { maxBytes: maxBodyBytes, signal: controller.signal, count }).then(
      (body) => {
        end();
        resolve(body);
      },
      (error: unknown) => {
        end();
        reject(error);
      },
    );
  });
}

async function bytesOf(way: Streamed, limits: Required<ReadLimits>): Promise<Uint8Array> {
  return typeof way === "function" ? way(limits) : gather(way, limits);
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
