import * as z from "zod";
import { ApiError, type Route } from "../http/routes.ts";
import { MODULE_LIST, MODULES, SYNC_START, type Module } from "./schemas.ts";
import type { SyncConfig } from "./sync-config.ts";
import { userOperations } from "./user-operations.ts";

/** @see protocol 2.2, sync status */
const STATUS = z.looseObject({
  userSyncEnabled: z.boolean(),
  syncState: z.enum(["IDLE", "REQUESTED", "QUEUED", "EXECUTING"]),
  needReview: MODULE_LIST.nullable(),
});
/** Its fields are not shown. */
const REPORT = z.looseObject({ type: z.enum(MODULES), items: z.array(z.unknown()) });

/** Runs, review and activation. @see protocol 3, 4.2 */
export function syncRunRoutes(config: SyncConfig): readonly Route[] {
  const operation = userOperations(config);

  return [
    operation({
      method: "GET",
      path: "/v2/sync",
      summary: "Gets the state of the sync.",
      answer: STATUS,
      run: ({ caller }) => caller.worker.status(),
    }),
    operation({
      method: "POST",
      path: "/v2/sync",
      summary: "Requests a run.",
      body: SYNC_START,
      answer: z.looseObject({}),
      run({ caller }) {
        caller.worker.start();
        return {};
      },
    }),
    operation({
      method: "GET",
      path: "/v2/rules/:type/report",
      summary: "Gets what a run would change, while the module is in review.",
      answer: REPORT,
      errors: [404],
      run({ caller, param }) {
        const module = moduleOf(param("type"));
        if (caller.worker.needReview.includes(module)) return { type: module, items: [] };
        throw new ApiError(404, "not_found", `${module} is activated: there is a report only while it is in review.`);
      },
    }),
    operation({
      method: "PUT",
      path: "/v2/rules/:type/allowSync",
      summary: "Activates a module.",
      answer: z.looseObject({}),
      errors: [404],
      run({ caller, param }) {
        caller.worker.allow([moduleOf(param("type"))]);
        return {};
      },
    }),
    operation({
      method: "PUT",
      path: "/v2/allowSync",
      summary: "Activates several modules.",
      body: MODULE_LIST,
      answer: z.looseObject({}),
      run({ caller, body }) {
        caller.worker.allow(body);
        return {};
      },
    }),
  ];
}

/** The values of `<type>` are not shown: a module's name, in any case. @throws ApiError 404 */
function moduleOf(type: string): Module {
  const module = MODULES.find((one) => one === type.toUpperCase());
  if (module !== undefined) return module;
  throw new ApiError(
    404,
    "not_found",
    `There are no rules ${JSON.stringify(type)}, expected one of ${MODULES.join(", ")}.`,
  );
}
