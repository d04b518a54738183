/** The primary result codes of SQLite that are told apart here. @see https://www.sqlite.org/rescode.html */
export const CODE = {
  error: 1,
  busy: 5,
  locked: 6,
  readonly: 8,
  ioError: 10,
  corrupt: 11,
  full: 13,
  cannotOpen: 14,
  notADatabase: 26,
} as const;

/** A full disk, where there is no room for the memory that processes share: an I/O error by its number. */
export const NO_ROOM_FOR_SHM = 4_874;

/** The primary code of an error of SQLite, whichever of its kinds it is; undefined for an error of somebody else. */
export function primaryCode(error: unknown): number | undefined {
  const { errcode } = error as { readonly errcode?: number | undefined };
  return errcode === undefined ? undefined : errcode % 256;
}
