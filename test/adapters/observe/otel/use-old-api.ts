import { registerHooks } from "node:module";

// All of this process, the SDK too, gets the older API.
registerHooks({
  resolve: (specifier, context, next) =>
    next(specifier === "@opentelemetry/api" ? "opentelemetry-api-1.9" : specifier, context),
});
