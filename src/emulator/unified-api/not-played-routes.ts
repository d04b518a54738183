import { ApiError, type Route } from "../http/routes.ts";

/** Operations of the service's public description that are known, and not played, by the beginning of their paths. */
const BY_ROOT = {
  "/v1/followup/": `GET config, PUT config, GET rules, POST rules, PUT rules/{id}, DELETE rules/{id},
    GET conversations, GET conversations/{convoId}, PUT conversations/{convoId}`,
  "/v1/user": `GET , PATCH /settings, GET /accounts, GET /accounts/{id}, DELETE /accounts/{id},
    POST /accounts/{id}/managed, POST /logout`,
};

const KNOWN: readonly string[] = Object.entries(BY_ROOT).flatMap(([root, operations]) =>
  operations.split(/,\s+/).map((operation) => operation.replace(" ", ` ${root}`)),
);

/** Those of them that no route plays, each with its method and path. */
export function notPlayed(routes: readonly Route[]): readonly string[] {
  const played = new Set(routes.map(({ method, path }) => `${method} ${path.replaceAll(/:\w+/g, "{}")}`));
  return KNOWN.filter((operation) => !played.has(operation.replaceAll(/\{\w+\}/g, "{}")));
}

/** Each answers 501, which says how to give it an answer. */
export function notPlayedRoutes(played: readonly Route[]): readonly Route[] {
  return notPlayed(played).map((operation) => {
    const [method, path = ""] = operation.split(" ");
    return {
      method: method as Route["method"],
      path: path.replaceAll(/\{(\w+)\}/g, ":$1"),
      run() {
        throw new ApiError(
          501,
          "notPlayed",
          `The emulator does not play ${operation}. Give it an answer: emulator.respond(${JSON.stringify(method)}, ${JSON.stringify(path)}, { json: ... }), or POST /emulator/answers.`,
        );
      },
    };
  });
}
