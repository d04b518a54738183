import * as z from "zod";
import type { Route } from "../http/routes.ts";
import {
  SYNC_SETTINGS,
  TEMPLATE_GROUP,
  TEMPLATE_SERVICE,
  TEMPLATE_SERVICE_ANSWER,
  TEMPLATE_SERVICE_UPDATE,
  toServiceFields,
  withDefaults,
} from "./schemas.ts";
import type { SyncConfig, SyncUser, TemplateGroup, TemplateService } from "./sync-config.ts";
import { found, userOperations } from "./user-operations.ts";

const GROUP = TEMPLATE_GROUP.extend({ id: z.int() });
const SETTINGS = SYNC_SETTINGS.extend({ templGroupId: z.int() });

/** What new users of an organisation begin with. @see protocol 4.2 */
export function templateRoutes(config: SyncConfig): readonly Route[] {
  const operation = userOperations(config);

  /** @throws ApiError 404 */
  const groupOf = (user: SyncUser, gid: string): TemplateGroup => found(config.groupsOf(user), "template group", gid);

  return [
    operation({
      method: "GET",
      path: "/v2/templateGroups",
      summary: "Lists template groups.",
      answer: z.array(GROUP),
      run: ({ caller }) => [...config.groupsOf(caller).values()].map(toGroup),
    }),
    operation({
      method: "POST",
      path: "/v2/templateGroups",
      summary: "Creates a template group.",
      body: TEMPLATE_GROUP,
      answer: GROUP,
      run: ({ caller, body }) => toGroup(config.addGroup(caller, body)),
    }),
    operation({
      method: "PUT",
      path: "/v2/templateGroups/:gid",
      summary: "Updates a template group.",
      body: TEMPLATE_GROUP,
      answer: GROUP,
      errors: [404],
      run({ caller, body, param }) {
        const group = groupOf(caller, param("gid"));
        group.fields = { ...group.fields, ...body };
        return toGroup(group);
      },
    }),
    operation({
      method: "GET",
      path: "/v2/templateGroups/:gid/services",
      summary: "Lists the remote accounts of a template group.",
      answer: z.array(TEMPLATE_SERVICE_ANSWER),
      errors: [404],
      run: ({ caller, param }) => [...groupOf(caller, param("gid")).services.values()],
    }),
    operation({
      method: "POST",
      path: "/v2/templateGroups/:gid/services",
      summary: "Adds a remote account to a template group.",
      body: TEMPLATE_SERVICE,
      answer: TEMPLATE_SERVICE_ANSWER,
      errors: [404],
      run: ({ caller, body, param }) => config.addTemplateService(groupOf(caller, param("gid")), withDefaults(body)),
    }),
    operation({
      method: "GET",
      path: "/v2/templateGroups/:gid/services/:id",
      summary: "Gets a remote account of a template group.",
      answer: TEMPLATE_SERVICE_ANSWER,
      errors: [404],
      run: ({ caller, param }) => found(groupOf(caller, param("gid")).services, "service", param("id")),
    }),
    // "Read and update of an existing one": the method of the update is not shown, so both are taken.
    ...(["PUT", "POST"] as const).map((method) =>
      operation({
        method,
        path: "/v2/templateGroups/:gid/services/:id",
        summary: "Updates a remote account of a template group.",
        body: TEMPLATE_SERVICE_UPDATE,
        answer: TEMPLATE_SERVICE_ANSWER,
        errors: [404],
        run({ caller, body, param }) {
          const { services } = groupOf(caller, param("gid"));
          const service = found(services, "service", param("id"));
          const updated: TemplateService = Object.assign({}, service, toServiceFields(body));
          services.set(service.id, updated);
          return updated;
        },
      }),
    ),
    operation({
      method: "GET",
      path: "/v2/templateGroups/:gid/syncSettings",
      summary: "Gets the settings of a template group.",
      answer: SETTINGS,
      errors: [404],
      run({ caller, param }) {
        const { id, settings } = groupOf(caller, param("gid"));
        return { ...settings, templGroupId: id };
      },
    }),
    operation({
      method: "PUT",
      path: "/v2/templateGroups/:gid/syncSettings",
      summary: "Changes settings of a template group.",
      body: SYNC_SETTINGS,
      answer: SETTINGS,
      errors: [404],
      run({ caller, body, param }) {
        const group = groupOf(caller, param("gid"));
        group.settings = { ...group.settings, ...body };
        return { ...group.settings, templGroupId: group.id };
      },
    }),
  ];
}

function toGroup({ id, fields }: TemplateGroup): object {
  return { ...fields, id };
}
