import { createReadStream } from "node:fs";
import { createInterface } from "node:readline";
import { eventsOf, parseDocument } from "../../protocol/envelope.ts";
import { CommandError, EXIT } from "../command.ts";

/**
 * Reads what `hookline dev --capture` wrote, or `hookline inbox export --show-content`.
 *
 * @param only the type of event that a delivery must have
 * @throws CommandError for a file that cannot be read, or a line that is no JSON
 */
export async function readCaptured(file: string, only: string | undefined) {
  const ids = new Set<string>();
  const found = { bodies: [] as Buffer[], withoutBody: 0, notWanted: 0 };
  let number = 0;
  try {
    for await (const line of createInterface({ input: createReadStream(file), crlfDelay: Infinity })) {
      number += 1;
      if (line.trim() === "") continue;
      const { id, bodyBase64 } = deliveryOf(JSON.parse(line));
      const body = bodyBase64 === undefined ? undefined : Buffer.from(bodyBase64, "base64");
      // An export has a line for each job: a delivery of several events, or to several consumers, is on several lines.
      if (body !== undefined && id !== undefined && ids.size === ids.add(id).size) continue;
      if (body === undefined) found.withoutBody += 1;
      else if (only === undefined || eventsOf(parseDocument(body)).some(({ type }) => type === only))
        found.bodies.push(body);
      else found.notWanted += 1;
    }
    return found;
  } catch (error) {
    const what = error instanceof SyntaxError ? `line ${number} is no JSON` : (error as Error).message;
    throw new CommandError(EXIT.usage, `${file} cannot be read: ${what}.`, { cause: error });
  }
}

interface CapturedDelivery {
  readonly id?: string;
  readonly bodyBase64?: string;
}

function deliveryOf(json: unknown): CapturedDelivery {
  const { delivery, ...captured } = (json ?? {}) as CapturedDelivery & { readonly delivery?: CapturedDelivery };
  // The id of an exported job is another thing.
  return delivery ?? { ...(typeof captured.bodyBase64 === "string" && { bodyBase64: captured.bodyBase64 }) };
}
