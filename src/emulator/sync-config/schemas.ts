import * as z from "zod";

/** @see protocol 2.2, signup request */
export const SIGN_UP = z.object({
  appId: z.string(),
  compExtId: z.string().min(1),
  companyName: z.string(),
  instanceUrl: z.url(),
  userExtId: z.string().min(1),
  firstName: z.string(),
  lastName: z.string(),
  email: z.string(),
  admin: z.boolean(),
  timeZoneInfo: z.string(),
  apiHash: z.string(),
  requestTimestamp: z.int(),
});

export type SignUp = z.infer<typeof SIGN_UP>;

const configuration = z.looseObject({});

const SERVICE_FIELDS = {
  offline: z.boolean(),
  displayName: z.string(),
  fullName: z.string(),
  email: z.string(),
  server: z.string(),
  syncData: configuration,
  scanEmail: z.boolean(),
  fwdEmail: z.boolean(),
  importEvents: z.boolean(),
  importContacts: z.boolean(),
  importTasks: z.boolean(),
  scanEmails: configuration,
  fwdEmails: configuration,
  calendar: configuration,
  contacts: configuration,
  tasks: configuration,
};

/** Five kinds exist; their names are not shown. */
const type = z.string().min(1);

/** What an update of a service may have. @see protocol 2.2, service */
export const SERVICE_UPDATE = z.looseObject({ ...SERVICE_FIELDS, type }).partial();

/** A new service. */
export const SERVICE = SERVICE_UPDATE.extend({ type });

/** @see protocol 2.2, template service */
export const TEMPLATE_SERVICE = SERVICE.extend({ lockService: z.boolean().default(false) });

/** What an update of a template service may have. */
export const TEMPLATE_SERVICE_UPDATE = SERVICE_UPDATE.extend({ lockService: z.boolean().optional() });

/** A remote account, as a caller writes it; fields that are not known are kept. */
export type ServiceFields = { readonly [N in keyof typeof SERVICE_FIELDS]: z.infer<(typeof SERVICE_FIELDS)[N]> } & {
  readonly type: string;
};

/** What the service says of a remote account. */
const STATE = { id: z.int(), type, authRedirectUrl: z.string().nullable(), authError: z.string().nullable() };

/** A service as it is shown. */
export const SERVICE_ANSWER = z.looseObject({ ...STATE, templId: z.int().nullable(), templLocked: z.boolean() });

/** A template service as it is shown. */
export const TEMPLATE_SERVICE_ANSWER = z.looseObject({ ...STATE, groupId: z.int(), lockService: z.boolean() });

/** What a new service has where its caller says nothing. */
const SERVICE_DEFAULTS: Omit<ServiceFields, "type"> = {
  offline: false,
  displayName: "",
  fullName: "",
  email: "",
  server: "",
  syncData: {},
  scanEmail: false,
  fwdEmail: false,
  importEvents: false,
  importContacts: false,
  importTasks: false,
  scanEmails: {},
  fwdEmails: {},
  calendar: {},
  contacts: {},
  tasks: {},
};

/** What a caller cannot set. */
const SET_BY_SERVICE = new Set(["id", "groupId", "authRedirectUrl", "authError", "templId", "templLocked"]);

/** Without what the service alone sets. */
export function toServiceFields(given: object): object {
  return Object.fromEntries(Object.entries(given).filter(([name]) => !SET_BY_SERVICE.has(name)));
}

export function withDefaults<F extends object>(given: F): F & typeof SERVICE_DEFAULTS {
  return Object.assign({}, SERVICE_DEFAULTS, toServiceFields(given) as F);
}

/** @see protocol 2.2, sync settings: the list of options is open-ended */
export const SYNC_SETTINGS = z.looseObject({
  logEmail: z.boolean().optional(),
  emailSkipDomains: z.string().optional(),
  emailFetchAttachments: z.boolean().optional(),
  emailCreateLeads: z.boolean().optional(),
  emailCreateContacts: z.boolean().optional(),
  emailAutoDetectDeal: z.boolean().optional(),
  emailCreateCompany: z.boolean().optional(),
  syncCalendar: z.boolean().optional(),
  calSyncDirection: z.enum(["BOTH", "TO_PORTAL", "FROM_PORTAL"]).optional(),
  calSyncPrivate: z.boolean().optional(),
  calFetchAttachments: z.boolean().optional(),
  calMailboxSyncAll: z.boolean().optional(),
  calMailboxSyncMeetingsOnly: z.boolean().optional(),
  calMailboxSyncTags: z.string().optional(),
  calPastWeeks: z.int().optional(),
  calFutureWeeks: z.int().optional(),
  syncContacts: z.boolean().optional(),
  contSyncDirection: z.enum(["BOTH", "TO_PORTAL", "FROM_PORTAL"]).optional(),
  contCreateCompany: z.boolean().optional(),
  contPortalSyncAll: z.boolean().optional(),
  contMailboxSyncAll: z.boolean().optional(),
  contPortalSyncMine: z.boolean().optional(),
  contMailboxSyncDeleted: z.boolean().optional(),
  contPortalSyncTags: z.string().optional(),
  contMailboxSyncTags: z.string().optional(),
  syncTasks: z.boolean().optional(),
  taskSyncDirection: z.enum(["BOTH", "TO_PORTAL", "FROM_PORTAL"]).optional(),
  taskMailboxSyncAll: z.boolean().optional(),
  taskMailboxSyncTags: z.string().optional(),
});

export type SyncSettings = z.infer<typeof SYNC_SETTINGS>;

/** What a run syncs. @see protocol 2.2, sync status */
export const MODULES = ["CALENDAR", "EMAIL", "CONTACTS", "TASKS"] as const;

export type Module = (typeof MODULES)[number];

/** With the strings `true` (load only) and `false`. @see protocol 4.2 */
export const SYNC_START = z.strictObject({ initial: z.enum(["true", "false"]) });

export const MODULE_LIST = z.array(z.enum(MODULES));

/** Its fields are not shown. */
export const TEMPLATE_GROUP = z.looseObject({ name: z.string().optional() });
