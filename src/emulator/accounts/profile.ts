/** How an account came to the service, and what was said of it then. Secrets are not kept. @see service's public description, ApiAccountOutDto */
export interface AccountProfile {
  readonly type: "daemon" | "personal" | "managed";
  readonly serviceType: string;
  /** Of the service account that manages it. */
  readonly parentId?: number | undefined;
  readonly userId?: string | undefined;
  readonly [field: string]: unknown;
}

export const PERSONAL: AccountProfile = { type: "personal", serviceType: "Office365" };
