import type { MiddlewareHandler } from "hono";
import type { ContentfulStatusCode } from "hono/utils/http-status";
import { UsageError } from "../../errors.ts";
import type { GivenAnswer } from "../emulator-types.ts";

/** Answers that a program has given paths, in front of all others. */
export interface GivenAnswers {
  /** @throws UsageError `option-invalid` */
  set(method: string, path: string, answer: GivenAnswer | undefined): void;
  clear(): void;
  readonly serve: MiddlewareHandler;
}

export function createGivenAnswers(): GivenAnswers {
  const byRequest = new Map<string, { readonly matches: RegExp; readonly answer: GivenAnswer }>();
  return {
    set(method, path, answer) {
      const { status = 200 } = answer ?? {};
      if (!/^[a-z]+$/i.test(method) || !/^\/[^?#]*$/.test(path) || !(Number.isInteger(status) && isStatus(status)))
        throw new UsageError("option-invalid", `respond() got ${method} ${path} and the status ${status}.`, {
          fix: 'Give it a method, a path such as "/v1/user/accounts/{id}" without a query, and a status from 200 to 599.',
        });
      const key = `${method.toUpperCase()} ${path}`;
      byRequest.delete(key);
      if (answer === undefined) return;
      const pattern = key.split(/\{\w+\}/).map((part) => part.replaceAll(/[^\w ]/g, String.raw`\$&`));
      byRequest.set(key, { matches: new RegExp(`^${pattern.join("[^/]+")}$`), answer });
    },
    clear: () => byRequest.clear(),
    async serve(context, next) {
      const request = `${context.req.method} ${context.req.path}`;
      // Of two that match, the one that was given last.
      const found = [...byRequest.values()].findLast(({ matches }) => matches.test(request));
      if (found === undefined) return next();
      const { status = 200, json, headers = {} } = found.answer;
      if (json === undefined) return context.body(null, status as ContentfulStatusCode, { ...headers });
      return context.json(json as object, status as ContentfulStatusCode, { ...headers });
    },
  };
}

function isStatus(status: number): boolean {
  return status >= 200 && status <= 599;
}
