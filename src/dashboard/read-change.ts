import type { AskedChange } from "./changes.ts";
import type { DashboardRequest } from "./create-dashboard.ts";

/** Far more than a thousand ids. */
const MAX_BYTES = 64 * 1024;

/** A change as the page asks for it, or what is wrong with it. */
export async function readChange({
  header,
  body: read,
}: Pick<DashboardRequest, "header" | "body">): Promise<AskedChange | string> {
  if (!/^application\/json\s*(;|$)/i.test(header("content-type") ?? "")) return "A change is sent as JSON.";
  const text = await read();
  if (text.length > MAX_BYTES) return "That is too long.";
  const body = parsed(text);
  if (body === undefined) return "The body is no object of JSON.";
  const wrong = Object.entries(body).find(([name, value]) => !CHECKS[name]?.(value));
  if (wrong !== undefined) return `The field ${wrong[0].slice(0, 40)} is not as expected.`;
  if ((body["ids"] === undefined) === (body["filter"] === undefined))
    return "Either ids or a filter say what to change.";
  return body;
}

const CHECKS: Readonly<Record<string, (value: unknown) => boolean>> = {
  ids: (value) => Array.isArray(value) && value.length <= 1_000 && value.every((id) => typeof id === "string"),
  filter: (value) => isObject(value) && Object.values(value).every((text) => typeof text === "string"),
  count: (value) => Number.isSafeInteger(value) && Number(value) >= 0,
  perSecond: (value) => typeof value === "number" && value > 0 && value <= 1_000,
};

function parsed(text: string): Record<string, unknown> | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return isObject(body) ? body : undefined;
  } catch {
    return undefined;
  }
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}
