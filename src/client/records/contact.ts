import * as z from "zod/mini";
import { flag, nested, nestedList, recordReader, text, texts, type Open, type Reader } from "./reader.ts";

/** How a person is called. */
export interface ContactName {
  readonly displayName?: string;
  readonly givenName?: string;
  readonly familyName?: string;
}

/** An address of a contact. */
export interface ContactEmail {
  readonly address?: string;
  readonly name?: string;
  readonly type?: string;
}

/** A number of a contact. */
export interface ContactPhone {
  readonly number?: string;
  readonly type?: Open<"work" | "home" | "mobile" | "other">;
}

/** Where a contact works. */
export interface ContactCompany {
  readonly name?: string;
  readonly department?: string;
  readonly jobTitle?: string;
}

interface ContactFields {
  readonly id: string;
  /** For `update`. */
  readonly etag?: string;
  readonly name?: ContactName;
  readonly company?: ContactCompany;
  readonly emailAddresses?: readonly ContactEmail[];
  readonly phoneNumbers?: readonly ContactPhone[];
  readonly keywords?: readonly string[];
  readonly notes?: string;
  readonly hasPhoto?: boolean;
  readonly createdTime?: string;
  readonly lastModifiedTime?: string;
}

/** A contact. Fields that are not listed here are kept. */
export interface Contact extends ContactFields {
  readonly [field: string]: unknown;
}

export const readContact: Reader<Contact> = recordReader<ContactFields>({
  id: z.string(),
  etag: text,
  name: nested<ContactName>({ displayName: text, givenName: text, familyName: text }),
  company: nested<ContactCompany>({ name: text, department: text, jobTitle: text }),
  emailAddresses: nestedList<ContactEmail>({ address: text, name: text, type: text }),
  phoneNumbers: nestedList<ContactPhone>({ number: text, type: text }),
  keywords: texts,
  notes: text,
  hasPhoto: flag,
  createdTime: text,
  lastModifiedTime: text,
});
