import type { MountOptions, RawRequest } from "../../../src/adapter.ts";

/** The request with its `source` as the mount's options say it. */
export function withSource<Req>(raw: RawRequest, source: MountOptions<Req>["source"], request: Req): RawRequest {
  if (typeof source !== "function") return source === undefined ? raw : { ...raw, source };
  return {
    ...raw,
    // The receiver reads it once the headers have passed: before that, strangers do not reach the user's function.
    get source() {
      return source(request);
    },
  };
}
