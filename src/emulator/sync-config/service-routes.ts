import * as z from "zod";
import { ApiError, type Route } from "../http/routes.ts";
import { SERVICE, SERVICE_ANSWER, SERVICE_UPDATE, SYNC_SETTINGS, toServiceFields, withDefaults } from "./schemas.ts";
import type { Service, SyncConfig } from "./sync-config.ts";
import { found, userOperations } from "./user-operations.ts";

/** Remote accounts of a user, and the settings of their sync. @see protocol 4.2 */
export function serviceRoutes(config: SyncConfig): readonly Route[] {
  const operation = userOperations(config);

  return [
    operation({
      method: "GET",
      path: "/v2/services",
      summary: "Lists remote accounts.",
      answer: z.array(SERVICE_ANSWER),
      run: ({ caller }) => [...caller.services.values()],
    }),
    operation({
      method: "POST",
      path: "/v2/services",
      summary: "Adds a remote account.",
      body: SERVICE,
      answer: SERVICE_ANSWER,
      run: ({ caller, body }) => config.addService(caller, withDefaults(body)),
    }),
    operation({
      method: "GET",
      path: "/v2/services/syncSettings",
      summary: "Gets the settings of the sync.",
      answer: SYNC_SETTINGS,
      run: ({ caller }) => caller.settings,
    }),
    operation({
      method: "PUT",
      path: "/v2/services/syncSettings",
      summary: "Changes settings of the sync.",
      body: SYNC_SETTINGS,
      answer: SYNC_SETTINGS,
      run: ({ caller, body }) => (caller.settings = { ...caller.settings, ...body }),
    }),
    operation({
      method: "GET",
      path: "/v2/services/:id",
      summary: "Gets a remote account.",
      answer: SERVICE_ANSWER,
      errors: [404],
      run: ({ caller, param }) => found(caller.services, "service", param("id")),
    }),
    // The method of the update is not shown: both are taken.
    ...(["PUT", "POST"] as const).map((method) =>
      operation({
        method,
        path: "/v2/services/:id",
        summary: "Updates a remote account.",
        body: SERVICE_UPDATE,
        answer: SERVICE_ANSWER,
        errors: [403, 404],
        run({ caller: { services }, body, param }) {
          const service = found(services, "service", param("id"));
          if (service.templLocked)
            throw new ApiError(403, "forbidden", `The service ${service.id} is locked by its template.`);
          const updated: Service = Object.assign({}, service, toServiceFields(body));
          services.set(service.id, updated);
          return updated;
        },
      }),
    ),
  ];
}
