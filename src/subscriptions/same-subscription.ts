import type { Subscription } from "../client.ts";
import type { Desired } from "./desired.ts";

/** Whether both are the same subscription of one account: one with another level is another. */
export function isSame(one: Desired, other: Desired): boolean {
  return (
    resourceKey(one.resource) === resourceKey(other.resource) &&
    urlKey(one.notificationUrl) === urlKey(other.notificationUrl) &&
    one.detailLevel === other.detailLevel
  );
}

/** Whether a subscription of the account is the desired one. A level that one of them does not name fits any. */
export function fits(desired: Desired, { resource, notificationUrl, detailLevel }: Subscription): boolean {
  return (
    resourceKey(resource) === resourceKey(desired.resource) &&
    urlKey(notificationUrl) === urlKey(desired.notificationUrl) &&
    (desired.detailLevel === undefined || detailLevel === undefined || desired.detailLevel === detailLevel)
  );
}

/** Equal for paths that name the same resource, however they are escaped. */
export function resourceKey(path: string): string {
  const [plain = ""] = path.split("?");
  const segments = plain.replace(/\/+$/, "").split("/");
  return JSON.stringify(segments.map(decoded));
}

/** Equal for URLs that lead to the same place: the case of the host, a default port and a fragment do not matter. */
export function urlKey(text: string): string {
  const url = URL.parse(text);
  if (url === null) return text;
  url.hash = "";
  return url.href;
}

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
