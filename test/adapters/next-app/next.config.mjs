import { fileURLToPath } from "node:url";
import example from "./example.config.mjs";

// The packages that hookline needs are the repository's.
const root = fileURLToPath(new URL("../../..", import.meta.url));

export default {
  ...example,
  turbopack: { root },
  outputFileTracingRoot: root,
  rewrites: async () => [{ source: "/behind/:path*", destination: "/:path*" }],
};
