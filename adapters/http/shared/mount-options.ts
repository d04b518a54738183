import { assertOptions, kindOf, type MountOptions } from "../../../src/adapter.ts";
import { UsageError } from "../../../src/index.ts";

/** Beside `path` and `source`, of a mount that can answer after the handlers. */
export const AFTER_HANDLERS: readonly string[] = ["answer", "timeoutMs"];

/**
 * Refuses options that a mount would take in silence.
 * @param more what it takes beside `path` and `source`
 * @throws UsageError `option-invalid` for a name that is no option, and for a `source` that is neither a text nor a function
 */
export function assertMountOptions(mount: string, options: MountOptions<never>, more: readonly string[] = []): void {
  assertOptions(mount, options, {
    path: true,
    source: true,
    ...Object.fromEntries(more.map((name) => [name, true] as const)),
  });
  const { source } = options;
  if (source === undefined || typeof source === "string" || typeof source === "function") return;
  throw new UsageError(
    "option-invalid",
    `${mount} got ${kindOf(source)} for \`source\`, expected a text or a function of the request.`,
    {
      fix: 'Name the application, `{ source: "crm" }`, or say which one a request is for: `{ source: (req) => req.params.tenant }`.',
    },
  );
}
