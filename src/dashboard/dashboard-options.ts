import { assertOptions, wholeNumber } from "../assert.ts";
import { UsageError } from "../errors.ts";

/** What one who asks may do, beside looking at what is no content. */
export interface Access {
  /**
   * See content too: ids of mail, addresses, bodies, names of lanes, reasons, and messages of errors. Without it no answer has any.
   * @default false
   */
  content?: boolean | undefined;
  /** Replay and drop jobs, lift tombstones, forget gaps. @default false */
  change?: boolean | undefined;
  /** Who it is, for the log: each change is logged with it. */
  who?: string | undefined;
}

/** Options of a dashboard. `Req` is the request of the framework. */
export interface DashboardOptions<Req> {
  /**
   * Called for each request, files of the page included: what one who asks may do. `undefined`, and an error, are answered 403. It has no
   * default.
   */
  access: (request: Req) => Access | undefined | Promise<Access | undefined>;
  /** The path of the page, such as `/admin/hooks`. A router that strips its own path needs none. @default "/" */
  path?: string | undefined;
  /** Time between two looks of an open page, milliseconds. @default 2_000, at least 1_000 */
  refreshMs?: number | undefined;
}

/** @throws UsageError `option-invalid`, `dashboard-access-missing` */
export function assertDashboardOptions(
  where: string,
  options: DashboardOptions<never>,
): { readonly refreshMs: number } {
  assertOptions(where, options ?? {}, { access: true, path: true, refreshMs: true });
  if (typeof options?.access !== "function")
    throw new UsageError("dashboard-access-missing", `${where} got no function for \`access\`.`, {
      fix: "Say who may look, and who may change: `access: (request) => isAdmin(request) ? { change: true, who: nameOf(request) } : undefined`.",
    });
  const { path = "/", refreshMs: value = 2_000 } = options;
  if (typeof path !== "string" || !/^\/[\w/%.~$&'+,;=@!-]*$/.test(path))
    throw new UsageError("option-invalid", `${where} got a \`path\` that no request can have.`, {
      fix: 'Begin it with "/", without a pattern, a query, or letters beyond ASCII: `{ path: "/admin/hooks" }`.',
    });
  return { refreshMs: wholeNumber({ where, name: "refreshMs", value, least: 1_000 }) };
}
