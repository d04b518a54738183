import type { Random } from "../random.ts";
import { labelsOf } from "./labels.ts";
import type { MailboxRecord } from "./mailbox.ts";

/** A folder of messages. */
export interface Folder {
  readonly id: string;
  readonly name: string;
  /** With the names of the folders that it is in. */
  readonly fullName: string;
  readonly isFolder: true;
  readonly isLabel: false;
  readonly parentId?: string;
  readonly sysLabel?: string;
}

/** Folders of one account. */
export interface Folders {
  /** In the order in which they came: those that every account has, then others. */
  readonly all: readonly Folder[];
  find(id: string): Folder | undefined;
  add(name: string, parent: Folder | undefined): Folder;
  /** Where messages go that are sent, and those that leave the inbox. */
  readonly wellKnown: { archive: string; sent: string };
  /** Of the folder that a message is in: its `folderId`, or what follows from its labels. */
  idFor(message: MailboxRecord): string;
}

const FIRST: readonly Folder[] = [
  ...[
    ["Inbox", "inbox"],
    ["Sent", "sent"],
    ["Drafts", "draft"],
    ["Junk", "junk"],
    ["Trash", "trash"],
  ].map(([name = "", sysLabel = ""]) => toFolder({ id: `f-${sysLabel}`, name, sysLabel })),
  toFolder({ id: "f-archive", name: "Archive" }),
];

export function createFolders(random: Random): Folders {
  const all = [...FIRST];
  const wellKnown = { archive: "f-archive", sent: "f-sent" };
  const find = (wanted: string): Folder | undefined => all.find(({ id }) => id === wanted);
  return {
    all,
    wellKnown,
    find,
    add(name, parent) {
      const id = `f-${random.hex(8)}`;
      const folder = toFolder({
        id,
        name,
        ...(parent && { parentId: parent.id, fullName: `${parent.fullName}/${name}` }),
      });
      all.push(folder);
      return folder;
    },
    idFor(message) {
      const labels = labelsOf(message);
      const away = ["trash", "junk"].find((label) => labels.includes(label));
      if (away !== undefined) return `f-${away}`;
      if (typeof message["folderId"] === "string") return message["folderId"];
      if (labels.includes("sent")) return wellKnown.sent;
      const shown = ["draft", "inbox"].find((label) => labels.includes(label));
      return shown === undefined ? wellKnown.archive : `f-${shown}`;
    },
  };
}

function toFolder(fields: Omit<Folder, "fullName" | "isFolder" | "isLabel"> & { readonly fullName?: string }): Folder {
  return { fullName: fields.name, isFolder: true, isLabel: false, ...fields };
}
