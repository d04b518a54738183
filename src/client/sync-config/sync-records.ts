import * as z from "zod/mini";
import { idField, optional } from "../../protocol/read-fields.ts";
import { flag, number, optionalId, recordReader, text, type Open, type Reader } from "../records/reader.ts";

/** What a run syncs. @see protocol 2.2, sync status */
export type SyncModule = Open<"CALENDAR" | "EMAIL" | "CONTACTS" | "TASKS">;

interface UserFields {
  readonly uid: number;
  readonly name?: string;
  readonly firstName?: string;
  readonly lastName?: string;
  readonly email?: string;
  readonly extId?: string;
  readonly timeZoneInfo?: string;
  readonly addedBy?: number;
  readonly disabled?: boolean;
  readonly admin?: boolean;
  readonly templCount?: number;
}

/** The current user. Fields that are not listed here are kept. @see protocol 2.2 */
export interface CurrentUser extends UserFields {
  readonly [field: string]: unknown;
}

export const readCurrentUser: Reader<CurrentUser> = recordReader<UserFields>({
  uid: idField,
  name: text,
  firstName: text,
  lastName: text,
  email: text,
  extId: text,
  timeZoneInfo: text,
  addedBy: number,
  disabled: flag,
  admin: flag,
  templCount: number,
});

interface ServiceFields {
  readonly id: number;
  /** Of one of five kinds, whose names are not shown. */
  readonly type?: string;
  readonly displayName?: string;
  readonly email?: string;
  /** Where the user is to authorise the access; null or absent once that is done. */
  readonly authRedirectUrl?: string | null;
  readonly authError?: string;
  /** Of a user's service: the template that it comes from. */
  readonly templId?: number;
  readonly templLocked?: boolean;
  /** Of a template's service: its group. */
  readonly groupId?: number;
  readonly lockService?: boolean;
}

/** A remote account of a user, or of a template group. Fields that are not listed here are kept. @see protocol 2.2 */
export interface RemoteService extends ServiceFields {
  readonly [field: string]: unknown;
}

export const readRemoteService: Reader<RemoteService> = recordReader<ServiceFields>({
  id: idField,
  type: text,
  displayName: text,
  email: text,
  authRedirectUrl: optional(z.nullable(z.string())),
  authError: text,
  templId: optionalId,
  templLocked: flag,
  groupId: optionalId,
  lockService: flag,
});

/** Options of a user's sync, or of a template group's: an open list. @see protocol 2.2, sync settings */
export interface SyncSettings {
  readonly logEmail?: boolean;
  readonly syncCalendar?: boolean;
  readonly syncContacts?: boolean;
  readonly syncTasks?: boolean;
  readonly calSyncDirection?: Open<"BOTH" | "TO_PORTAL" | "FROM_PORTAL">;
  readonly contSyncDirection?: Open<"BOTH" | "TO_PORTAL" | "FROM_PORTAL">;
  readonly taskSyncDirection?: Open<"BOTH" | "TO_PORTAL" | "FROM_PORTAL">;
  readonly calPastWeeks?: number;
  readonly calFutureWeeks?: number;
  readonly [option: string]: unknown;
}

export const readSyncSettings: Reader<SyncSettings> = recordReader<object>({});

interface StatusFields {
  /** All that protocol 3 has; one that the service has added comes as it is. */
  readonly syncState: "IDLE" | "REQUESTED" | "QUEUED" | "EXECUTING";
  /** Modules in review; null, empty or absent where there are none. */
  readonly needReview?: readonly SyncModule[] | null;
  readonly userSyncEnabled?: boolean;
  readonly pkgCheckFailed?: boolean;
  readonly userLastSynced?: string;
  readonly lastRequest?: string;
  readonly errors?: readonly unknown[];
  readonly errMessage?: string;
  readonly errSvcId?: number;
  readonly errTimestamp?: string;
}

/** Where a user's sync stands. Fields that are not listed here are kept. @see protocol 2.2, 3 */
export interface SyncStatus extends StatusFields {
  readonly [field: string]: unknown;
}

export const readSyncStatus: Reader<SyncStatus> = recordReader<StatusFields>({
  syncState: z.string() as unknown as z.ZodMiniType<StatusFields["syncState"]>,
  needReview: optional(z.nullable(z.array(z.string()))),
  userSyncEnabled: flag,
  pkgCheckFailed: flag,
  userLastSynced: text,
  lastRequest: text,
  errors: optional(z.array(z.unknown())),
  errMessage: text,
  errSvcId: optionalId,
  errTimestamp: text,
});

/** A template group. Its fields are not shown. @see protocol 4.2 */
export interface TemplateGroup {
  readonly id: number;
  readonly name?: string;
  readonly [field: string]: unknown;
}

export const readTemplateGroup: Reader<TemplateGroup> = recordReader<{ readonly id: number; readonly name?: string }>({
  id: idField,
  name: text,
});
