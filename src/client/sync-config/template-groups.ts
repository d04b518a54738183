import type { Send } from "../http/transport.ts";
import { listReader } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";
import { createRemoteServices, createSyncSettings, type RemoteServices, type SyncSettingsOf } from "./services.ts";
import { readTemplateGroup, type TemplateGroup } from "./sync-records.ts";

/** Services and settings for the users of an organisation. @see protocol 4.2 */
export interface TemplateGroups {
  /** `GET /templateGroups` */
  list(options?: RequestOptions): Promise<readonly TemplateGroup[]>;
  /** `POST /templateGroups` */
  create(group: object, options?: RequestOptions): Promise<TemplateGroup>;
  /** `PUT /templateGroups/{gid}` */
  update(gid: number, group: object, options?: RequestOptions): Promise<TemplateGroup>;
  /** `/templateGroups/{gid}/services` */
  services(gid: number): RemoteServices;
  /** `/templateGroups/{gid}/syncSettings` */
  syncSettings(gid: number): SyncSettingsOf;
}

const readGroups = listReader(readTemplateGroup);

export function createTemplateGroups(send: Send): TemplateGroups {
  const path = "/templateGroups";
  return {
    list: (options) => send({ method: "GET", path, read: readGroups, options }),
    create: (body, options) => send({ method: "POST", path, body, read: readTemplateGroup, options }),
    update: (gid, body, options) =>
      send({ method: "PUT", path: `${path}/{gid}`, params: { gid }, body, read: readTemplateGroup, options }),
    services: (gid) => createRemoteServices(send, `${path}/{gid}`, { gid }),
    syncSettings: (gid) => createSyncSettings(send, `${path}/{gid}/syncSettings`, { gid }),
  };
}
