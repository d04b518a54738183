import { createHmac, timingSafeEqual } from "node:crypto";
import type { Clock } from "../../clock.ts";
import { ApiError } from "../http/routes.ts";
import type { Random } from "../random.ts";
import type { ServiceFields, SignUp, SyncSettings } from "./schemas.ts";
import { createSyncWorker, type SyncWorker } from "./sync-worker.ts";

/** A remote account of a user. @see protocol 2.2 */
export type Service = ServiceFields & {
  readonly id: number;
  /** Null once its user has authorised it. */
  readonly authRedirectUrl: string | null;
  readonly authError: string | null;
  readonly templId: number | null;
  readonly templLocked: boolean;
};

/** One of a template group. @see protocol 2.2 */
export type TemplateService = ServiceFields & {
  readonly id: number;
  readonly groupId: number;
  readonly lockService: boolean;
  readonly authRedirectUrl: string | null;
  readonly authError: string | null;
};

/** Services and settings for the users of an organisation. */
export interface TemplateGroup {
  readonly id: number;
  fields: object;
  settings: SyncSettings;
  readonly services: Map<number, TemplateService>;
}

/** A registered user. */
export interface SyncUser {
  readonly uid: number;
  /** Of the organisation, in the portal. */
  readonly company: string;
  profile: SignUp;
  readonly templCount: number;
  settings: SyncSettings;
  readonly services: Map<number, Service>;
  readonly worker: SyncWorker;
}

/** What the text leaves open about the signature of a sign-up. @see protocol 5 */
interface SyncConfigOptions {
  readonly appId: string;
  readonly appSecret: string;
  /** Whether the ids are put into the signed text, or it has the words `OrgId:UserId:`. */
  readonly signedText: "ids" | "literal";
}

/** What the API needs. */
export interface SyncConfigDeps extends SyncConfigOptions {
  readonly clock: Clock;
  readonly random: () => Random;
  /** Of the page that authorises a service. */
  readonly authorizeUrl: (key: string) => string;
}

/** The users of the sync worker, and the templates of their organisations. */
export interface SyncConfig {
  /** @throws ApiError 401 for another application, or a signature that it did not make */
  signUp(request: SignUp): string;
  userOf(token: string): SyncUser | undefined;
  /** Template groups of a user's organisation. */
  groupsOf(user: SyncUser): Map<number, TemplateGroup>;
  addGroup(user: SyncUser, fields: object): TemplateGroup;
  addService(user: SyncUser, fields: ServiceFields): Service;
  addTemplateService(group: TemplateGroup, fields: ServiceFields & { readonly lockService: boolean }): TemplateService;
  /** What the page behind `authRedirectUrl` does. @returns what was authorised */
  authorize(key: string): string | undefined;
  /** All tokens end: the next call of each user is answered 401. */
  expireTokens(): void;
  clear(): void;
}

const FIRST_ID = 101;
const NOT_AUTHORISED = "Access to the account is not authorised";

export function createSyncConfig(deps: SyncConfigDeps): SyncConfig {
  const users = new Map<string, SyncUser>();
  const tokens = new Map<string, SyncUser>();
  const groups = new Map<string, Map<number, TemplateGroup>>();
  /** What each key of a page authorises. */
  const pending = new Map<string, () => string>();
  let nextId = FIRST_ID;

  const newId = (): number => nextId++;

  function assertSigned({ appId, apiHash, compExtId, userExtId, requestTimestamp }: SignUp): void {
    if (appId !== deps.appId)
      throw new ApiError(401, "unauthorized", `The appId ${JSON.stringify(appId)} is not known.`);
    const ids = deps.signedText === "ids" ? `${compExtId}:${userExtId}` : "OrgId:UserId";
    const expected = createHmac("sha256", deps.appSecret).update(`${ids}:${requestTimestamp}`).digest();
    const given = Buffer.from(apiHash, "base64");
    if (given.length === expected.length && timingSafeEqual(given, expected)) return;
    throw new ApiError(
      401,
      "unauthorized",
      `The apiHash is wrong, expected the base64 of HMAC-SHA256 over ${JSON.stringify(`${deps.signedText === "ids" ? "{compExtId}:{userExtId}" : ids}:{requestTimestamp}`)}.`,
    );
  }

  function groupsOfCompany(company: string): Map<number, TemplateGroup> {
    let found = groups.get(company);
    if (found === undefined) groups.set(company, (found = new Map()));
    return found;
  }

  /** A page that authorises it when it is opened. */
  function redirectUrl(authorise: () => string): string {
    const key = deps.random().hex(24);
    pending.set(key, authorise);
    return deps.authorizeUrl(key);
  }

  function addService(services: Map<number, Service>, fields: ServiceFields, template?: TemplateService): Service {
    const id = newId();
    const isReady = template?.authRedirectUrl === null;
    const service: Service = {
      ...fields,
      id,
      authRedirectUrl: isReady ? null : redirectUrl(() => authorised(services, id)),
      authError: isReady ? null : NOT_AUTHORISED,
      templId: template?.id ?? null,
      templLocked: template?.lockService ?? false,
    };
    services.set(id, service);
    return service;
  }

  function newUser(profile: SignUp): SyncUser {
    const company = profile.compExtId;
    const templates = [...groupsOfCompany(company).values()];
    const services = new Map<number, Service>();
    const provided = templates.flatMap((group) => [...group.services.values()]);
    for (const template of provided) {
      const { id: _, groupId: __, lockService: ___, ...fields } = template;
      addService(services, fields, template);
    }
    const worker = createSyncWorker({
      clock: deps.clock,
      skipsReview: provided.length > 0 && provided.every(({ lockService }) => lockService),
      problems: () =>
        [...services.values()].flatMap(({ id, authError }) =>
          authError === null ? [] : { svcId: id, message: authError },
        ),
    });
    const settings: SyncSettings = Object.assign({}, ...templates.map((group) => group.settings));
    return { uid: newId(), company, profile, templCount: templates.length, settings, services, worker };
  }

  return {
    signUp(request) {
      assertSigned(request);
      const key = JSON.stringify([request.compExtId, request.userExtId]);
      const user = users.get(key) ?? newUser(request);
      user.profile = request;
      users.set(key, user);
      const token = `v2_${deps.random().hex(32)}`;
      tokens.set(token, user);
      return token;
    },
    userOf: (token) => tokens.get(token),
    groupsOf: ({ company }) => groupsOfCompany(company),
    addGroup({ company }, fields) {
      const group: TemplateGroup = { id: newId(), fields, settings: {}, services: new Map() };
      groupsOfCompany(company).set(group.id, group);
      return group;
    },
    addService: ({ services }, fields) => addService(services, fields),
    addTemplateService(group, fields) {
      const id = newId();
      const authRedirectUrl = redirectUrl(() => authorised(group.services, id));
      const service = { ...fields, id, groupId: group.id, authRedirectUrl, authError: NOT_AUTHORISED };
      group.services.set(id, service);
      return service;
    },
    authorize: (key) => pending.get(key)?.(),
    expireTokens: () => tokens.clear(),
    clear() {
      for (const { worker } of users.values()) worker.stop();
      for (const map of [users, tokens, groups, pending]) map.clear();
      nextId = FIRST_ID;
    },
  };
}

/** @returns its name, for the page */
function authorised<S extends Service | TemplateService>(services: Map<number, S>, id: number): string {
  const service = services.get(id);
  if (service === undefined) return "";
  services.set(id, { ...service, authRedirectUrl: null, authError: null });
  return service.displayName === "" ? service.type : service.displayName;
}
