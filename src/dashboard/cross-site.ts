import type { DashboardRequest } from "./create-dashboard.ts";

/**
 * Whether a page of another site may have sent it. A form cannot set the header, and a script of another site may not. Where a browser says
 * neither that it is of the same origin, nor which it is of, it is none of ours.
 */
export function crossSite({ header }: Pick<DashboardRequest, "header">): boolean {
  if (header("x-hookline") !== "1") return true;
  const site = header("sec-fetch-site");
  if (site) return site !== "same-origin";
  const origin = header("origin") ?? "";
  // A proxy may end TLS: only the host is known here.
  return !URL.canParse(origin) || new URL(origin).host !== header("host");
}
