import type { Context } from "hono";
import { ApiError, bodyOf, type Route } from "../http/routes.ts";
import {
  MODULE_LIST,
  MODULES,
  SERVICE,
  SERVICE_DEFAULTS,
  SERVICE_UPDATE,
  SIGN_UP,
  SYNC_SETTINGS,
  SYNC_START,
  TEMPLATE_GROUP,
  TEMPLATE_SERVICE,
  type Module,
} from "./schemas.ts";
import type { Service, SyncConfig, SyncUser, TemplateGroup } from "./sync-config.ts";

/** The sync-configuration API, all rows of protocol 4.2. @see protocol 9: it is under `/v2` */
export function syncConfigRoutes(config: SyncConfig): readonly Route[] {
  /** @throws ApiError 401: the sign-up is to be repeated. @see protocol 5 */
  function userOf(context: Context): SyncUser {
    const given = /^Basic (.+)$/i.exec(context.req.header("authorization") ?? "")?.[1];
    const [token = "", password] = Buffer.from(given ?? "", "base64")
      .toString()
      .split(":");
    const user = password === "X" ? config.userOf(token) : undefined;
    if (user !== undefined) return user;
    throw new ApiError(
      401,
      "unauthorized",
      "Expected Basic authentication with a user's token and the password X. Sign up again.",
    );
  }

  function groupOf(context: Context): TemplateGroup {
    return found(
      config.groupsOf(userOf(context)).get(numberOf(context, "gid")),
      "template group",
      context.req.param("gid"),
    );
  }

  return [
    post("/v2/signup", async (context) => ({ accessToken: config.signUp(await bodyOf(context, SIGN_UP)) })),
    get("/v2/me", (context) => {
      const { uid, profile, templCount } = userOf(context);
      const { firstName, lastName, email, userExtId, timeZoneInfo, admin } = profile;
      const name = `${firstName} ${lastName}`;
      return {
        uid,
        name,
        firstName,
        lastName,
        email,
        extId: userExtId,
        timeZoneInfo,
        addedBy: 0,
        disabled: false,
        admin,
        templCount,
      };
    }),
    get("/v2/services", (context) => [...userOf(context).services.values()]),
    post("/v2/services", async (context) => {
      const user = userOf(context);
      return config.addService(user, withDefaults(await bodyOf(context, SERVICE)));
    }),
    get("/v2/services/syncSettings", (context) => userOf(context).settings),
    put("/v2/services/syncSettings", async (context) => {
      const user = userOf(context);
      return (user.settings = { ...user.settings, ...(await bodyOf(context, SYNC_SETTINGS)) });
    }),
    get("/v2/services/:id", (context) => {
      const { services } = userOf(context);
      return found(services.get(numberOf(context, "id")), "service", context.req.param("id"));
    }),
    // The method of the update is not shown: both are taken.
    ...(["PUT", "POST"] as const).map((method): Route => ({
      method,
      path: "/v2/services/:id",
      async run(context) {
        const { services } = userOf(context);
        const service = found(services.get(numberOf(context, "id")), "service", context.req.param("id"));
        if (service.templLocked)
          throw new ApiError(403, "forbidden", `The service ${service.id} is locked by its template.`);
        const updated: Service = Object.assign({}, service, ownFields(await bodyOf(context, SERVICE_UPDATE)));
        services.set(service.id, updated);
        return updated;
      },
    })),
    get("/v2/sync", (context) => userOf(context).worker.status()),
    post("/v2/sync", async (context) => {
      const { worker } = userOf(context);
      await bodyOf(context, SYNC_START);
      worker.start();
    }),
    get("/v2/rules/:type/report", (context) => {
      const { worker } = userOf(context);
      const module = moduleOf(context);
      if (worker.needReview.includes(module)) return { type: module, items: [] };
      throw new ApiError(404, "not_found", `${module} is activated: there is a report only while it is in review.`);
    }),
    put("/v2/rules/:type/allowSync", (context) => userOf(context).worker.allow([moduleOf(context)])),
    put("/v2/allowSync", async (context) => {
      const { worker } = userOf(context);
      worker.allow(await bodyOf(context, MODULE_LIST));
    }),
    get("/v2/templateGroups", (context) => [...config.groupsOf(userOf(context)).values()].map(toGroup)),
    post("/v2/templateGroups", async (context) => {
      const user = userOf(context);
      return toGroup(config.addGroup(user, await bodyOf(context, TEMPLATE_GROUP)));
    }),
    put("/v2/templateGroups/:gid", async (context) => {
      const group = groupOf(context);
      group.fields = { ...group.fields, ...(await bodyOf(context, TEMPLATE_GROUP)) };
      return toGroup(group);
    }),
    get("/v2/templateGroups/:gid/services", (context) => [...groupOf(context).services.values()]),
    post("/v2/templateGroups/:gid/services", async (context) => {
      const group = groupOf(context);
      return config.addTemplateService(group, withDefaults(await bodyOf(context, TEMPLATE_SERVICE)));
    }),
    get("/v2/templateGroups/:gid/services/:id", (context) =>
      found(groupOf(context).services.get(numberOf(context, "id")), "service", context.req.param("id")),
    ),
    get("/v2/templateGroups/:gid/syncSettings", (context) => {
      const { id, settings } = groupOf(context);
      return { ...settings, templGroupId: id };
    }),
    put("/v2/templateGroups/:gid/syncSettings", async (context) => {
      const group = groupOf(context);
      group.settings = { ...group.settings, ...(await bodyOf(context, SYNC_SETTINGS)) };
      return { ...group.settings, templGroupId: group.id };
    }),
    {
      method: "GET",
      path: "/authorize/:key",
      run(context) {
        const name = config.authorize(context.req.param("key") ?? "");
        if (name === undefined) throw new ApiError(404, "not_found", "There is nothing to authorise here.");
        return context.text(`The access to ${name} is authorised. This window can be closed.`);
      },
    },
  ];
}

/** What a caller cannot set. */
const SET_BY_SERVICE = new Set(["id", "groupId", "authRedirectUrl", "authError", "templId", "templLocked"]);

function ownFields(fields: object): object {
  return Object.fromEntries(Object.entries(fields).filter(([name]) => !SET_BY_SERVICE.has(name)));
}

function withDefaults<F extends object>(fields: F): F & typeof SERVICE_DEFAULTS {
  return Object.assign({}, SERVICE_DEFAULTS, ownFields(fields) as F);
}

function toGroup({ id, fields }: TemplateGroup): object {
  return { ...fields, id };
}

/** The values of `<type>` are not shown: a module's name, in any case. */
function moduleOf(context: Context): Module {
  const type = context.req.param("type")?.toUpperCase();
  const module = MODULES.find((one) => one === type);
  if (module !== undefined) return module;
  throw new ApiError(
    404,
    "not_found",
    `There are no rules ${JSON.stringify(context.req.param("type"))}, expected one of ${MODULES.join(", ")}.`,
  );
}

/** @throws ApiError 404 */
function found<T>(thing: T | undefined, what: string, id: string | undefined): T {
  if (thing !== undefined) return thing;
  throw new ApiError(404, "not_found", `There is no ${what} ${id}.`);
}

function numberOf(context: Context, name: string): number {
  return Number(context.req.param(name));
}

function get(path: string, run: Route["run"]): Route {
  return { method: "GET", path, run };
}

function post(path: string, run: Route["run"]): Route {
  return { method: "POST", path, run };
}

function put(path: string, run: Route["run"]): Route {
  return { method: "PUT", path, run };
}
