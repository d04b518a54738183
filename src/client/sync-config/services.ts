import type { Send } from "../http/transport.ts";
import { listReader } from "../records/reader.ts";
import type { RequestOptions } from "../request-options.ts";
import { readRemoteService, readSyncSettings, type RemoteService, type SyncSettings } from "./sync-records.ts";

/** Remote accounts of a user, or of a template group. @see protocol 4.2 */
export interface RemoteServices {
  /** `GET /services` */
  list(options?: RequestOptions): Promise<readonly RemoteService[]>;
  /** `GET /services/{id}`. @throws NotFound */
  get(id: number, options?: RequestOptions): Promise<RemoteService>;
  /** `POST /services`. Templates may have made it already: `findOrCreate` looks first. */
  create(service: NewRemoteService, options?: RequestOptions): Promise<RemoteService>;
  /** `PUT /services/{id}`: the text shows this path for updates, and not their method. */
  update(id: number, fields: object, options?: RequestOptions): Promise<RemoteService>;
  /** The service of this type, and of this address if one is given; created where there is none. */
  findOrCreate(service: NewRemoteService, options?: RequestOptions): Promise<FoundService>;
}

/** A service that is to be created. @see protocol 2.2, service */
export interface NewRemoteService {
  type: string;
  email?: string | undefined;
  readonly [field: string]: unknown;
}

/** A service, and whether it is new. While it has an `authRedirectUrl`, its user is to go there. */
export interface FoundService {
  readonly service: RemoteService;
  readonly isNew: boolean;
}

const readServices = listReader(readRemoteService);

/** @param base the path in front of `/services`, and its parameters */
export function createRemoteServices(
  send: Send,
  base: string,
  params: Readonly<Record<string, number>>,
): RemoteServices {
  const path = `${base}/services`;

  const list = (options?: RequestOptions): Promise<readonly RemoteService[]> =>
    send({ method: "GET", path, params, read: readServices, options });

  const create = (service: NewRemoteService, options?: RequestOptions): Promise<RemoteService> =>
    send({ method: "POST", path, params, body: service, read: readRemoteService, options });

  return {
    list,
    create,
    get: (id, options) =>
      send({ method: "GET", path: `${path}/{id}`, params: { ...params, id }, read: readRemoteService, options }),
    update: (id, body, options) =>
      send({ method: "PUT", path: `${path}/{id}`, params: { ...params, id }, body, read: readRemoteService, options }),
    async findOrCreate(wanted, options) {
      const found = (await list(options)).find(
        ({ type, email }) =>
          type === wanted.type && (!email || !wanted.email || email.toLowerCase() === wanted.email.toLowerCase()),
      );
      return found === undefined
        ? { service: await create(wanted, options), isNew: true }
        : { service: found, isNew: false };
    },
  };
}

/** Options of a sync. @see protocol 4.2 */
export interface SyncSettingsOf {
  /** Those that stand. */
  get(options?: RequestOptions): Promise<SyncSettings>;
  /** Options that are not given stay as they are. */
  update(settings: SyncSettings, options?: RequestOptions): Promise<SyncSettings>;
}

export function createSyncSettings(send: Send, path: string, params: Readonly<Record<string, number>>): SyncSettingsOf {
  return {
    get: (options) => send({ method: "GET", path, params, read: readSyncSettings, options }),
    update: (body, options) => send({ method: "PUT", path, params, body, read: readSyncSettings, options }),
  };
}
