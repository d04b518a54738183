import type { RequestListener } from "node:http";
import { http, type HttpFunction } from "@google-cloud/functions-framework";
import { getTestServer } from "@google-cloud/functions-framework/testing";

/** A function as the Functions Framework serves it, as a listener of `node:http`. */
export function toFunctionListener(handle: HttpFunction): RequestListener {
  http("webhooks", handle);
  const [listener] = getTestServer("webhooks").listeners("request");
  return listener as RequestListener;
}
