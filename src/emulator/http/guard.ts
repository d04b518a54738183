import type { MiddlewareHandler } from "hono";

/** The names of this machine under which a browser may reach the emulator. */
const NAMES = new Set(["127.0.0.1", "localhost", "[::1]"]);

/**
 * Refuses what a page from elsewhere may have sent: a Host that is no name of this machine (DNS rebinding), an Origin other than the
 * emulator's own, and a body that a form can send without asking first.
 */
export const guard: MiddlewareHandler = async (context, next) => {
  const host = context.req.header("host") ?? "";
  if (!NAMES.has(host.replace(/:\d+$/, "")))
    return context.json(refusal(`The Host is ${JSON.stringify(host)}, expected 127.0.0.1 or localhost.`), 403);
  const origin = context.req.header("origin");
  if (origin !== undefined && origin !== `http://${host}`)
    return context.json(refusal(`The Origin is ${JSON.stringify(origin)}, expected none, or http://${host}.`), 403);
  const type = context.req.header("content-type");
  if (type !== undefined && !type.startsWith("application/json"))
    return context.json(refusal(`The Content-Type is ${JSON.stringify(type)}, expected application/json.`), 415);
  return next();
};

function refusal(message: string) {
  return { code: "forbidden", message };
}
